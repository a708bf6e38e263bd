//===- EmulatedProductsTest.cpp - Products of matrices --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"

#include "attn/element_type.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using emulator::LaunchOptions;

namespace {

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// D = A * B + C with fragments as the PTX ISA describes them.
template <typename Element> void testProduct(int k, const std::string &type) {
  int numA = k / 4, numB = k / 8, numWords = numA + numB + 4;
  std::string words = "!llvm.array<" + std::to_string(numWords) + " x i32>";
  std::string text = R"(
gpu.module @kernels {
  llvm.func @f(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
)";
  std::string lists[3];
  for (int i = 0; i < numWords; ++i) {
    auto n = std::to_string(i);
    bool isC = i >= numA + numB;
    std::string operand =
        isC ? "f32" : (type == "f16" ? "vector<2xf16>" : "i32");
    text += "%p" + n + " = llvm.getelementptr %in[%tid, " + n +
            "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, " + words + "\n%w" + n +
            " = llvm.load %p" + n + " : !llvm.ptr<1> -> " + operand + "\n";
    std::string &list = lists[isC ? 2 : (i >= numA ? 1 : 0)];
    list += (list.empty() ? "%w" : ", %w") + n;
  }
  std::string operand = type == "f16" ? "vector<2xf16>" : "i32";
  text += "%d = nvvm.mma.sync A[" + lists[0] + "] B[" + lists[1] + "] C[" +
          lists[2] +
          "] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,"
          "multiplicandAPtxType = #nvvm.mma_type<" +
          type + ">, multiplicandBPtxType = #nvvm.mma_type<" + type +
          ">, shape = #nvvm.shape<m = 16, n = 8, k = " + std::to_string(k) +
          ">} : (" + operand + ", " + operand +
          ", f32) -> !llvm.struct<(f32, f32, f32, f32)>\n";
  for (int i = 0; i < 4; ++i) {
    auto n = std::to_string(i);
    text += "%d" + n + " = llvm.extractvalue %d[" + n +
            "] : !llvm.struct<(f32, f32, f32, f32)>\n%q" + n +
            " = llvm.getelementptr %out[%tid, " + n +
            "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>\n"
            "llvm.store %d" +
            n + ", %q" + n + " : f32, !llvm.ptr<1>\n";
  }
  text += "llvm.return\n}\n}";

  Random random(std::uint64_t{7});
  std::vector<std::vector<Element>> a(16), b(static_cast<std::size_t>(k));
  std::vector<std::vector<float>> c(16);
  for (auto *matrix : {&a, &b})
    for (auto &row : *matrix)
      for (int j = 0; j < 16; ++j)
        row.push_back(Element(float(random.normal())));
  for (auto &row : c)
    for (int j = 0; j < 8; ++j)
      row.push_back(float(random.normal()));
  // The rows and columns of element i of a lane's fragment, PTX ISA 9.7.15.5.
  auto bits = [](Element x) { return std::uint32_t(x.bits); };
  std::vector<std::int32_t> in;
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane / 4, inGroup = lane % 4;
    auto elementA = [&](unsigned i) {
      unsigned row = i % 4 < 2 ? group : group + 8;
      unsigned column = inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      return bits(a[row][column]);
    };
    auto elementB = [&](unsigned i) {
      unsigned row = inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      return bits(b[row][group]);
    };
    for (unsigned i = 0; i < unsigned(numA); ++i)
      in.push_back(std::int32_t(elementA(2 * i) | elementA(2 * i + 1) << 16));
    for (unsigned i = 0; i < unsigned(numB); ++i)
      in.push_back(std::int32_t(elementB(2 * i) | elementB(2 * i + 1) << 16));
    for (unsigned i = 0; i < 4; ++i)
      in.push_back(std::bit_cast<std::int32_t>(
          c[i < 2 ? group : group + 8][inGroup * 2 + (i & 1)]));
  }

  Expected<jit::EmulatedKernel> kernel = compileKernel(text, "f");
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::vector<float> out(32 * 4);
  KernelArguments arguments;
  arguments.addPointer(in, "in", /*isWritable=*/false);
  arguments.addPointer(out, "out");
  LaunchOptions options;
  options.block = {32};
  Status status = arguments.launch(*kernel, options);
  ASSERT_TRUE(status) << status.error().message;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + i % 2;
      double expected = c[row][column];
      for (std::size_t j = 0; j < std::size_t(k); ++j)
        expected += double(float(a[row][j])) * double(float(b[j][column]));
      EXPECT_NEAR(out[lane * 4 + i], expected, 1e-5) << lane << ", " << i;
    }
}

TEST(EmulatedProducts, F16) {
  testProduct<f16>(8, "f16");
  testProduct<f16>(16, "f16");
}

TEST(EmulatedProducts, BF16) {
  testProduct<bf16>(8, "bf16");
  testProduct<bf16>(16, "bf16");
}

//===----------------------------------------------------------------------===//
// A product through shared memory
//===----------------------------------------------------------------------===//

