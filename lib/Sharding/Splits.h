//===- Splits.h - How the tensors of a function are split -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_SPLITS_H
#define ATTN_SHARDING_SPLITS_H

#include "lib/Sharding/Annotations.h"
#include "lib/Sharding/DimensionClasses.h"

namespace mlir::attn {

/// The axes along which an attention is split, and in which order its rows.
struct AttentionAxes {
  int64_t batch, heads, queries, keys;
  bool isZigzag;
};

/// How all tensors of a function are split, by the annotations of a few: what
/// ops make the same is split alike.
class Splits {
public:
  /// Errors name annotations that disagree, and what is not covered: ops that
  /// would have to exchange what they have no code to exchange.
  static FailureOr<Splits> solve(func::FuncOp func,
                                 const Annotations &annotations);

  const RankGrid &getGrid() const { return grid; }
  /// That of a dimension, or `kWhole`.
  int64_t getAxis(Value value, int64_t dim) const;
  /// Whether ranks have two pieces of it.
  bool isZigzag(Value value, int64_t dim) const;
  /// Empty for what is no ranked tensor.
  TensorSplit get(Value value) const;
  bool isSplit(Value value) const { return get(value).isSplit(); }
  /// Whether any operand or result is.
  bool isSplit(Operation *op) const;
  /// Of attn.attention or attn.attention_backward.
  template <typename Op> AttentionAxes getAxes(Op op) const {
    Value query = op.getQuery(), key = op.getKey();
    return {getAxis(query, kBatch), getAxis(query, kHeads),
            getAxis(query, kRows), getAxis(key, kRows),
            isZigzag(query, kRows) || isZigzag(key, kRows)};
  }
  /// That along which positions of a cache are split, or `kWhole`.
  template <typename Op> int64_t getPositionsAxis(Op op) const {
    return op.isPaged() ? getAxis(op.getTable(), 1)
                        : getAxis(op.getCache(), kRows);
  }

  /// The sizes that a rank has of `value`, which has those of the whole.
  RankedTensorType getLocalType(Value value) const;
  int64_t getNumRanks(int64_t axis) const {
    return axis == kWhole ? 1 : grid.shape[axis];
  }
  std::optional<unsigned> findClass(Value value, int64_t dim) const {
    return classes.find(value, dim);
  }

private:
  struct ClassSplit {
    int64_t axis = kWhole;
    bool isZigzag = false;
  };

  Splits(func::FuncOp func, RankGrid grid)
      : classes(func), grid(std::move(grid)) {}
  ClassSplit getClassSplit(Value value, int64_t dim) const;
  void followAxisLinks();

  DimensionClasses classes;
  RankGrid grid;
  DenseMap<unsigned, ClassSplit> ofClass;
};

/// Errors name the first op of a function that is not covered, split so, and
/// the first size that ranks cannot share.
LogicalResult verifySplits(func::FuncOp func, const Splits &splits);

} // namespace mlir::attn

#endif // ATTN_SHARDING_SPLITS_H
