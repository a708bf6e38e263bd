//===- EmulatedKernelsTest.cpp - Kernels of GPUs, and mutations of them ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/element_type.h"
#include "test/Execution/EmulatorTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using emulator::LaunchOptions;

namespace {

//===----------------------------------------------------------------------===//
// Sums by shuffles
//===----------------------------------------------------------------------===//

constexpr const char *sumsText = R"(
gpu.module @kernels {
  gpu.func @sums(%in: memref<?xf32>, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %width = arith.constant 32 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %i4 = arith.constant 4 : i32
    %i8 = arith.constant 8 : i32
    %i16 = arith.constant 16 : i32
    %i = gpu.global_id x
    %v0 = memref.load %in[%i] : memref<?xf32>
    %s0, %p0 = gpu.shuffle xor %v0, %i16, %width : f32
    %v1 = arith.addf %v0, %s0 : f32
    %s1, %p1 = gpu.shuffle xor %v1, %i8, %width : f32
    %v2 = arith.addf %v1, %s1 : f32
    %s2, %p2 = gpu.shuffle xor %v2, %i4, %width : f32
    %v3 = arith.addf %v2, %s2 : f32
    %s3, %p3 = gpu.shuffle xor %v3, %i2, %width : f32
    %v4 = arith.addf %v3, %s3 : f32
    %s4, %p4 = gpu.shuffle xor %v4, %i1, %width : f32
    %v5 = arith.addf %v4, %s4 : f32
    %warp = arith.divui %i, %c32 : index
    memref.store %v5, %out[%warp] : memref<?xf32>
    gpu.return
  }
})";

std::string runSums(const jit::EmulatedKernel &kernel, std::uint64_t seed) {
  constexpr std::int64_t numBlocks = 3, blockSize = 64, count = 192;
  auto in = makeNumbers<float>(count, seed);
  std::vector<float> out(count / 32, NAN);
  std::vector<double> expected(out.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    expected[i / 32] += in[i];
  KernelArguments arguments;
  arguments.addMemRef(in, {count}, "in", /*isWritable=*/false);
  arguments.addMemRef(out, {count / 32}, "out");
  LaunchOptions options;
  options.grid = {numBlocks};
  options.block = {blockSize};
  options.seed = seed;
  if (Status status = arguments.launch(kernel, options); !status)
    return status.error().message;
  return compare(out, expected, 1e-5);
}

TEST(EmulatedKernels, Sums) { expectRight(sumsText, "sums", runSums); }

TEST(EmulatedKernels, CatchesWrongShuffle) {
  expectCaught(replaceAll(sumsText, "xor %v3, %i2", "xor %v3, %i4"), "sums",
               runSums, "wrong at 0");
}

TEST(EmulatedKernels, CatchesStoreToConstantBuffer) {
  expectCaught(replaceAll(sumsText, "%v5, %out[%warp]", "%v5, %in[%warp]"),
               "sums", runSums, "buffer 'in', which may not be written");
}

TEST(EmulatedKernels, CatchesGlobalOutOfBounds) {
  expectCaught(replaceAll(sumsText, "%out[%warp]", "%out[%i]"), "sums", runSums,
               "global store of 4 bytes is out of bounds: at offset 24 of "
               "buffer 'out' of 24 bytes");
}

//===----------------------------------------------------------------------===//
// A transpose through shared memory
//===----------------------------------------------------------------------===//

constexpr const char *transposeText = R"(
!tile = memref<32x33xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  memref.global "private" @tile : !tile
  gpu.func @transpose(%in: memref<32x32xf32>, %out: memref<32x32xf32>) kernel
      attributes {known_block_size = array<i32: 32, 8, 1>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %tile = memref.get_global @tile : !tile
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    scf.for %k = %c0 to %c32 step %c8 {
      %row = arith.addi %y, %k : index
      %v = memref.load %in[%row, %x] : memref<32x32xf32>
      memref.store %v, %tile[%row, %x] : !tile
    }
    gpu.barrier
    scf.for %k = %c0 to %c32 step %c8 {
      %row = arith.addi %y, %k : index
      %v = memref.load %tile[%x, %row] : !tile
      memref.store %v, %out[%row, %x] : memref<32x32xf32>
    }
    gpu.return
  }
})";

