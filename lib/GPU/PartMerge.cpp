//===- PartMerge.cpp - States of parts of the keys, merged ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/PartMerge.h"
#include "dialect/AttnOps.h"

using namespace mlir;
using namespace mlir::attn;

Value PartMerge::extract(Value state, ArrayRef<Value> at, Value part) {
  // Of m and l, the last two dimensions are parts and rows.
  auto outer = cast<RankedTensorType>(states[1].getType()).getRank() - 2;
  auto rest = cast<RankedTensorType>(state.getType()).getRank() - outer - 1;
  SmallVector<Value> indices(at.take_front(outer));
  indices.push_back(part);
  llvm::append_range(indices, at.slice(outer, rest));
  return b.load(state, indices);
}

Value PartMerge::emitMaximum(ArrayRef<Value> at, Value first) {
  return b.loop(0, count, 1, first, [&](Value part, Value soFar) {
    return b.maximumF(soFar, extract(states[1], at, part));
  });
}

SmallVector<Value> PartMerge::emitSums(ArrayRef<Value> at, Value maximum,
                                       Value first, bool withOutput) {
  SmallVector<Value> inits = {first};
  if (withOutput)
    inits.push_back(b.zero(first.getType()));
  return b.loop(0, count, 1, inits, [&](Value part, ValueRange so) {
    Value factor = OnlineAttentionOp::createRescaleFactor(
        b, b.getLoc(), extract(states[1], at, part), maximum);
    Value terms[] = {extract(states[2], at, part),
                     withOutput ? extract(states[0], at, part) : Value()};
    SmallVector<Value> sums;
    for (auto [sum, term] : llvm::zip_first(so, terms))
      sums.push_back(b.addF(sum, b.mulF(factor, term)));
    return sums;
  });
}
