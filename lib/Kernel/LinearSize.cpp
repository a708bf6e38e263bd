//===- LinearSize.cpp - Sizes as sums over arguments ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/LinearSize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// `sum += value * factor`. False if that does not fit.
static bool multiplyAdd(int64_t &sum, int64_t value, int64_t factor) {
  int64_t product;
  return !llvm::MulOverflow(value, factor, product) &&
         !llvm::AddOverflow(sum, product, sum);
}

bool LinearSize::add(const LinearSize &other, int64_t factor) {
  if (!multiplyAdd(constant, other.constant, factor))
    return false;
  for (auto [variable, coefficient] : other.coefficients) {
    auto entry = coefficients.try_emplace(variable, 0).first;
    if (!multiplyAdd(entry->second, coefficient, factor))
      return false;
    if (entry->second == 0)
      coefficients.erase(entry);
  }
  return true;
}

/// Adds `factor * expr` to `sum`, where `operands` are the sizes that its
/// dimensions, then its symbols stand for. False if the result is no sum.
static bool addExpr(LinearSize &sum, AffineExpr expr, unsigned numDims,
                    ArrayRef<LinearSize> operands, int64_t factor) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sum.add(operands[dim.getPosition()], factor);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sum.add(operands[numDims + symbol.getPosition()], factor);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return multiplyAdd(sum.constant, constant.getValue(), factor);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Add)
    return addExpr(sum, binary.getLHS(), numDims, operands, factor) &&
           addExpr(sum, binary.getRHS(), numDims, operands, factor);
  // Constants are on the right in what AffineExpr builds.
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && constant &&
         !llvm::MulOverflow(constant.getValue(), factor, factor) &&
         addExpr(sum, binary.getLHS(), numDims, operands, factor);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isFunctionArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->isEntryBlock() &&
         isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

/// The function argument that `value` is, or is the index of; null if it is
/// neither. Value bounds stop at integers, so the cast is looked through here.
static BlockArgument getArgument(Value value) {
  if (isFunctionArgument(value))
    return cast<BlockArgument>(value);
  Operation *cast = value.getDefiningOp();
  // The one bit of an i1 is its sign.
  if (isa_and_nonnull<arith::IndexCastOp, index::CastSOp>(cast) &&
      value.getType().isIndex() &&
      !cast->getOperand(0).getType().isSignlessInteger(1) &&
      isFunctionArgument(cast->getOperand(0)))
    return llvm::cast<BlockArgument>(cast->getOperand(0));
  return nullptr;
}

bool LinearSizes::isKnown(Value value, std::optional<int64_t> dim) const {
  return getArgument(value) || known.contains({value, dim.value_or(-1)});
}

std::optional<LinearSize>
LinearSizes::computeFromOperands(const ValueDim &valueDim) {
  AffineMap map;
  ValueDimList operands;
  if (failed(ValueBoundsConstraintSet::computeBound(
          map, operands, presburger::BoundType::EQ,
          ValueBoundsConstraintSet::Variable(valueDim.first, valueDim.second),
          [&](Value value, std::optional<int64_t> dim,
              ValueBoundsConstraintSet &) { return isKnown(value, dim); })))
    return std::nullopt;
  SmallVector<LinearSize> sizes;
  for (const ValueDim &operand : operands) {
    std::optional<LinearSize> size = compute(operand);
    if (!size)
      return std::nullopt;
    sizes.push_back(std::move(*size));
  }
  LinearSize result;
  if (!addExpr(result, map.getResult(0), map.getNumDims(), sizes, 1))
    return std::nullopt;
  return result;
}

std::optional<LinearSize> LinearSizes::compute(const ValueDim &valueDim) {
  auto [value, dim] = valueDim;
  if (dim)
    if (auto type = cast<RankedTensorType>(value.getType());
        !type.isDynamicDim(*dim))
      return LinearSize{type.getDimSize(*dim), {}};
  if (BlockArgument argument = getArgument(value))
    return LinearSize{0, {{{argument.getArgNumber(), dim}, 1}}};
  std::pair<Value, int64_t> key(value, dim.value_or(-1));
  if (auto entry = known.find(key); entry != known.end())
    return entry->second;
  std::optional<LinearSize> result = computeFromOperands(valueDim);
  return known.try_emplace(key, std::move(result)).first->second;
}

LinearSizes::LinearSizes(func::FuncOp func) {
  // In order, so that operands are known when their users are looked at.
  for (Block &block : func.getBody())
    for (Operation &op : block)
      for (Value result : op.getResults()) {
        if (result.getType().isIndex())
          compute({result, std::nullopt});
        else if (auto type = dyn_cast<RankedTensorType>(result.getType()))
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            compute({result, dim});
      }
}
