//===- PackPlan.cpp - Where packs are made --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/PackPlan.h"

using namespace mlir::attn;

Packs mlir::attn::choosePacksOfRows(int64_t bits, int64_t tileBytes,
                                    std::optional<int64_t> allBytes,
                                    bool hasOneLoop, const CacheModel &model) {
  // Each of several loops would pack them again. Products of f32 take longer
  // than what they wait for. What fits into the second-level cache as a whole
  // stays there, and what of a tile does not, has left it.
  int64_t most = model.getResidentBytes();
  bool isBetterKept = hasOneLoop && bits <= 16 && tileBytes <= most &&
                      !(allBytes && *allBytes <= most);
  return isBetterKept ? Packs::kept : Packs::shared;
}

Packs mlir::attn::choosePacksOfValues(bool isReadOnce, bool movesOn) {
  if (isReadOnce)
    return Packs::block;
  // Where every tile begins at the first key, each thread would pack again what
  // others have. Packs of one window stay in the second-level cache, where
  // those of all heads do not.
  return movesOn ? Packs::kept : Packs::shared;
}
