//===- DeviceCodeTest.cpp - Paths through machine code of GPUs ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/DeviceCode.h"

#include "gtest/gtest.h"

#include <sstream>

using namespace attn;
using namespace attn::test;

namespace {

/// Instructions and labels, as nvdisasm prints them.
std::vector<DeviceInstruction> read(const std::string &lines) {
  std::istringstream input(lines);
  std::string text = ".text.kernel:\n";
  for (std::string line; std::getline(input, line);)
    text += line.starts_with(".L") ? line + "\n"
                                   : "        /*0000*/     " + line + " ;\n";
  return readKernel(text, "kernel");
}

/// A product, and loads of aligned pairs, lie behind the end.
TEST(DeviceCode, FollowsBlocksBehindTheEnd) {
  std::optional<HotPath> hot = findHotPath(read(R"(@P0 BRA `(.L_x_4)
LDG.E.U16 R0, [R2.64]
LDG.E.U16 R1, [R2.64+0x2]
.L_x_0:
IADD3 R4, R4, 0x1, RZ
HMMA.16816.F32 R8, R4, R6, R8
@!P1 BRA `(.L_x_3)
.L_x_1:
@!P2 CALL.REL.NOINC `(.L_x_2)
BRA `(.L_x_0)
.L_x_2:
STG.E [R2.64], R8
EXIT
.L_x_3:
HMMA.16816.F32 R8, R4, R6, R8
BRA `(.L_x_1)
.L_x_4:
LDG.E R0, [R2.64]
BRA `(.L_x_0))"));
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->products, 2);
  EXPECT_EQ(hot->integer, 1);
  EXPECT_EQ(hot->instructions, 7);
  EXPECT_EQ(hot->narrowAccesses, 0);
}

/// A way around stores, of rows that are missing, does not hide them.
TEST(DeviceCode, CountsNarrowAccesses) {
  std::optional<HotPath> hot = findHotPath(read(R"(@P0 LDG.E.U8 R0, [R2.64]
.L_x_0:
HMMA.16816.F32 R8, R4, R6, R8
@P1 BRA `(.L_x_0)
@P0 BRA `(.L_x_1)
STG.E.U16 [R2.64], R8
STG.E.U16 [R2.64+0x2], R9
.L_x_1:
@P0 EXIT
STG.E.128 [R2.64+0x10], R8
EXIT)"));
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->products, 1);
  EXPECT_EQ(hot->narrowAccesses, 3);
}

/// Copies in a loop of their own are those of rows of which some are missing,
/// however many there are. Registers in memory are counted in the path alone.
TEST(DeviceCode, LeavesOutLoopsOverRows) {
  std::optional<HotPath> hot = findHotPath(read(R"(STL [R1], R0
.L_x_0:
@P0 BRA `(.L_x_1)
LDGSTS.E.BYPASS.128 [R4], [R2.64]
LDGSTS.E.BYPASS.128 [R4+0x10], [R2.64+0x10]
BRA `(.L_x_3)
.L_x_1:
LDL R3, [R1]
.L_x_2:
LDGSTS.E.BYPASS.128 [R4], [R2.64], P3
LDGSTS.E.BYPASS.128 [R4+0x10], [R2.64+0x10], P3
LDGSTS.E.BYPASS.128 [R4+0x20], [R2.64+0x20], P3
@P2 BRA `(.L_x_2)
.L_x_3:
HMMA.16816.F32 R8, R4, R6, R8
LDL R0, [R1]
@P1 BRA `(.L_x_0)
STG.E [R2.64], R8
EXIT)"));
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->asyncCopies, 2);
  EXPECT_EQ(hot->spills, 1);
  EXPECT_EQ(hot->instructions, 7);
}

/// Without mma, the loop with the most multiplications is the hot one.
TEST(DeviceCode, CountsLoadsAndWaits) {
  std::optional<HotPath> hot = findHotPath(read(R"(.L_x_0:
HGMMA.64x128x16.F32.BF16 R24, R4, gdesc[UR8], R24
LDS.128 R8, [R2]
@!PT LDS RZ, [RZ]
@P0 LDS R12, [R2+0x10]
LDSM.16.M88.4 R16, [R3]
WARPGROUP.DEPBAR.LE gsb0, 0x1
WARPGROUP.DEPBAR.LE gsb0, 0x0
@P1 BRA `(.L_x_0)
EXIT)"));
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->products, 1);
  EXPECT_EQ(hot->sharedLoads, 2);
  EXPECT_EQ(hot->matrixLoads, 1);
  EXPECT_EQ(hot->waits, 2);
}

TEST(DeviceCode, CountsProductsOfF32) {
  std::optional<HotPath> hot = findHotPath(read(R"(.L_x_0:
FFMA R8, R4, R6, R8
@P1 BRA `(.L_x_0)
.L_x_1:
LDGSTS.E.BYPASS.128 [R4], [R2.64]
LDGSTS.E.BYPASS.128 [R4+0x10], [R2.64+0x10]
LDGDEPBAR
BAR.SYNC.DEFER_BLOCKING 0x0
FFMA R8, R4, R6, R8
SHFL.BFLY PT, R9, R8, 0x1, 0x1f
MUFU.EX2 R9, R9
FFMA R8, R4, R6, R8
BAR.SYNC.DEFER_BLOCKING 0x0
@P1 BRA `(.L_x_1)
STG.E [R2.64], R8
EXIT)"));
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->products, 2);
  EXPECT_EQ(hot->asyncCopies, 2);
  EXPECT_EQ(hot->barriers, 2);
  EXPECT_EQ(hot->shuffles, 1);
  EXPECT_EQ(hot->exposedExponentials, 0);
  EXPECT_EQ(hot->instructions, 10);
}

TEST(DeviceCode, FindsNoLoopWithoutProducts) {
  EXPECT_FALSE(findHotPath(read(R"(.L_x_0:
IADD3 R4, R4, 0x1, RZ
@P1 BRA `(.L_x_0)
HMMA.16816.F32 R8, R4, R6, R8
EXIT)")));
}

/// What is declared, labels and comments are no instructions.
TEST(DeviceCode, CountsPTX) {
  const std::string text = R"(
.visible .entry other(
)
{
	st.global.b16 	[%rd1], %rs1;
	ret;
}
.visible .entry kernel(
	.param .u64 .ptr .align 1 kernel_param_0
)
.reqntid 128, 1, 1
{
	.reg .b16 	%rs<25>;
	ld.param.b64 	%rd1, [kernel_param_0];
$L__BB1_1:
	// begin inline asm
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};
	// end inline asm
	// begin inline asm
	{
.reg .b64 lhs, rhs;
wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, {%r1}, rhs, 1, 1, 1, 1;
}
	// end inline asm
	fma.rn.f32 	%r1, %r2, %r3, %r4;
	ld.global.nc.b8 	%rs1, [%rd1];
	@%p1 st.global.b16 	[%rd1], %rs1;
	st.global.v2.b16 	[%rd1], {%rs1, %rs2};
	st.shared.b16 	[%r1], %rs1;
	@!%p1 bra 	$L__BB1_1;
	ret;
}
)";
  std::optional<PTXCounts> counts = countPTX(text, "kernel");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->instructions, 10);
  EXPECT_EQ(counts->products, 2);
  EXPECT_EQ(counts->narrowAccesses, 2);
  EXPECT_FALSE(countPTX(text, "kern"));
}

} // namespace
