//===- Dropout.cpp - Attention with dropout against plain attention -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counter `vs_plain` is the speed as a share of that of the same attention
// without dropout, in turns with it.
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Measurement.h"

using namespace attn;
using namespace attn::bench;

void bench::registerDropout(const Options &options) {
  for (const char *name : {"P1", "P1c", "P3w"})
    for (ElementType type : {ElementType::f32, ElementType::bf16,
                             ElementType::f16, ElementType::f64})
      for (unsigned threads : {1u, 2u}) {
        const AttentionCase &plain = getPrefillCase(name);
        AttentionCase dropped = plain;
        dropped.variant.dropoutRate = 0.1;
        std::vector<Baseline> baselines;
        if (!options.alone)
          baselines.push_back({"vs_plain", plain, type, threads});
        registerMeasurement("dropout", {dropped, type, threads, baselines},
                            options);
      }
}
