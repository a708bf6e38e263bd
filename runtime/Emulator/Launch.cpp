//===- Launch.cpp - Kernels for GPUs, executed on the CPU -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Launch.h"
#include "runtime/Emulator/Block.h"

#include <algorithm>
#include <random>

using namespace attn;
using namespace attn::emulator;

static std::string describe(Dim3 size) {
  return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
         std::to_string(size.z) + ")";
}

static Status check(const KernelCode &kernel, const LaunchOptions &options) {
  std::string prefix = "kernel '" + kernel.name + "': ";
  auto count = [](Dim3 size) {
    return std::uint64_t(size.x) * size.y * size.z;
  };
  Dim3 block = options.block, required = kernel.blockSize;
  // Each alone, so that the product cannot wrap.
  if (std::max({block.x, block.y, block.z}) > maximumThreads ||
      count(block) == 0 || count(block) > maximumThreads)
    return Error{prefix + "expected 1 to " + std::to_string(maximumThreads) +
                     " threads in a block, got " + describe(block),
                 {}};
  if (required.x &&
      (block.x != required.x || block.y != required.y || block.z != required.z))
    return Error{prefix + "expected blocks of " + describe(required) +
                     " threads, got " + describe(block),
                 {}};
  // What CUDA allows.
  if (options.grid.x > 0x7FFFFFFF ||
      std::max(options.grid.y, options.grid.z) > 0xFFFF ||
      std::min({options.grid.x, options.grid.y, options.grid.z}) == 0)
    return Error{prefix +
                     "expected a grid of at least one block and at most "
                     "(2147483647, 65535, 65535), got " +
                     describe(options.grid),
                 {}};
  if (kernel.staticSharedBytes > SharedMemory::capacity ||
      options.dynamicSharedBytes >
          SharedMemory::capacity - kernel.staticSharedBytes)
    return Error{prefix + "expected at most " +
                     std::to_string(SharedMemory::capacity) +
                     " bytes of shared memory, got " +
                     std::to_string(kernel.staticSharedBytes) + " static and " +
                     std::to_string(options.dynamicSharedBytes) + " dynamic",
                 {}};
  return {};
}

Status emulator::launch(const KernelCode &kernel, void **arguments,
                        const LaunchOptions &options) {
  if (Status status = check(kernel, options); !status)
    return status;
  if (options.traffic) {
    *options.traffic = {};
    options.traffic->buffers.resize(options.buffers.size());
  }
  Block block(kernel, arguments, options);
  // Blocks must not depend on their order: either of the two.
  bool isReversed = std::mt19937_64(options.seed)() % 2;
  Dim3 grid = options.grid;
  std::uint64_t count = std::uint64_t(grid.x) * grid.y * grid.z;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t number = isReversed ? count - 1 - i : i;
    Dim3 index = {unsigned(number % grid.x), unsigned(number / grid.x % grid.y),
                  unsigned(number / grid.x / grid.y)};
    if (!block.run(index))
      return Error{block.getFailure(), {}};
  }
  return {};
}
