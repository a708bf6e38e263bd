//===- DimensionClasses.h - Dimensions that are split alike -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_DIMENSIONCLASSES_H
#define ATTN_SHARDING_DIMENSIONCLASSES_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mlir::attn {

/// Dimensions of the tensors of a function, in classes: those that ops make
/// the same, as the heads of queries, of keys and of what is computed of them,
/// and the columns of the weights that they are products with. If one of a
/// class is split among ranks, all are, and none of them is exchanged for it.
class DimensionClasses {
public:
  explicit DimensionClasses(func::FuncOp func);

  /// The class of a dimension; none of what is no ranked tensor, and of a
  /// tensor.empty, which is made anew where it is needed.
  std::optional<unsigned> find(Value value, int64_t dim) const {
    auto found = first.find(value);
    if (found == first.end())
      return std::nullopt;
    return classes[found->second + unsigned(dim)];
  }

  /// What a dimension is made of, one after the other, each of which is split:
  /// the columns of queries, of keys and of values of a fused weight (P2).
  /// Empty if it is one.
  ArrayRef<int64_t> getSegments(Value value, int64_t dim) const {
    auto found = segments.find({value, dim});
    return found == segments.end() ? ArrayRef<int64_t>() : found->second;
  }

  /// Two dimensions that are split along one axis if one of them is, though
  /// their sizes differ: positions of a cache and rows that are read of it,
  /// pages, and the columns of a table of them.
  struct AxisLink {
    Value value;
    int64_t dim;
    Value other;
    int64_t otherDim;
  };
  ArrayRef<AxisLink> getAxisLinks() const { return axisLinks; }

private:
  void link(Operation *op);
  void link(AttentionOp op);
  void link(AttentionBackwardOp op);
  template <typename Op> void linkOperands(Op op);
  void link(ProjectionOp op);
  void link(CacheAppendOp op);
  void link(CacheReadOp op);
  void link(MergeOp op);
  void link(linalg::LinalgOp op);
  void join(Value value, int64_t dim, Value other, int64_t otherDim);
  /// The first dimensions of both, all of them if there are no more.
  void joinFirst(Value value, Value other, int64_t count);
  void joinAll(Value value, Value other);

  DenseMap<Value, unsigned> first;
  llvm::IntEqClasses classes;
  DenseMap<std::pair<Value, int64_t>, SmallVector<int64_t>> segments;
  SmallVector<AxisLink> axisLinks;
};

/// Numbers of the dimensions of a projection's operands.
struct ProjectionDims {
  static bool hasHeads(Value tokens) {
    return cast<ShapedType>(tokens.getType()).getRank() == 4;
  }
  static int64_t rows(Value tokens) { return hasHeads(tokens) ? 2 : 1; }
  static int64_t features(Value tokens) { return hasHeads(tokens) ? 1 : 2; }
  /// Of a weight: what is summed over, and what results have.
  static int64_t weightRows(ProjectionOp op) { return op.hasPanels() ? 1 : 0; }
  static int64_t weightColumns(ProjectionOp op) {
    return op.hasPanels() ? 0 : 1;
  }
};

} // namespace mlir::attn

#endif // ATTN_SHARDING_DIMENSIONCLASSES_H
