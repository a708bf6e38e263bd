//===- KeySet.h - Ranges of keys known only at run time ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where something may be the case: never too few keys of a block, and as few
// more as one range can tell.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_KEYSET_H
#define ATTN_REGIONS_KEYSET_H

#include "lib/Regions/SymbolicNumber.h"

namespace mlir::attn {

/// The keys `low <= j < high`.
struct KeySet {
  SymbolicNumber low, high;
  /// If there are none, it is neutral to `min` and `max`, as `unite` needs it.
  bool isNoneIfEmpty = false;
  /// Where it is not the case may lie between keys where it is.
  bool hasGaps = false;
  /// Whether there are none in a block that has keys, where less than the range
  /// tells: of those on one side of a bound, it need not be cut off at the
  /// block's other end.
  std::optional<SymbolicFlag> isEmpty = std::nullopt;

  /// Empty for certain, whatever the rest of the block.
  bool isNone() const { return low.least >= high.greatest; }
};

/// Set operations on the keys `begin <= j < end` of a block.
class KeySetArithmetic {
public:
  KeySetArithmetic(SymbolicArithmetic &numbers, SymbolicNumber begin,
                   SymbolicNumber end)
      : n(numbers), block{begin, end, true} {}

  KeySet all() const { return block; }
  static KeySet none() {
    return {SymbolicNumber::kMax, SymbolicNumber::kMin, true};
  }
  KeySet when(const SymbolicFlag &condition) {
    return noneUnless(condition, all());
  }
  KeySet below(const SymbolicNumber &bound) {
    return {block.low, n.min(block.high, bound), /*isNoneIfEmpty=*/false,
            /*hasGaps=*/false, n.isAtMost(bound, block.low)};
  }
  KeySet from(const SymbolicNumber &bound) {
    return {n.max(block.low, bound), block.high, /*isNoneIfEmpty=*/false,
            /*hasGaps=*/false, n.isAtMost(block.high, bound)};
  }

  KeySet intersect(const KeySet &lhs, const KeySet &rhs);
  /// The keys between two sets are in it too.
  KeySet unite(const KeySet &lhs, const KeySet &rhs);
  KeySet select(const SymbolicFlag &condition, const KeySet &ifTrue,
                const KeySet &ifFalse);

  SymbolicFlag isEmpty(const KeySet &keys) {
    return keys.isEmpty ? *keys.isEmpty : n.isAtMost(keys.high, keys.low);
  }
  SymbolicFlag isNotEmpty(const KeySet &keys) {
    return n.isLess(keys.low, keys.high);
  }
  bool isAll(const KeySet &keys) const {
    return keys.low.isSameAs(block.low) && keys.high.isSameAs(block.high);
  }

private:
  KeySet makeNoneIfEmpty(const KeySet &keys);
  /// Of keys that all are in the block, so that its ends are neutral, which are
  /// no larger numbers than those of keys.
  KeySet noneUnless(const SymbolicFlag &condition, const KeySet &keys) {
    return condition.isFalse()
               ? none()
               : select(condition, keys, {block.high, block.low, true});
  }

  SymbolicArithmetic &n;
  KeySet block;
};

} // namespace mlir::attn

#endif // ATTN_REGIONS_KEYSET_H
