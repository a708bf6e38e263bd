//===- Launch.h - Kernels for GPUs, executed on the CPU ------ -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_LAUNCH_H
#define ATTN_RUNTIME_EMULATOR_LAUNCH_H

#include "attn/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn::emulator {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// Global memory that a kernel may use.
struct Buffer {
  void *data = nullptr;
  std::size_t bytes = 0;
  std::string name; ///< For messages.
  bool isWritable = true;
};

/// What a kernel that `convert-nvvm-to-emulator` made requires.
struct KernelCode {
  /// Runs one thread. An element points to the value of a parameter, as for
  /// cuLaunchKernel.
  void (*entry)(void **arguments) = nullptr;
  std::string name;
  /// Shared memory of constant size; what is of dynamic size lies behind it.
  std::size_t staticSharedBytes = 0;
  /// The only block size that the kernel can run with; x is 0: any.
  Dim3 blockSize = {0, 0, 0};
};

/// What a launch moves between a buffer and its threads. A sector is of 32
/// bytes, and counts in each instruction of a warp that touches it.
struct BufferTraffic {
  std::uint64_t bytesLoaded = 0, bytesStored = 0;
  std::uint64_t sectorsLoaded = 0, sectorsStored = 0;
};

struct Traffic {
  std::vector<BufferTraffic> buffers; ///< Of `LaunchOptions::buffers`.
  /// In which shared memory serves the instructions of warps, of at most 32
  /// words in different banks each; and what would be enough if no two lanes
  /// wanted different words of a bank.
  std::uint64_t wavefronts = 0, leastWavefronts = 0;
};

struct LaunchOptions {
  Dim3 grid;  ///< Blocks.
  Dim3 block; ///< Threads of a block; at most 1024.
  std::size_t dynamicSharedBytes = 0;
  /// All global memory that the kernel may use.
  std::vector<Buffer> buffers;
  /// What decides the order in which threads run and asynchronous copies
  /// arrive. The same seed makes the same execution.
  std::uint64_t seed = 0;
  /// If it is there, becomes what was loaded and stored.
  Traffic *traffic = nullptr;
};

/// Executes a kernel for every thread of the grid, one block after another, in
/// some order; and the threads of a block by turns, one until it waits for
/// others, in an order that changes. Copies of cp.async arrive late, at some
/// moment that is legal.
///
/// Fails, with the kernel, the thread, the place in the source and the
/// operation, if the kernel does what a GPU does not define:
/// - an access outside `buffers` or the block's shared memory, one that is not
///   aligned, or a store to a buffer that is not writable;
/// - a read of shared memory that nothing has written, or whose copy has not
///   been waited for; any other access to the latter;
/// - accesses to shared memory that no barrier orders, of two threads, one of
///   them a store;
/// - a product of a warpgroup that reads what no proxy fence made visible to
/// it,
///   or a store to what one reads that has not been waited for;
/// - an mbarrier that is not initialised, or is accessed otherwise;
/// - a barrier or an operation of a warp that some of its threads do not reach.
/// What was written until then stays written. Shared memory that nothing has
/// written holds NaNs.
Status launch(const KernelCode &kernel, void **arguments,
              const LaunchOptions &options);

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_LAUNCH_H