std::string runTranspose(const jit::EmulatedKernel &kernel,
                         std::uint64_t seed) {
  auto in = makeNumbers<float>(32 * 32, seed);
  std::vector<float> out(in.size(), NAN);
  std::vector<double> expected;
  for (std::size_t i = 0; i < in.size(); ++i)
    expected.push_back(in[i % 32 * 32 + i / 32]);
  KernelArguments arguments;
  arguments.addMemRef(in, {32, 32}, "in", /*isWritable=*/false);
  arguments.addMemRef(out, {32, 32}, "out");
  LaunchOptions options;
  options.block = {32, 8};
  options.seed = seed;
  if (Status status = arguments.launch(kernel, options); !status)
    return status.error().message;
  return compare(out, expected, 0);
}

TEST(EmulatedKernels, Transpose) {
  expectRight(transposeText, "transpose", runTranspose);
}

TEST(EmulatedKernels, CatchesWrongBlockSize) {
  RunKernel run = [](const jit::EmulatedKernel &kernel, std::uint64_t) {
    LaunchOptions options;
    options.block = {256};
    Status status = KernelArguments().launch(kernel, options);
    return status ? "" : status.error().message;
  };
  expectCaught(transposeText, "transpose", run,
               "expected blocks of (32, 8, 1) threads, got (256, 1, 1)");
}

TEST(EmulatedKernels, CatchesMissingBarrier) {
  expectCaught(replaceAll(transposeText, "gpu.barrier\n", "\n"), "transpose",
               runTranspose, "which nothing has written");
}

TEST(EmulatedKernels, CatchesWrongTransposeIndex) {
  expectCaught(replaceAll(transposeText, "%tile[%x, %row]", "%tile[%row, %x]"),
               "transpose", runTranspose, "wrong at 1");
}

TEST(EmulatedKernels, CatchesSharedOutOfBounds) {
  expectCaught(
      replaceAll(transposeText, "%v, %tile[%row, %x]", "%v, %tile[%c32, %x]"),
      "transpose", runTranspose,
      "llvm.store: shared store of 4 bytes is out of bounds: at "
      "offset 4");
}

TEST(EmulatedKernels, CatchesDivergentBarrier) {
  expectCaught(replaceAll(transposeText, "gpu.return",
                          "%lower = arith.cmpi ult, %x, %c8 : index\n"
                          "scf.if %lower {\n gpu.barrier\n }\n gpu.return"),
               "transpose", runTranspose,
               "exits, while others of its warp wait here");
}

//===----------------------------------------------------------------------===//
// Asynchronous copies in three stages
//===----------------------------------------------------------------------===//

constexpr const char *stagesText = R"(
!stages = memref<3x256xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @reverse(%in: memref<?xf32>, %out: memref<?xf32>, %tiles: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c255 = arith.constant 255 : index
    %c256 = arith.constant 256 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %stages = memref.view %memory[%c0][]
        : memref<?xi8, #gpu.address_space<workgroup>> to !stages
    %x = gpu.thread_id x
    %at = arith.muli %x, %c4 : index
    %copy0 = nvgpu.device_async_copy %in[%at], %stages[%c0, %at], 4
        : memref<?xf32> to !stages
    %group0 = nvgpu.device_async_create_group %copy0
    %at1 = arith.addi %at, %c256 : index
    %copy1 = nvgpu.device_async_copy %in[%at1], %stages[%c1, %at], 4
        : memref<?xf32> to !stages
    %group1 = nvgpu.device_async_create_group %copy1
    scf.for %k = %c0 to %tiles step %c1 {
      nvgpu.device_async_wait %group0 {numGroups = 1 : i32}
      gpu.barrier
      %next = arith.addi %k, %c2 : index
      %has = arith.cmpi ult, %next, %tiles : index
      scf.if %has {
        %stage = arith.remui %next, %c3 : index
        %base = arith.muli %next, %c256 : index
        %from = arith.addi %base, %at : index
        %copy = nvgpu.device_async_copy %in[%from], %stages[%stage, %at], 4
            : memref<?xf32> to !stages
      }
      %group = nvgpu.device_async_create_group {}
      %stage = arith.remui %k, %c3 : index
      %base = arith.muli %k, %c256 : index
      scf.for %e = %c0 to %c4 step %c1 {
        %i = arith.addi %at, %e : index
        %j = arith.subi %c255, %i : index
        %v = memref.load %stages[%stage, %j] : !stages
        %to = arith.addi %base, %i : index
        memref.store %v, %out[%to] : memref<?xf32>
      }
    }
    gpu.return
  }
})";