// C[16,32] = A[16,32] * B[32,32] by one warp. Chunks of 8 elements of a row lie
// in shared memory at their number xor the row's, modulo 4.
constexpr const char *productText = R"(
!a = memref<16x32xf16, #gpu.address_space<workgroup>>
!b = memref<32x32xf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  memref.global "private" @a : !a
  memref.global "private" @b : !b
  gpu.func @product(%a: memref<16x32xf16>, %b: memref<32x32xf16>,
                    %c: memref<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : vector<2x2xf32>
    %sa = memref.get_global @a : !a
    %sb = memref.get_global @b : !b
    %lane = gpu.thread_id x
    // A lane copies a row of B, and half a row of A.
    %ra = arith.remui %lane, %c16 : index
    %half = arith.divui %lane, %c16 : index
    %fa = arith.muli %half, %c2 : index
    %la = arith.addi %fa, %c2 : index
    scf.for %k = %fa to %la step %c1 {
      %x = arith.remui %ra, %c4 : index
      %s = arith.xori %k, %x : index
      %to = arith.muli %s, %c8 : index
      %from = arith.muli %k, %c8 : index
      %v = vector.load %a[%ra, %from] : memref<16x32xf16>, vector<8xf16>
      vector.store %v, %sa[%ra, %to] : !a, vector<8xf16>
    }
    scf.for %k = %c0 to %c4 step %c1 {
      %x = arith.remui %lane, %c4 : index
      %s = arith.xori %k, %x : index
      %to = arith.muli %s, %c8 : index
      %from = arith.muli %k, %c8 : index
      %v = vector.load %b[%lane, %from] : memref<32x32xf16>, vector<8xf16>
      vector.store %v, %sb[%lane, %to] : !b, vector<8xf16>
    }
    gpu.barrier
    scf.for %n = %c0 to %c4 step %c1 {
      %sum = scf.for %k = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (vector<2x2xf32>) {
        // A: 16 rows, chunks 2k and 2k + 1.
        %k2 = arith.muli %k, %c2 : index
        %chunkA = arith.addi %k2, %half : index
        %xa = arith.remui %ra, %c4 : index
        %swa = arith.xori %chunkA, %xa : index
        %ca = arith.muli %swa, %c8 : index
        %af = nvgpu.ldmatrix %sa[%ra, %ca] {numTiles = 4 : i32, transpose = false}
            : !a -> vector<4x2xf16>
        // B: rows 16k to 16k + 15, chunk n.
        %k16 = arith.muli %k, %c16 : index
        %rb = arith.addi %k16, %ra : index
        %xb = arith.remui %rb, %c4 : index
        %swb = arith.xori %n, %xb : index
        %cb = arith.muli %swb, %c8 : index
        %bf = nvgpu.ldmatrix %sb[%rb, %cb] {numTiles = 2 : i32, transpose = true}
            : !b -> vector<2x2xf16>
        %next = nvgpu.mma.sync(%af, %bf, %acc) {mmaShape = [16, 8, 16]}
            : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
        scf.yield %next : vector<2x2xf32>
      }
      %g = arith.divui %lane, %c4 : index
      %t = arith.remui %lane, %c4 : index
      %t2 = arith.muli %t, %c2 : index
      %n8 = arith.muli %n, %c8 : index
      %column = arith.addi %n8, %t2 : index
      %g8 = arith.addi %g, %c8 : index
      %upper = vector.extract %sum[0] : vector<2xf32> from vector<2x2xf32>
      %lower = vector.extract %sum[1] : vector<2xf32> from vector<2x2xf32>
      vector.store %upper, %c[%g, %column] : memref<16x32xf32>, vector<2xf32>
      vector.store %lower, %c[%g8, %column] : memref<16x32xf32>, vector<2xf32>
    }
    gpu.return
  }
})";

std::string runProduct(const jit::EmulatedKernel &kernel, std::uint64_t seed) {
  auto a = makeNumbers<f16>(16 * 32, seed);
  auto b = makeNumbers<f16>(32 * 32, seed + 1000);
  std::vector<float> c(16 * 32, NAN);
  std::vector<double> expected(c.size());
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 32; ++j)
      for (std::size_t k = 0; k < 32; ++k)
        expected[i * 32 + j] +=
            double(float(a[i * 32 + k])) * double(float(b[k * 32 + j]));
  KernelArguments arguments;
  arguments.addMemRef(a, {16, 32}, "a", /*isWritable=*/false);
  arguments.addMemRef(b, {32, 32}, "b", /*isWritable=*/false);
  arguments.addMemRef(c, {16, 32}, "c");
  LaunchOptions options;
  options.block = {32};
  options.seed = seed;
  if (Status status = arguments.launch(kernel, options); !status)
    return status.error().message;
  return compare(c, expected, 1e-4);
}

TEST(EmulatedProducts, ThroughSharedMemory) {
  expectRight(productText, "product", runProduct);
}

TEST(EmulatedProducts, CatchesWrongTranspose) {
  expectCaught(replaceAll(productText, "transpose = true", "transpose = false"),
               "product", runProduct, "wrong at 0");
}

TEST(EmulatedProducts, CatchesWrongSwizzle) {
  expectCaught(replaceAll(productText, "%xb = arith.remui %rb, %c4",
                          "%xb = arith.remui %rb, %c2"),
               "product", runProduct, "wrong at");
}

TEST(EmulatedProducts, CatchesMissingBarrierBeforeProduct) {
  expectCaught(replaceAll(productText, "gpu.barrier\n", "\n"), "product",
               runProduct, "nvvm.ldmatrix: shared load of 16 bytes at offset");
}

} // namespace
