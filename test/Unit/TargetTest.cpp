//===- TargetTest.cpp - What lowerings are told of a machine --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Target.h"

#include "lib/Plan/TargetDescription.h"

#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include "gtest/gtest.h"

using llvm::orc::JITTargetMachineBuilder;
using mlir::attn::TargetDescription;

namespace {

TargetDescription describe(const char *triple, const char *cpu,
                           const char *features = "") {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  JITTargetMachineBuilder builder{llvm::Triple(triple)};
  builder.setCPU(cpu).setFeatures(features);
  auto target = builder.createTargetMachine();
  if (!target) {
    ADD_FAILURE() << llvm::toString(target.takeError());
    return {};
  }
  return attn::jit::describeTarget(**target);
}

constexpr const char *x86 = "x86_64-linux-gnu";

TEST(Target, SSE) {
  for (const char *cpu : {"x86-64", "x86-64-v2", "nehalem"}) {
    TargetDescription target = describe(x86, cpu);
    EXPECT_EQ(target.vectorBits, 128u);
    EXPECT_EQ(target.vectorRegisters, 16u);
    EXPECT_FALSE(target.scalef);
  }
}

TEST(Target, AVX2) {
  for (const char *cpu : {"x86-64-v3", "haswell", "znver3", "alderlake"}) {
    TargetDescription target = describe(x86, cpu);
    EXPECT_EQ(target.vectorBits, 256u);
    EXPECT_EQ(target.vectorRegisters, 16u);
    EXPECT_FALSE(target.scalef);
  }
}

TEST(Target, AVX512) {
  for (const char *cpu : {"x86-64-v4", "skylake-avx512", "sapphirerapids"}) {
    TargetDescription target = describe(x86, cpu);
    EXPECT_EQ(target.vectorBits, 512u);
    EXPECT_EQ(target.vectorRegisters, 32u);
    EXPECT_TRUE(target.scalef);
  }
}

TEST(Target, AArch64) {
  for (const char *cpu : {"generic", "neoverse-v1", "apple-m1"}) {
    TargetDescription target = describe("aarch64-linux-gnu", cpu);
    EXPECT_EQ(target.vectorBits, 128u);
    EXPECT_EQ(target.vectorRegisters, 32u);
    EXPECT_FALSE(target.scalef);
  }
}

TEST(Target, Host) {
  attn::Expected<JITTargetMachineBuilder> target = attn::jit::selectTarget("");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->getCPU(), llvm::sys::getHostCPUName());
}

TEST(Target, UnknownProcessor) {
  attn::Expected<JITTargetMachineBuilder> target =
      attn::jit::selectTarget("abacus");
  ASSERT_FALSE(target.ok());
  EXPECT_TRUE(
      llvm::StringRef(target.error().message)
          .starts_with("cpu: expected a processor that LLVM knows for"));
}

/// No machine can execute the vector code of all processors.
TEST(Target, ProcessorsOfOthers) {
  if (!llvm::Triple(llvm::sys::getProcessTriple()).isX86())
    GTEST_SKIP() << "processors of x86";
  EXPECT_TRUE(attn::jit::selectTarget("x86-64").ok());
  int numRefused = 0;
  // They have AVX512-VP2INTERSECT, FMA4, and AVX512-BF16.
  for (const char *cpu : {"tigerlake", "bdver4", "cooperlake"}) {
    attn::Expected<JITTargetMachineBuilder> target =
        attn::jit::selectTarget(cpu);
    if (target)
      continue;
    ++numRefused;
    EXPECT_TRUE(llvm::StringRef(target.error().message)
                    .starts_with("cpu: expected a processor whose vector code "
                                 "this machine can execute, got '" +
                                 std::string(cpu) + "', which has '"))
        << target.error().message;
  }
  EXPECT_GT(numRefused, 0);
}

} // namespace
