//===- EmulatedErrorsTest.cpp - Barriers of GPUs, and what ends a kernel --===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using emulator::LaunchOptions;

namespace {

void expectError(const std::string &body, std::size_t numThreads,
                 const std::string &message) {
  auto out = computeLanes(body, makeWords(numThreads));
  ASSERT_FALSE(out) << body;
  EXPECT_NE(out.error().message.find(message), std::string::npos)
      << out.error().message;
}

/// The first warp arrives at a barrier that the second waits for, with numbers
/// for it in shared memory.
constexpr const char *handOverText = R"(
gpu.module @kernels {
  llvm.mlir.global internal @numbers() {addr_space = 3 : i32} : !llvm.array<32 x i32>
  llvm.func @f(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %warp = nvvm.read.ptx.sreg.warpid : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %numbers = llvm.mlir.addressof @numbers : !llvm.ptr<3>
    %s = llvm.getelementptr %numbers[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %isFirst = llvm.icmp "eq" %warp, %c0 : i32
    llvm.cond_br %isFirst, ^give, ^take
  ^give:
    %p = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.store %v, %s : i32, !llvm.ptr<3>
    nvvm.barrier.arrive id = %c5 number_of_threads = %c64
    llvm.return
  ^take:
    nvvm.barrier id = %c5 number_of_threads = %c64
    %taken = llvm.load %s : !llvm.ptr<3> -> i32
    %q = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %taken, %q : i32, !llvm.ptr<1>
    llvm.return
  }
})";

/// Runs a kernel that copies 32 numbers: an empty string, or what is wrong.
std::string copy(const std::string &text, unsigned numThreads,
                 std::uint64_t seed) {
  Expected<jit::EmulatedKernel> kernel = compileKernel(text, "f");
  if (!kernel)
    return kernel.error().message;
  auto in = makeWords(32);
  std::vector<std::int32_t> out(32);
  KernelArguments arguments;
  arguments.addPointer(in, "in", /*isWritable=*/false);
  arguments.addPointer(out, "out");
  LaunchOptions options;
  options.block = {numThreads};
  options.seed = seed;
  if (Status status = arguments.launch(*kernel, options); !status)
    return status.error().message;
  return out == in ? "" : "wrong";
}

TEST(EmulatedOperations, NamedBarriers) {
  std::string other = replaceAll(handOverText, "nvvm.barrier.arrive id = %c5",
                                 "nvvm.barrier.arrive id = %c0");
  std::string none = replaceAll(
      handOverText, "nvvm.barrier id = %c5 number_of_threads = %c64", "");
  bool isUnordered = false;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(copy(handOverText, 64, seed), "") << "seed " << seed;
    EXPECT_EQ(copy(other, 64, seed),
              "kernel 'f', block (0, 0, 0): deadlock: threads 32-63 wait at "
              "-:21:5: nvvm.barrier")
        << "seed " << seed;
    // Also where the first warp happened to be the first.
    std::string result = copy(none, 64, seed);
    EXPECT_NE(result, "") << "seed " << seed;
    isUnordered |=
        result.find("is not ordered after what thread") != std::string::npos;
  }
  EXPECT_TRUE(isUnordered);
}

/// Lanes exchange their numbers with their neighbours', twice.
constexpr const char *exchangeText = R"(
gpu.module @kernels {
  llvm.mlir.global internal @numbers() {addr_space = 3 : i32} : !llvm.array<32 x i32>
  llvm.func @f(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %neighbour = llvm.xor %lane, %c1 : i32
    %numbers = llvm.mlir.addressof @numbers : !llvm.ptr<3>
    %own = llvm.getelementptr %numbers[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %other = llvm.getelementptr %numbers[%neighbour] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %p = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %q = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.store %v, %own : i32, !llvm.ptr<3>
    nvvm.bar.warp.sync %all : i32 // 1
    %w = llvm.load %other : !llvm.ptr<3> -> i32
    nvvm.bar.warp.sync %all : i32 // 2
    llvm.store %w, %own : i32, !llvm.ptr<3>
    nvvm.bar.warp.sync %all : i32 // 3
    %x = llvm.load %other : !llvm.ptr<3> -> i32
    llvm.store %x, %q : i32, !llvm.ptr<1>
    llvm.return
  }
})";

TEST(EmulatedOperations, OrderInAWarp) {
  // Votes bring lanes together, but do not order what they do to memory.
  const std::string vote = "%t = llvm.mlir.constant(true) : i1\n"
                           "%u = nvvm.vote.sync any %all, %t -> i1 //";
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(copy(exchangeText, 32, seed), "") << "seed " << seed;
    for (const char *number : {"1", "2", "3"}) {
      std::string result = copy(
          replaceAll(exchangeText,
                     std::string("nvvm.bar.warp.sync %all : i32 // ") + number,
                     vote),
          32, seed);
      EXPECT_NE(result.find("is not ordered after what thread"),
                std::string::npos)
          << result << " seed " << seed;
    }
  }
}

