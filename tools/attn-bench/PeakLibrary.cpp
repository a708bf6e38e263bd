//===- PeakLibrary.cpp - The peak for programs that load it ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI of libattn-peak.so, with which other libraries are measured against
// the same peak (scripts/peers).
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Peak.h"

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
