//===- LocalSizes.h - Which parts ranks have --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_LOCALSIZES_H
#define ATTN_SHARDING_LOCALSIZES_H

#include "lib/Sharding/Extents.h"
#include "lib/Sharding/Splits.h"

namespace mlir::attn {

/// Which part of each dimension of a function's tensors a rank has. Dynamic
/// sizes may be any on each rank, and are exchanged where the function begins.
class LocalSizes {
public:
  /// Reads the sizes of the whole, which tensors still have.
  LocalSizes(func::FuncOp func, const Splits &splits);

  /// Emits what exchanges sizes, where `b` is. Tensors have those of the rank.
  void emitExchange(IndexBuilder &b);

  /// Goes to where sizes and `values` are known, of the function's one block.
  void goAfter(IndexBuilder &b, ArrayRef<Value> values);

  /// Of any dimension of a value.
  Extent get(IndexBuilder &b, Value value, int64_t dim);
  /// How much of it this rank has.
  OpFoldResult getCount(IndexBuilder &b, Value value, int64_t dim);
  /// What of the whole element `i` of a dimension is.
  Value getIndexOfWhole(IndexBuilder &b, Value value, int64_t dim, Value i);

private:
  /// A dimension of an argument.
  struct Source {
    BlockArgument argument;
    int64_t dim;
  };
  /// Whether sizes are, along an axis: those that are split, and where keys
  /// are, all that have to fit together.
  bool isExchanged(int64_t axis) const;
  void emitExchange(IndexBuilder &b, int64_t axis);
  Value getSelf(IndexBuilder &b, int64_t axis);

  func::FuncOp func;
  const Splits &splits;
  DenseMap<Value, RankedTensorType> wholeTypes;
  /// Dynamic dimensions of arguments that matter to ranks, one of each class,
  /// which others are compared with.
  SmallVector<Source> sources;
  SmallVector<std::pair<Source, Source>> others;
  /// Axes along which keys are split.
  SmallVector<int64_t> keyAxes;
  DenseMap<unsigned, Extent> ofClass;
  DenseMap<unsigned, Source> sourceOfClass;
  DenseMap<int64_t, Value> selves;
  /// The last op that exchanges sizes; null if none does.
  Operation *last = nullptr;
};

} // namespace mlir::attn

#endif // ATTN_SHARDING_LOCALSIZES_H