TEST(EmulatedOperations, BarrierErrors) {
  expectError("nvvm.barrier id = %c64\n%r = llvm.add %v, %v : i32", 32,
              "nvvm.barrier: expected a barrier below 16, got 64");
  expectError("nvvm.barrier id = %c1 number_of_threads = %c31\n"
              "%r = llvm.add %v, %v : i32",
              32, "expected a multiple of 32 threads, at most the block's 32");
  expectError("nvvm.barrier id = %tid number_of_threads = %c0\n"
              "%r = llvm.add %v, %v : i32",
              16, "expected the same barrier for the whole warp, got 0 and 1");
  // Two warps do not reduce alike.
  expectError(R"(
    %isSecond = llvm.icmp "ugt" %tid, %c31 : i32
    llvm.cond_br %isSecond, ^second, ^first
  ^first:
    nvvm.barrier0
    llvm.br ^end
  ^second:
    %sum = nvvm.barrier #nvvm.reduction<popc> %c1 -> i32
    llvm.br ^end
  ^end:
    %r = llvm.add %v, %v : i32)",
              64, "expected the same reduction as at -:");
  // The other lanes wait elsewhere.
  expectError(R"(
    %isFirst = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^others
  ^first:
    nvvm.barrier0
    llvm.br ^end
  ^others:
    nvvm.bar.warp.sync %all : i32
    llvm.br ^end
  ^end:
    %r = llvm.add %v, %v : i32)",
              32, "expected all lanes of the mask 0xffffffff, but lane");
}

TEST(EmulatedOperations, WarpErrors) {
  expectError("%r = nvvm.shfl.sync idx %c1, %v, %c0, %c31 : i32 -> i32", 32,
              "mask 0x1: expected this thread's lane");
  expectError("%r = nvvm.shfl.sync idx %all, %v, %c0, %c31 : i32 -> i32", 16,
              "lane 16 of the mask 0xffffffff does not exist");
  expectError(R"(
    %isFirst = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^others
  ^first:
    %r0 = nvvm.shfl.sync idx %c1, %v, %c3, %c31 : i32 -> i32
    llvm.br ^end(%r0 : i32)
  ^others:
    llvm.br ^end(%v : i32)
  ^end(%r: i32):)",
              32, "lane 0 takes the value of lane 3, which does not take part");
}

TEST(EmulatedOperations, MemoryErrors) {
  expectError("%b = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, "
              "i8\n%r = llvm.load %b : !llvm.ptr<1> -> i32",
              32, "is not aligned to 4 bytes");
  expectError(
      "%g = llvm.addrspacecast %q : !llvm.ptr<1> to !llvm.ptr\n"
      "%b = llvm.getelementptr %g[-128] : (!llvm.ptr) -> !llvm.ptr, i8\n"
      "%r = llvm.load %b : !llvm.ptr -> i32",
      32,
      "llvm.load: global load of 4 bytes is out of bounds: at "
      "offset -");
}

TEST(EmulatedOperations, LaunchErrors) {
  Expected<jit::EmulatedKernel> kernel =
      compileKernel(makeLaneText("%r = llvm.add %v, %v : i32"), "f");
  ASSERT_TRUE(kernel) << kernel.error().message;
  auto launch = [&](const LaunchOptions &options) {
    Status status = kernel->launch(nullptr, options);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(
      launch({.block = {32, 33}}),
      "kernel 'f': expected 1 to 1024 threads in a block, got (32, 33, 1)");
  EXPECT_EQ(launch({.grid = {1, 0}}),
            "kernel 'f': expected a grid of at least one block and at most "
            "(2147483647, 65535, 65535), got (1, 0, 1)");
  EXPECT_EQ(launch({.dynamicSharedBytes = 1 << 20}),
            "kernel 'f': expected at most 232448 bytes of shared memory, got 0 "
            "static and 1048576 dynamic");
}

TEST(EmulatedOperations, CompileErrors) {
  std::string text = makeLaneText("%r = llvm.add %v, %v : i32");
  Expected<jit::EmulatedKernel> kernel = compileKernel(text, "g");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().message, "no kernel 'g' in the module");
  kernel = compileKernel(
      replaceAll(
          text, "llvm.add %v, %v",
          "llvm.inline_asm \"not $0, $1;\", \"=r,r\" %v : (i32) -> i32 //"),
      "f");
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message.find("'llvm.inline_asm' op is not emulated"),
            std::string::npos)
      << kernel.error().message;
}

} // namespace
