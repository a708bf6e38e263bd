//===- Arrangement.cpp - Tensors with other dimensions --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/Arrangement.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

static SmallVector<int64_t> getSizes(const Axes &axes, const AxisLists &dims) {
  return llvm::map_to_vector(
      dims, [&](const AxisList &list) { return axes.getSize(list); });
}

static RankedTensorType getTensorType(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

static Value castTo(OpBuilder &b, Location loc, Value tensor,
                    ArrayRef<int64_t> sizes) {
  return b.createOrFold<tensor::CastOp>(loc, getTensorType(tensor).clone(sizes),
                                        tensor);
}

/// One dimension for each axis.
static AxisLists separate(const AxisLists &dims) {
  AxisLists separate;
  for (const AxisList &list : dims)
    for (Axis axis : list)
      separate.push_back({axis});
  return separate;
}

/// Groups of dimensions of `dims` that are one in `separate(dims)`: each axis,
/// with the dimensions of size 1 before it, the last one with those behind it.
static SmallVector<ReassociationIndices> groupUnits(const AxisLists &dims) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices open;
  for (auto [dim, list] : llvm::enumerate(dims)) {
    open.push_back(int64_t(dim));
    if (!list.empty())
      groups.push_back(std::exchange(open, {}));
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), open);
  return groups;
}

/// Groups of dimensions of `separate(dims)` that are one in `dims`, of which
/// none has size 1.
static SmallVector<ReassociationIndices> groupAxes(const AxisLists &dims) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (const AxisList &list : dims) {
    ReassociationIndices &group = groups.emplace_back();
    for (size_t count = 0; count < list.size(); ++count)
      group.push_back(next++);
  }
  return groups;
}

static AxisLists withoutUnits(const AxisLists &dims) {
  return AxisLists(llvm::make_filter_range(
      dims, [](const AxisList &list) { return !list.empty(); }));
}

static Value expand(OpBuilder &b, Location loc, const Axes &axes, Value tensor,
                    const AxisLists &dims,
                    ArrayRef<ReassociationIndices> groups) {
  SmallVector<OpFoldResult> sizes;
  for (const AxisList &list : dims)
    sizes.push_back(axes.createSize(b, loc, list));
  return tensor::ExpandShapeOp::create(
      b, loc, getTensorType(tensor).clone(decomposeMixedValues(sizes).first),
      tensor, groups, sizes);
}

/// Makes each axis a dimension.
static Value emitSeparate(OpBuilder &b, Location loc, const Axes &axes,
                          Value tensor, const AxisLists &dims) {
  AxisLists joined = withoutUnits(dims);
  if (joined.size() != dims.size())
    tensor = tensor::CollapseShapeOp::create(b, loc, tensor, groupUnits(dims));
  AxisLists each = separate(joined);
  if (each.size() != joined.size())
    tensor = expand(b, loc, axes, tensor, each, groupAxes(joined));
  return tensor;
}

/// The reverse.
static Value emitJoined(OpBuilder &b, Location loc, const Axes &axes,
                        Value tensor, const AxisLists &dims) {
  AxisLists joined = withoutUnits(dims);
  if (separate(joined).size() != joined.size())
    tensor = tensor::CollapseShapeOp::create(b, loc, tensor, groupAxes(joined));
  if (joined.size() != dims.size())
    tensor = expand(b, loc, axes, tensor, dims, groupUnits(dims));
  return tensor;
}

Value attn::arrange(OpBuilder &b, Location loc, const Axes &axes, Value tensor,
                    const AxisLists &from, const AxisLists &to) {
  AxisLists source = axes.resolve(from), target = axes.resolve(to);
  SmallVector<int64_t> sizes = getSizes(axes, source);
  if (source == target) {
    for (auto [size, known] :
         llvm::zip_equal(sizes, getTensorType(tensor).getShape()))
      if (ShapedType::isDynamic(size))
        size = known;
    return castTo(b, loc, tensor, sizes);
  }
  // Reshapes have the sizes that the axes have.
  tensor = castTo(b, loc, tensor, sizes);
  tensor = emitSeparate(b, loc, axes, tensor, source);
  AxisLists order = separate(source), wanted = separate(target);
  if (order != wanted) {
    SmallVector<int64_t> permutation;
    SmallVector<OpFoldResult> sizes;
    for (const AxisList &axis : wanted) {
      permutation.push_back(llvm::find(order, axis) - order.begin());
      sizes.push_back(axes.createSize(b, loc, axis));
    }
    Value into = tensor::EmptyOp::create(
        b, loc, sizes, getTensorType(tensor).getElementType());
    tensor = linalg::TransposeOp::create(b, loc, tensor, into, permutation)
                 ->getResult(0);
  }
  return emitJoined(b, loc, axes, tensor, target);
}
