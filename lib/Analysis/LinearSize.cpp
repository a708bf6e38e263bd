//===- LinearSize.cpp - Sizes as sums over arguments ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/LinearSize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using ::attn::SizeExpr;

static bool isFunctionArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->isEntryBlock() &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

/// The function argument that `value` is, or is the index of; null if it is
/// neither. Value bounds stop at integers, so the cast is looked through here.
static BlockArgument getArgument(Value value) {
  if (isFunctionArgument(value))
    return cast<BlockArgument>(value);
  Operation *cast = value.getDefiningOp();
  // The one bit of an i1 is its sign.
  if (cast && isa<arith::IndexCastOp, index::CastSOp>(cast) &&
      value.getType().isIndex() &&
      !cast->getOperand(0).getType().isSignlessInteger(1) &&
      isFunctionArgument(cast->getOperand(0)))
    return llvm::cast<BlockArgument>(cast->getOperand(0));
  return nullptr;
}

/// A size that is already an argument's, or a constant.
static std::optional<SizeExpr> getDirectSize(Value value, int64_t dim) {
  if (auto type = cast<RankedTensorType>(value.getType());
      !type.isDynamicDim(dim))
    return SizeExpr{type.getDimSize(dim), {}};
  if (isFunctionArgument(value))
    return SizeExpr{
        0, {{1, int(cast<BlockArgument>(value).getArgNumber()), int(dim)}}};
  return std::nullopt;
}

/// Adds `factor * term` to `sum`. False if a coefficient does not fit.
static bool addTerm(SizeExpr &sum, SizeExpr::Term term, int64_t factor) {
  if (llvm::MulOverflow(term.coefficient, factor, term.coefficient))
    return false;
  for (SizeExpr::Term &other : sum.terms)
    if (other.argument == term.argument && other.dimension == term.dimension)
      return !llvm::AddOverflow(other.coefficient, term.coefficient,
                                other.coefficient);
  sum.terms.push_back(term);
  return true;
}

/// Adds `factor * expr` to `sum`. False if it is not a sum over `operands`.
static bool addExpr(SizeExpr &sum, AffineExpr expr, unsigned numDims,
                    ArrayRef<SizeExpr::Term> operands, int64_t factor) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return addTerm(sum, operands[dim.getPosition()], factor);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return addTerm(sum, operands[numDims + symbol.getPosition()], factor);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    int64_t value;
    return !llvm::MulOverflow(constant.getValue(), factor, value) &&
           !llvm::AddOverflow(sum.constant, value, sum.constant);
  }
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

std::optional<SizeExpr> mlir::attn::computeLinearSize(Value value, int64_t dim) {
  if (std::optional<SizeExpr> direct = getDirectSize(value, dim))
    return direct;

  AffineMap map;
  ValueDimList operands;
  if (failed(ValueBoundsConstraintSet::computeBound(
          map, operands, presburger::BoundType::EQ,
          ValueBoundsConstraintSet::Variable(value, dim),
          [](Value value, std::optional<int64_t>, ValueBoundsConstraintSet &) {
            return getArgument(value) != nullptr;
          })))
    return std::nullopt;

  SmallVector<SizeExpr::Term> terms;
  for (auto [operand, operandDim] : operands)
    terms.push_back({1, int(getArgument(operand).getArgNumber()),
                     int(operandDim.value_or(-1))});
  SizeExpr result;
  if (!addExpr(result, map.getResult(0), map.getNumDims(), terms, 1))
    return std::nullopt;

  // One form for each sum, so that equal sums compare equal.
  llvm::erase_if(result.terms, [](const SizeExpr::Term &term) {
    return term.coefficient == 0;
  });
  llvm::sort(result.terms,
             [](const SizeExpr::Term &a, const SizeExpr::Term &b) {
               return std::tie(a.argument, a.dimension) <
                      std::tie(b.argument, b.dimension);
             });
  return result;
}
