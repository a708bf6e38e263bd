//===- EmulatedLaunch.h - Kernels that kernels launch -------- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_EMULATEDLAUNCH_H
#define ATTN_RUNTIME_JIT_EMULATEDLAUNCH_H

#include "runtime/Emulator/Launch.h"

#include <cstdint>
#include <map>
#include <vector>

namespace attn::jit {

/// Adds up what the launches on this thread load and store, while it lives.
/// There is one at a time on a thread.
class EmulatedTraffic {
public:
  EmulatedTraffic();
  ~EmulatedTraffic();
  EmulatedTraffic(const EmulatedTraffic &) = delete;
  EmulatedTraffic &operator=(const EmulatedTraffic &) = delete;

  /// Adds the traffic of a launch with these buffers.
  void add(const std::vector<emulator::Buffer> &buffers,
           const emulator::Traffic &traffic);

  /// Of buffers that begin at `data`.
  emulator::BufferTraffic of(const void *data) const {
    auto found = ofBuffers.find(data);
    return found == ofBuffers.end() ? emulator::BufferTraffic() : found->second;
  }
  /// See `emulator::Traffic`.
  std::uint64_t wavefronts() const { return numWavefronts; }
  std::uint64_t leastWavefronts() const { return numLeast; }

private:
  std::map<const void *, emulator::BufferTraffic> ofBuffers;
  std::uint64_t numWavefronts = 0, numLeast = 0;
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
