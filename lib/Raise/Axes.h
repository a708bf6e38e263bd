//===- Axes.h - What dimensions are made of ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reshapes join dimensions and split them again: a batch and its heads are one
// dimension of a product of matrices and two of the mask that is added to it.
// An axis is what no reshape that was met has split: dimensions are lists of
// axes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_AXES_H
#define ATTN_RAISE_AXES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace mlir::attn {

using Axis = unsigned;

/// The axes that a dimension runs over, the outermost first. None are of a
/// dimension of size 1.
using AxisList = SmallVector<Axis, 2>;

/// The axes of each dimension of a tensor, or of each loop of an operation.
using AxisLists = SmallVector<AxisList, 4>;

/// The axes of one computation, and what they were split into.
class Axes {
public:
  /// A new axis for a dimension of a tensor, or none if its size is 1.
  AxisList add(RankedTensorType type, int64_t dim);

  /// The axes that they were split into, as far as that is known now.
  AxisList resolve(const AxisList &list) const;
  AxisLists resolve(const AxisLists &lists) const;
  bool isEqual(const AxisList &a, const AxisList &b) const;
  bool isEqual(const AxisLists &a, const AxisLists &b) const;

  /// The axes of each of the dimensions `dims` of a type, which together run
  /// over `list`; nothing if that does not follow from sizes in types.
  std::optional<AxisLists> split(const AxisList &list, RankedTensorType type,
                                 ArrayRef<int64_t> dims);

  /// The number of indices, or ShapedType::kDynamic.
  int64_t getSize(const AxisList &list) const;

  /// Takes sizes that are not known while compiling from those of a tensor, of
  /// which the axes are given.
  void measure(Value tensor, const AxisLists &dims);
  /// Whether there is a tensor to take every size from.
  bool isMeasured(const AxisList &list) const;
  /// The number of indices of axes that are measured.
  OpFoldResult createSize(OpBuilder &builder, Location loc,
                          const AxisList &list) const;

private:
  struct Info {
    int64_t size;
    AxisList parts = {}; ///< What it was split into, if it was.
    /// A dynamic size is that of a dimension, divided by what else it runs
    /// over.
    Value tensor = {};
    int64_t dim = 0, divisor = 1;
  };

  /// Takes as many axes from one end of a list as run over `size` indices.
  bool take(AxisList &from, int64_t size, bool isInner, AxisList &taken);
  bool splitAxis(Axis axis, int64_t size, bool isInner);

  SmallVector<Info> axes;
};

} // namespace mlir::attn

#endif // ATTN_RAISE_AXES_H
