//===- RegionEvaluation.h - Regions as scalar code --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_REGIONEVALUATION_H
#define ATTN_REGIONS_REGIONEVALUATION_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Region.h"

namespace mlir::attn {

/// Why a value is undefined: a text in which {0} and {1} stand for two numbers
/// of i64.
struct UndefinedReason {
  std::string text;
  Value first, second;
};

/// What a region yields at one position, and an i1 that is true if that depends
/// on something without a result (A12): a load outside its tensor, a division
/// by zero. Null if it never does. `reason` is then the number of one of
/// `reasons`, the first in the region's order of those that it depends on.
struct RegionValue {
  Value value;
  Value undefined, reason;
  SmallVector<UndefinedReason> reasons;
  /// The position that messages name, if the region says which.
  SmallVector<Value> position;
};

/// Whether the region has an operation that may have no result.
bool mayBeUndefined(Region &region);

/// Inlines a score or mask region, safe to run anywhere: a load outside its
/// tensor touches no memory and an integer division without a result does not
/// trap; both give some number instead and mark what depends on it.
RegionValue evaluateRegion(OpBuilder &builder, Region &region,
                           ValueRange arguments);

/// The region's value, where a value that is undefined is reported. `name` is
/// that of the region, `opName` that of the op which the user wrote.
/// `position` is what the region was evaluated for.
Value reportUndefined(OpBuilder &builder, Location loc,
                      const RegionValue &region, ValueRange position,
                      StringRef name, StringRef opName = "attn.attention");

/// A score and a mask region, empty where there is none, and what they capture.
struct ScoreRegions {
  Region &score, &mask;
  ValueRange scoreCaptures, maskCaptures;
};

/// The score at `position`, which is b, h, p and j; -inf where the mask hides
/// it. The mask decides first: `emitProduct`, which gives the score before the
/// region, and the region are computed, and may fail, only where it keeps the
/// position (A12).
Value emitScoreAt(OpBuilder &builder, Location loc, const ScoreRegions &regions,
                  ValueRange position,
                  function_ref<Value(OpBuilder &)> emitProduct,
                  StringRef opName = "attn.attention");

/// Drops flags like nsw, exact and nnan, which turn values into poison where
/// their promise does not hold (A12).
void dropPromises(Operation *op);

} // namespace mlir::attn

#endif // ATTN_REGIONS_REGIONEVALUATION_H
