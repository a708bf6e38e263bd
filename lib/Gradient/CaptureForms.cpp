//===- CaptureForms.cpp - Where scores load from --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/CaptureSums.h"
#include "lib/Regions/RegionDependence.h"

using namespace mlir;
using namespace mlir::attn;

/// Groups of keys that a tile has sums for at most: as many as a block has
/// keys, about.
static constexpr int64_t kMostGroups = 64;

bool attn::dependsOn(Value value, ArrayRef<Value> arguments) {
  if (llvm::is_contained(arguments, value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, arguments);
         });
}

/// By how much an integer grows with `argument`, if by the same everywhere.
static std::optional<int64_t> getSlope(Value value, Value argument) {
  if (value == argument)
    return 1;
  if (!dependsOn(value, {argument}))
    return 0;
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned number) {
    return getSlope(op->getOperand(number), argument);
  };
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return of(0);
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    if (std::optional<int64_t> x = of(0), y = of(1); x && y)
      return isa<arith::AddIOp>(op) ? *x + *y : *x - *y;
  return std::nullopt;
}

/// The indices that the key decides, where each is decided by the query or by
/// the key alone, and the latter are of few.
static std::optional<SmallVector<size_t>>
findGroups(ArrayRef<Value> indices, ShapedType type, Value p, Value j) {
  SmallVector<size_t> ofKeys;
  int64_t groups = 1;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (!dependsOn(index, {j}))
      continue;
    int64_t size = type.getDimSize(unsigned(dim));
    if (dependsOn(index, {p}) || ShapedType::isDynamic(size) ||
        size > kMostGroups / std::max<int64_t>(groups, 1))
      return std::nullopt;
    groups *= size;
    ofKeys.push_back(dim);
  }
  return ofKeys;
}

void attn::findForm(Region &score, ArrayRef<Value> indices, ShapedType type,
                    CaptureVariable &variable) {
  using Form = CaptureVariable::Form;
  RegionDependence dependence(score, /*isScore=*/true);
  Value p = dependence.getArguments().position,
        j = dependence.getArguments().key;
  auto depends = [](Value argument) {
    return [=](Value index) { return dependsOn(index, {argument}); };
  };
  auto isOfDistance = [&](Value index) {
    return !dependsOn(index, {p, j}) || dependence.onDistance(index);
  };
  if (llvm::none_of(indices, depends(p)) &&
      llvm::none_of(indices, depends(j))) {
    variable.form = Form::Uniform;
    return;
  }
  if (llvm::all_of(indices, isOfDistance)) {
    variable.form = Form::Distances;
    return;
  }
  ArrayRef<Value> others = indices.drop_back();
  if (llvm::none_of(others, depends(j)) && getSlope(indices.back(), j) == 1) {
    variable.form = Form::Keys;
    return;
  }
  if (std::optional<SmallVector<size_t>> ofKeys =
          findGroups(indices, type, p, j)) {
    variable.form = Form::Groups;
    variable.ofKeys = *ofKeys;
    return;
  }
  bool areLines =
      llvm::none_of(others, depends(p)) && getSlope(indices.back(), p) == 1;
  variable.form = areLines ? Form::Queries : Form::Scattered;
}
