//===- Annotations.h - What shard.shard says of a function ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_ANNOTATIONS_H
#define ATTN_SHARDING_ANNOTATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace mlir::attn {

/// A grid of ranks, the last axis of which counts fastest.
struct RankGrid {
  std::string name;
  SmallVector<int64_t> shape;

  /// How many ranks are between two that are neighbours along an axis.
  int64_t getStride(int64_t axis) const {
    int64_t stride = 1;
    for (int64_t size : ArrayRef<int64_t>(shape).drop_front(axis + 1))
      stride *= size;
    return stride;
  }
};

/// For each dimension of a tensor, the axis of the grid that splits it, or
/// `kWhole`.
using SplitAxes = SmallVector<int64_t>;
constexpr int64_t kWhole = -1;

/// The annotations of one function.
struct Annotations {
  RankGrid grid;
  /// Of what has one: arguments and results of ops.
  DenseMap<Value, SplitAxes> axes;

  bool empty() const { return axes.empty(); }
  /// Of `value`, which is whole where nothing is said.
  SplitAxes getAxes(Value value) const;
};

/// Reads the annotations of `func`, for so many ranks in all, 0 if the grid
/// says how many. Errors name what is not covered.
FailureOr<Annotations> readAnnotations(func::FuncOp func, int64_t ranks);

/// Annotates query, key and value of each attention of a function without
/// annotations, on a new grid of one axis: 'batch', 'heads', 'sequence', or
/// 'keys'.
LogicalResult annotate(func::FuncOp func, StringRef split);

/// Removes the annotations of a function.
void dropAnnotations(func::FuncOp func);

} // namespace mlir::attn

#endif // ATTN_SHARDING_ANNOTATIONS_H
