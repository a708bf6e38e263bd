//===- EmulatedLaunch.cpp - Kernels that kernels launch -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/EmulatedLaunch.h"

#include "runtime/JIT/LaunchSizes.h"
#include "runtime/Support/Call.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>

using namespace attn;
using namespace attn::emulator;
using attn::jit::toLaunchSize;

static thread_local jit::EmulatedTraffic *currentTraffic = nullptr;

jit::EmulatedTraffic::EmulatedTraffic() { currentTraffic = this; }
jit::EmulatedTraffic::~EmulatedTraffic() { currentTraffic = nullptr; }

void jit::EmulatedTraffic::add(const std::vector<Buffer> &buffers,
                               const Traffic &traffic) {
  for (auto [buffer, added] : llvm::zip(buffers, traffic.buffers)) {
    BufferTraffic &sum = ofBuffers[buffer.data];
    sum.bytesLoaded += added.bytesLoaded;
    sum.bytesStored += added.bytesStored;
    sum.sectorsLoaded += added.sectorsLoaded;
    sum.sectorsStored += added.sectorsStored;
  }
  numWavefronts += traffic.wavefronts;
  numLeast += traffic.leastWavefronts;
}

/// The bytes between the first and the last element, of strides of any sign.
static Buffer findBuffer(void **arguments, const std::int64_t *memref) {
  void **fields = arguments + memref[0];
  std::int64_t rank = memref[1], elementBytes = memref[2];
  auto word = [&](std::int64_t field) {
    return *static_cast<const std::int64_t *>(fields[field]);
  };
  std::int64_t first = word(2), last = first;
  bool isEmpty = false;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    std::int64_t size = word(3 + dim);
    std::int64_t distance = (size - 1) * word(3 + rank + dim);
    isEmpty |= size <= 0;
    (distance < 0 ? first : last) += distance;
  }
  Buffer buffer;
  buffer.name = "argument " + std::to_string(memref[0]);
  char *data = *static_cast<char *const *>(fields[1]);
  if (isEmpty) { // There may be no memory.
    buffer.data = data;
    return buffer;
  }
  buffer.data = data + first * elementBytes;
  buffer.bytes = std::size_t(last - first + 1) * std::size_t(elementBytes);
  return buffer;
}

static Status launchKernel(void (*entry)(void **), const char *name,
                           const std::int64_t *sizes, void **arguments,
                           const std::int64_t *memrefs,
                           std::int64_t numMemrefs) {
  static std::atomic<std::uint64_t> numLaunches = 0;
  KernelCode kernel;
  kernel.entry = entry;
  kernel.name = name;
  kernel.staticSharedBytes = std::size_t(sizes[7]);
  LaunchOptions options;
  options.grid = {toLaunchSize(sizes[0]), toLaunchSize(sizes[1]),
                  toLaunchSize(sizes[2])};
  options.block = {toLaunchSize(sizes[3]), toLaunchSize(sizes[4]),
                   toLaunchSize(sizes[5])};
  options.dynamicSharedBytes = std::size_t(sizes[6]);
  options.seed = numLaunches++;
  for (std::int64_t i = 0; i < numMemrefs; ++i)
    options.buffers.push_back(findBuffer(arguments, memrefs + 3 * i));
  Traffic traffic;
  if (currentTraffic)
    options.traffic = &traffic;
  Status status = emulator::launch(kernel, arguments, options);
  if (currentTraffic)
    currentTraffic->add(options.buffers, traffic);
  return status;
}

void attn_emu_launch(void (*entry)(void **), const char *name,
                     const std::int64_t *sizes, void **arguments,
                     const std::int64_t *memrefs, std::int64_t numMemrefs) {
  if (*std::min_element(sizes, sizes + 3) == 0)
    return;
  const char *message;
  {
    Status status =
        launchKernel(entry, name, sizes, arguments, memrefs, numMemrefs);
    if (status)
      return;
    message = support::keepMessage(status.error().message);
  }
  attn_rt_fail(message);
}