std::string runStages(const jit::EmulatedKernel &kernel, std::uint64_t seed) {
  constexpr std::int64_t tiles = 7, count = tiles * 256;
  auto in = makeNumbers<float>(count, seed);
  std::vector<float> out(count, NAN);
  std::vector<double> expected;
  for (std::size_t i = 0; i < in.size(); ++i)
    expected.push_back(in[i / 256 * 256 + 255 - i % 256]);
  KernelArguments arguments;
  arguments.addMemRef(in, {count}, "in", /*isWritable=*/false);
  arguments.addMemRef(out, {count}, "out");
  arguments.addInteger(tiles);
  LaunchOptions options;
  options.block = {64};
  options.dynamicSharedBytes = 3 * 256 * sizeof(float);
  options.seed = seed;
  if (Status status = arguments.launch(kernel, options); !status)
    return status.error().message;
  return compare(out, expected, 0);
}

TEST(EmulatedKernels, Stages) { expectRight(stagesText, "reverse", runStages); }

TEST(EmulatedKernels, CatchesMissingWait) {
  expectCaught(replaceAll(stagesText, "numGroups = 1", "numGroups = 2"),
               "reverse", runStages, "has not been waited for");
}

TEST(EmulatedKernels, CatchesMissingBarrierBetweenStages) {
  expectCaught(replaceAll(stagesText, "gpu.barrier\n", "\n"), "reverse",
               runStages, "which nothing has written");
}

TEST(EmulatedKernels, CatchesTooFewStages) {
  expectCaught(replaceAll(stagesText, "%c3 : index", "%c2 : index"), "reverse",
               runStages, "is not ordered after what thread");
}

TEST(EmulatedKernels, CatchesTooLittleDynamicMemory) {
  RunKernel run = [](const jit::EmulatedKernel &kernel, std::uint64_t seed) {
    std::vector<float> in(1024), out(1024);
    KernelArguments arguments;
    arguments.addMemRef(in, {1024}, "in");
    arguments.addMemRef(out, {1024}, "out");
    arguments.addInteger(4);
    LaunchOptions options;
    options.block = {64};
    options.dynamicSharedBytes = 2048;
    options.seed = seed;
    Status status = arguments.launch(kernel, options);
    return status ? "" : status.error().message;
  };
  expectCaught(stagesText, "reverse", run,
               "nvvm.cp.async.shared.global: shared store of 16 bytes is out "
               "of bounds");
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

/// What a warp moves that runs the kernel alone.
emulator::Traffic countTraffic(const jit::EmulatedKernel &kernel,
                               KernelArguments &arguments) {
  emulator::Traffic traffic;
  LaunchOptions options;
  options.block = {32};
  options.traffic = &traffic;
  Status status = arguments.launch(kernel, options);
  EXPECT_TRUE(status) << status.error().message;
  return traffic;
}

/// What a warp moves through shared memory by numbers STRIDE apart.
emulator::Traffic countStrided(std::int64_t stride) {
  Expected<jit::EmulatedKernel> kernel =
      compileKernel(replaceAll(R"(
gpu.module @kernels {
  gpu.func @strided(%in: memref<?xf32>, %out: memref<?xf32>)
      workgroup(%buffer: memref<1024xf32, #gpu.address_space<workgroup>>) kernel {
    %stride = arith.constant STRIDE : index
    %i = gpu.thread_id x
    %place = arith.muli %i, %stride : index
    %v = memref.load %in[%i] : memref<?xf32>
    memref.store %v, %buffer[%place] : memref<1024xf32, #gpu.address_space<workgroup>>
    %w = memref.load %buffer[%place] : memref<1024xf32, #gpu.address_space<workgroup>>
    memref.store %w, %out[%place] : memref<?xf32>
    gpu.return
  }
})",
                               "STRIDE", std::to_string(stride)),
                    "strided");
  EXPECT_TRUE(kernel) << kernel.error().message;
  // From the begin of a sector on.
  std::vector<float> in(64), out(1024 + 32);
  auto findSector = [](std::vector<float> &data) {
    auto address = std::bit_cast<std::uintptr_t>(data.data());
    return std::int64_t((32 - address % 32) % 32 / sizeof(float));
  };
  KernelArguments arguments;
  arguments.addMemRef(in, {32}, "in", /*isWritable=*/false, findSector(in));
  arguments.addMemRef(out, {1024}, "out", /*isWritable=*/true, findSector(out));
  return countTraffic(*kernel, arguments);
}

