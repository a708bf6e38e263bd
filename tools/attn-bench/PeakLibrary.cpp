//===- PeakLibrary.cpp - The machine's limits for who loads them ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI of libattn-peak.so, with which other libraries are measured against
// the same peak and the same streams (scripts/peers).
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Stream.h"

#include <string_view>

using namespace attn;
using namespace attn::bench;

extern "C" __attribute__((visibility("default"))) void *
attn_peak_create(const char *type, unsigned threads) {
  for (ElementType known :
       {ElementType::f32, ElementType::bf16, ElementType::f16})
    if (nameOf(known) == type)
      return new PeakMeter(known, threads);
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) double
attn_peak_measure(void *meter, double seconds) {
  return static_cast<PeakMeter *>(meter)->measure(seconds);
}

extern "C" __attribute__((visibility("default"))) void *
attn_stream_create(unsigned threads) {
  return new StreamMeter(threads);
}

/// Bytes per second of reading two streams of `bytes` each.
extern "C" __attribute__((visibility("default"))) double
attn_stream_measure(void *meter, const void *first, const void *second,
                    std::size_t bytes) {
  return static_cast<StreamMeter *>(meter)->measure(
      static_cast<const std::byte *>(first),
      static_cast<const std::byte *>(second), bytes);
}
