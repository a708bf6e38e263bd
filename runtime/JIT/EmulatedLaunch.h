//===- EmulatedLaunch.h - Kernels that kernels launch -------- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_EMULATEDLAUNCH_H
#define ATTN_RUNTIME_JIT_EMULATEDLAUNCH_H

#include <cstdint>
#include <map>

namespace attn::jit {

/// Adds up what the launches on this thread load from global memory, while it
/// lives. There is one at a time on a thread.
class EmulatedLoads {
public:
  EmulatedLoads();
  ~EmulatedLoads();
  EmulatedLoads(const EmulatedLoads &) = delete;
  EmulatedLoads &operator=(const EmulatedLoads &) = delete;

  /// Adds `bytes` of a buffer that begins at `data`.
  void add(const void *data, std::uint64_t bytes) { loaded[data] += bytes; }

  /// The bytes that were loaded from buffers that begin at `data`.
  std::uint64_t bytesFrom(const void *data) const {
    auto found = loaded.find(data);
    return found == loaded.end() ? 0 : found->second;
  }

private:
  std::map<const void *, std::uint64_t> loaded;
};

} // namespace attn::jit

extern "C" {
/// What `convert-nvvm-to-emulator` makes of `gpu.launch_func`: launches a
/// kernel of this `entry` and `name` on the emulator, or nothing if the grid is
/// empty. Each launch of the process has a schedule of its own. Ends the call
/// if the launch fails.
///
/// `sizes` are the grid's x, y and z, the block's, and the bytes of shared
/// memory of dynamic and of constant size. An element of `arguments` points to
/// the value of a parameter, as for cuLaunchKernel. Those that belong to a
/// memref, its two pointers, offset, sizes and strides, follow each other;
/// `memrefs` holds for each of `num_memrefs` the first one's index, the rank
/// and the bytes of an element.
void attn_emu_launch(void (*entry)(void **), const char *name,
                     const std::int64_t *sizes, void **arguments,
                     const std::int64_t *memrefs, std::int64_t num_memrefs);
}

#endif // ATTN_RUNTIME_JIT_EMULATEDLAUNCH_H
