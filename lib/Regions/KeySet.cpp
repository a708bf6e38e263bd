//===- KeySet.cpp - Ranges of keys known only at run time -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/KeySet.h"

using namespace mlir;
using namespace mlir::attn;

KeySet KeySetArithmetic::intersect(const KeySet &lhs, const KeySet &rhs) {
  if (lhs.isNone() || isAll(rhs))
    return lhs;
  if (rhs.isNone() || isAll(lhs))
    return rhs;
  KeySet both = {n.max(lhs.low, rhs.low), n.min(lhs.high, rhs.high)};
  both.hasGaps = lhs.hasGaps || rhs.hasGaps;
  return both;
}

KeySet KeySetArithmetic::unite(const KeySet &lhs, const KeySet &rhs) {
  if (lhs.isNone() || isAll(rhs))
    return rhs;
  if (rhs.isNone() || isAll(lhs))
    return lhs;
  KeySet a = makeNoneIfEmpty(lhs), b = makeNoneIfEmpty(rhs);
  // Of two ranges with one end in common, the one is a part of the other.
  bool isNested = lhs.low.isSameAs(rhs.low) || lhs.high.isSameAs(rhs.high);
  return {n.min(a.low, b.low), n.max(a.high, b.high), true,
          lhs.hasGaps || rhs.hasGaps || !isNested,
          n.both(isEmpty(lhs), isEmpty(rhs))};
}

KeySet KeySetArithmetic::select(const SymbolicFlag &condition,
                                const KeySet &ifTrue, const KeySet &ifFalse) {
  return {n.select(condition, ifTrue.low, ifFalse.low),
          n.select(condition, ifTrue.high, ifFalse.high),
          ifTrue.isNoneIfEmpty && ifFalse.isNoneIfEmpty,
          ifTrue.hasGaps || ifFalse.hasGaps};
}

KeySet KeySetArithmetic::makeNoneIfEmpty(const KeySet &keys) {
  if (keys.isNoneIfEmpty)
    return keys;
  KeySet result = noneUnless(isNotEmpty(keys), keys);
  result.isNoneIfEmpty = true;
  return result;
}