TEST(EmulatedKernels, CountsSectorsAndWavefronts) {
  struct Case {
    std::int64_t stride;
    std::uint64_t sectors, wavefronts; ///< Of 32 numbers.
  };
  for (auto [stride, sectors, wavefronts] :
       {Case{1, 4, 1}, {2, 8, 2}, {3, 12, 1}, {8, 32, 8}, {32, 32, 32}}) {
    SCOPED_TRACE(stride);
    emulator::Traffic traffic = countStrided(stride);
    ASSERT_EQ(traffic.buffers.size(), 2u);
    EXPECT_EQ(traffic.buffers[0].bytesLoaded, 128u);
    EXPECT_EQ(traffic.buffers[0].sectorsLoaded, 4u);
    EXPECT_EQ(traffic.buffers[1].bytesStored, 128u);
    EXPECT_EQ(traffic.buffers[1].sectorsStored, sectors);
    EXPECT_EQ(traffic.wavefronts, 2 * wavefronts); // A store and a load.
    EXPECT_EQ(traffic.leastWavefronts, 2u);
  }
}

/// Stores of 16 bytes, and `ldmatrix`: rows of 128 bytes all begin in the same
/// bank, and those of 16 bytes more do not.
TEST(EmulatedKernels, CountsWavefrontsOfMatrices) {
  constexpr const char *text = R"(
!buffer = memref<32xPITCHxf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @matrices(%out: memref<?xf16>) workgroup(%buffer: !buffer) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.thread_id x
    %zeros = arith.constant dense<0.0> : vector<8xf16>
    vector.store %zeros, %buffer[%i, %c0] {alignment = 16} : !buffer, vector<8xf16>
    gpu.barrier
    %m = nvgpu.ldmatrix %buffer[%i, %c0] {numTiles = 4 : i32, transpose = false}
        : !buffer -> vector<4x2xf16>
    %x = vector.extract %m[0, 0] : f16 from vector<4x2xf16>
    memref.store %x, %out[%i] : memref<?xf16>
    gpu.return
  }
})";
  for (auto [pitch, wavefronts] :
       {std::pair<int, std::uint64_t>{64, 32}, {72, 4}}) {
    SCOPED_TRACE(pitch);
    Expected<jit::EmulatedKernel> kernel = compileKernel(
        replaceAll(text, "PITCH", std::to_string(pitch)), "matrices");
    ASSERT_TRUE(kernel) << kernel.error().message;
    std::vector<f16> out(32);
    KernelArguments arguments;
    arguments.addMemRef(out, {32}, "out");
    emulator::Traffic traffic = countTraffic(*kernel, arguments);
    EXPECT_EQ(traffic.wavefronts, 2 * wavefronts);
    EXPECT_EQ(traffic.leastWavefronts, 8u);
  }
}

} // namespace
