//===- Neighbours.cpp - Sizes beside those of other cases -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Sizes at which a tile, a vector or a form of a kernel begins or ends: a size
// is not to be much slower than the next one, which could be computed instead.

#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Measurement.h"

using namespace attn;
using namespace attn::bench;

/// `queries` of each of the heads, with 1024 keys.
static AttentionCase createCase(Index queryHeads, Index keyValueHeads,
                                Index queries, Index headSize, bool isDynamic) {
  std::string name = "H" + std::to_string(queryHeads) + "-" +
                     std::to_string(keyValueHeads) + "-D" +
                     std::to_string(headSize) + "-S" + std::to_string(queries);
  return {.name = name + (isDynamic ? "-dynamic" : ""),
          .queryHeads = queryHeads,
          .keyValueHeads = keyValueHeads,
          .length = queries,
          .headSize = headSize,
          .variant = {},
          .dynamicLength = isDynamic,
          .keyLength = 1024};
}

void bench::registerNeighbours(const Options &options) {
  auto measure = [&](const AttentionCase &attention) {
    for (ElementType type : {ElementType::f32, ElementType::bf16})
      registerMeasurement("neighbour", {attention, type, /*threads=*/1, {}},
                          options);
  };
  for (Index queries : {1, 2, 3, 8, 9, 15, 16, 17, 32, 33, 64, 65, 512})
    for (bool isDynamic : {false, true}) {
      measure(createCase(8, 8, queries, 64, isDynamic));
      measure(createCase(32, 8, queries, 128, isDynamic));
    }
  for (Index headSize : {40, 72, 80, 96, 100, 128})
    for (Index queries : {16, 32, 512})
      measure(createCase(8, 8, queries, headSize, /*isDynamic=*/false));
  for (Index heads : {32, 33})
    for (Index queries : {1, 4})
      measure(createCase(heads, 1, queries, 128, /*isDynamic=*/false));
}
