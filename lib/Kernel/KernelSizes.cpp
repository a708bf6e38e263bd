//===- KernelSizes.cpp - Which sizes a kernel's callers provide -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KernelSizes.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

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

//===----------------------------------------------------------------------===//
// Results and constraints
//===----------------------------------------------------------------------===//

/// Sizes of the operand of `op` that gives result `index`.
static FailureOr<std::vector<LinearSize>>
computeResultSizes(func::ReturnOp op, unsigned index, LinearSizes &sizes) {
  std::vector<LinearSize> result;
  Value value = op.getOperand(index);
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    std::optional<LinearSize> size = sizes.get(value, dim);
    if (!size)
      return emitError(value.getLoc())
             << "size of dimension " << dim << " of result " << index
             << " does not follow from the arguments; it must be a sum of "
                "their sizes and integers, so that a caller can provide the "
                "result";
    result.push_back(std::move(*size));
  }
  return result;
}

/// The same for all returns, which must agree.
static FailureOr<std::vector<LinearSize>>
computeResultSizes(ArrayRef<func::ReturnOp> returns, unsigned index,
                   LinearSizes &sizes) {
  FailureOr<std::vector<LinearSize>> result =
      computeResultSizes(returns.front(), index, sizes);
  if (failed(result))
    return failure();
  for (func::ReturnOp other : returns.drop_front()) {
    FailureOr<std::vector<LinearSize>> otherSizes =
        computeResultSizes(other, index, sizes);
    if (failed(otherSizes))
      return failure();
    if (*otherSizes != *result)
      return other.emitError("result ")
             << index
             << " has another size here than where the function returns "
                "elsewhere";
  }
  return result;
}

namespace {
/// Collects what operations demand of sizes, where it can be said in terms of
/// the arguments. The kernel checks the rest when it runs.
class ConstraintCollector {
public:
  ConstraintCollector(LinearSizes &sizes,
                      std::vector<KernelSizes::Constraint> &constraints)
      : sizes(sizes), constraints(constraints) {}

  template <typename Op> void visit(Op op) {
    for (const SizeConstraint &constraint : op.getSizeConstraints()) {
      std::optional<LinearSize> expected = LinearSize();
      if (const OperandSize &reference = constraint.reference;
          reference.operand)
        expected = sizes.get(reference.operand, reference.dimension);
      if (expected)
        expected->constant += constraint.delta;
      add(sizes.get(constraint.size.operand, constraint.size.dimension),
          expected, constraint.meaning + " of " + op->getName().getStringRef());
    }
  }

  /// Two sizes that the program says are equal.
  void visit(cf::AssertOp op) {
    auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
    if (compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
        compare.getLhs().getType().isIndex())
      add(sizes.get(compare.getLhs()), sizes.get(compare.getRhs()),
          op.getMsg());
  }

  /// Dimensions of operands that one loop runs over have one size.
  void visit(linalg::LinalgOp op) {
    SmallVector<std::optional<LinearSize>> loops(op.getNumLoops());
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        if (!loop)
          continue;
        std::optional<LinearSize> size = sizes.get(operand.get(), dim);
        std::optional<LinearSize> &first = loops[loop.getPosition()];
        if (!first)
          first = size;
        else
          add(size, first,
              "a size that operands of " + op->getName().getStringRef() +
                  " share");
      }
    }
  }

private:
  void add(const std::optional<LinearSize> &lhs,
           const std::optional<LinearSize> &rhs, const Twine &text) {
    if (!lhs || !rhs || *lhs == *rhs)
      return;
    // One operation's demand is enough to say.
    if (llvm::none_of(constraints, [&](const KernelSizes::Constraint &other) {
          return other.lhs == *lhs && other.rhs == *rhs;
        }))
      constraints.push_back({*lhs, *rhs, text.str()});
  }

  LinearSizes &sizes;
  std::vector<KernelSizes::Constraint> &constraints;
};
} // namespace

FailureOr<KernelSizes> attn::computeKernelSizes(func::FuncOp entry) {
  KernelSizes result;
  LinearSizes sizes(entry);
  auto returns = llvm::to_vector(entry.getOps<func::ReturnOp>());
  if (returns.empty())
    return entry.emitError("function never returns");
  for (unsigned index = 0; index < entry.getNumResults(); ++index) {
    FailureOr<std::vector<LinearSize>> resultSizes =
        computeResultSizes(returns, index, sizes);
    if (failed(resultSizes))
      return failure();
    result.results.push_back(std::move(*resultSizes));
  }

  // Only what every call reaches: other blocks and regions may not run.
  ConstraintCollector collector(sizes, result.constraints);
  for (Operation &op : entry.front())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<cf::AssertOp, AttentionBackwardOp, AttentionOp,
              AttentionTangentOp, CacheAppendOp, CacheReadOp, DropoutOp,
              HeadNormOp, MergeOp, MultiTokenAttentionBackwardOp,
              MultiTokenAttentionOp, ProjectionOp, RopeOp, linalg::LinalgOp>(
            [&](auto op) { collector.visit(op); });
  return result;
}
