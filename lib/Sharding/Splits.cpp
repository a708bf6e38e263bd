//===- Splits.cpp - How the tensors of a function are split ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/Splits.h"

using namespace mlir;
using namespace mlir::attn;

FailureOr<Splits> Splits::solve(func::FuncOp func,
                                const Annotations &annotations) {
  Splits result(func, annotations.grid);
  for (const auto &[value, annotation] : annotations.splits) {
    TensorSplit split = annotation.split;
    for (auto [dim, axis] : llvm::enumerate(split.axes)) {
      if (axis == kWhole)
        continue;
      std::optional<unsigned> number = result.classes.find(value, int64_t(dim));
      if (!number)
        return emitError(annotation.loc,
                         "attn-shard covers annotations of arguments and of "
                         "results of operations, but those of tensor.empty");
      // Where another annotation says otherwise, what follows finds it.
      result.ofClass.try_emplace(
          *number, ClassSplit{axis, split.isZigzag && dim == split.inPieces});
    }
  }
  result.followAxisLinks();
  for (const auto &[value, annotation] : annotations.splits)
    if (TensorSplit split = result.get(value); !split.isLike(annotation.split))
      return emitError(annotation.loc, "expected split_axes ")
             << describe(split)
             << ", which what it is computed of or with has, got "
             << describe(annotation.split);
  return result;
}

void Splits::followAxisLinks() {
  // Where both are split, along different axes, what follows finds it.
  auto follow = [&](Value from, int64_t fromDim, Value to, int64_t toDim) {
    int64_t axis = getAxis(from, fromDim);
    std::optional<unsigned> number = classes.find(to, toDim);
    if (axis == kWhole || !number || getAxis(to, toDim) != kWhole)
      return false;
    ofClass[*number].axis = axis;
    return true;
  };
  bool isNew = true;
  while (isNew) {
    isNew = false;
    for (const auto &[value, dim, other, otherDim] : classes.getAxisLinks())
      isNew |= follow(value, dim, other, otherDim) ||
               follow(other, otherDim, value, dim);
  }
}

Splits::ClassSplit Splits::getClassSplit(Value value, int64_t dim) const {
  std::optional<unsigned> number = classes.find(value, dim);
  return number ? ofClass.lookup(*number) : ClassSplit();
}

int64_t Splits::getAxis(Value value, int64_t dim) const {
  return getClassSplit(value, dim).axis;
}

bool Splits::isZigzag(Value value, int64_t dim) const {
  return getClassSplit(value, dim).isZigzag;
}

TensorSplit Splits::get(Value value) const {
  TensorSplit result;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return result;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    ClassSplit split = getClassSplit(value, dim);
    result.axes.push_back(split.axis);
    if (split.axis == kWhole)
      continue;
    ArrayRef<int64_t> segments = classes.getSegments(value, dim);
    if (split.isZigzag || !segments.empty())
      result.inPieces = unsigned(dim);
    result.isZigzag |= split.isZigzag;
    result.segments.append(segments.begin(), segments.end());
  }
  return result;
}

bool Splits::isSplit(Operation *op) const {
  auto isOne = [&](Value value) { return isSplit(value); };
  return llvm::any_of(op->getOperands(), isOne) ||
         llvm::any_of(op->getResults(), isOne);
}

RankedTensorType Splits::getLocalType(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  auto shape = llvm::to_vector(type.getShape());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!ShapedType::isDynamic(size))
      size /= getNumRanks(getAxis(value, int64_t(dim)));
  return type.clone(shape);
}
