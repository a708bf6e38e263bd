//===- Annotations.h - What shard.shard says of a function ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_ANNOTATIONS_H
#define ATTN_SHARDING_ANNOTATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

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

constexpr int64_t kWhole = -1;

/// Numbers of the dimensions of query, key and value.
enum Dimension : unsigned { kBatch, kHeads, kRows, kElements };

/// How a tensor is split.
struct TensorSplit {
  /// For each dimension, the axis of the grid that splits it, or `kWhole`.
  SmallVector<int64_t> axes;
  /// Rank `r` of the `n` along the axis of `inPieces` has two pieces of it,
  /// `r` and `2 n - 1 - r` of `2 n`, and not one.
  bool isZigzag = false;
  /// The sizes of what `inPieces` is made of, one after the other, each of
  /// which is split: columns of a weight for several results. Empty: one.
  SmallVector<int64_t> segments;
  /// The dimension of which a rank has several pieces, if there is one.
  unsigned inPieces = kRows;

  int64_t operator[](unsigned dim) const { return axes[dim]; }
  bool isSplit() const {
    return llvm::any_of(axes, [](int64_t axis) { return axis != kWhole; });
  }
  /// Whether they are as one annotation says.
  bool isLike(const TensorSplit &other) const {
    return axes == other.axes && isZigzag == other.isZigzag &&
           (!isZigzag || inPieces == other.inPieces);
  }
};

/// As an annotation says it: "[[], [0]] {attn.zigzag}".
std::string describe(const TensorSplit &split);

/// The annotations of one function.
struct Annotations {
  struct Annotation {
    TensorSplit split;
    Location loc;
  };
  RankGrid grid;
  /// Of what has one: arguments and results of ops.
  llvm::MapVector<Value, Annotation> splits;

  bool empty() const { return splits.empty(); }
};

/// Reads the annotations of `func`, for so many ranks in all, 0 if the grid
/// says how many. Errors name what is not covered.
FailureOr<Annotations> readAnnotations(func::FuncOp func, int64_t ranks);

/// Annotates query, key and value of each attention of a function without
/// annotations, on a new grid of one axis for so many ranks: 'batch', 'heads',
/// 'sequence', 'zigzag', 'ring', 'gather', 'ulysses' or 'keys'. With
/// 'sequence', 'ring' and 'gather', the masks say in which order rows are
/// split; with the last two and 'ulysses', keys are exchanged so.
LogicalResult annotate(func::FuncOp func, int64_t ranks, StringRef split);

/// Removes the annotations of a function.
void dropAnnotations(func::FuncOp func);

} // namespace mlir::attn

#endif // ATTN_SHARDING_ANNOTATIONS_H
