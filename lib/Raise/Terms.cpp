//===- Terms.cpp - What an element of a tensor is computed from -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/Terms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace mlir::attn;

/// The loop that an expression of a simple map is, or nothing if it is 0.
static std::optional<unsigned> getLoop(AffineExpr expression) {
  if (auto loop = dyn_cast<AffineDimExpr>(expression))
    return loop.getPosition();
  return std::nullopt;
}

static bool isSimple(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (AffineExpr expression : map.getResults()) {
    if (std::optional<unsigned> loop = getLoop(expression)) {
      if (seen.test(*loop))
        return false;
      seen.set(*loop);
      continue;
    }
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    if (!constant || constant.getValue() != 0)
      return false;
  }
  return true;
}

bool attn::hasSimpleMaps(linalg::LinalgOp op) {
  return llvm::all_of(op->getOperandTypes(),
                      [](Type type) {
                        return isa<RankedTensorType>(type) ||
                               type.isIntOrIndexOrFloat();
                      }) &&
         llvm::all_of(op.getIndexingMapsArray(), isSimple);
}

bool attn::isElementwise(Operation *op) {
  auto linalgOp = dyn_cast_if_present<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() &&
         linalgOp.getNumParallelLoops() == linalgOp.getNumLoops() &&
         hasSimpleMaps(linalgOp);
}

const Frame *Terms::getFrame(linalg::LinalgOp op, AxisLists loops) {
  SmallVector<const Frame *, 1> &known = framesOf[op.getOperation()];
  for (const Frame *frame : known)
    if (axes.isEqual(frame->loops, loops))
      return frame;
  frames.push_back({op, std::move(loops)});
  known.push_back(&frames.back());
  return known.back();
}

const Frame *Terms::getFrame(OpResult result, const AxisLists &dims,
                             const AxisList &reduced) {
  auto op = cast<linalg::LinalgOp>(result.getOwner());
  AffineMap map = op.getIndexingMapMatchingResult(result);
  SmallVector<std::optional<AxisList>> loops(op.getNumLoops());
  for (auto [expression, dim] : llvm::zip_equal(map.getResults(), dims))
    if (std::optional<unsigned> loop = getLoop(expression))
      loops[*loop] = dim;
  unsigned unknown = llvm::count(loops, std::nullopt);
  if (unknown > 1 || unknown != op.getNumReductionLoops())
    return nullptr;
  return getFrame(op, llvm::map_to_vector<4>(loops, [&](const auto &loop) {
                    return loop ? *loop : reduced;
                  }));
}

Term Terms::getElement(const Frame *frame, OpOperand &operand) {
  if (!isa<TensorType>(operand.get().getType()))
    return {operand.get()};
  linalg::LinalgOp op = frame->op;
  Term element = {operand.get()};
  for (AffineExpr expression : op.getMatchingIndexingMap(&operand).getResults())
    if (std::optional<unsigned> loop = getLoop(expression))
      element.dims.push_back(frame->loops[*loop]);
    else
      element.dims.emplace_back();
  return element;
}

/// The axes of what a reshape was made of, of which those of its result are
/// given.
static std::optional<AxisLists> getSourceDims(Axes &axes, Operation *op,
                                              const AxisLists &dims) {
  AxisLists source;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      AxisList &joined = source.emplace_back();
      for (int64_t dim : group)
        llvm::append_range(joined, dims[dim]);
    }
    return source;
  }
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  if (groups.empty()) // A scalar, of dimensions of size 1.
    return AxisLists(collapse.getSrcType().getRank());
  for (auto [group, dim] : llvm::zip_equal(groups, dims)) {
    std::optional<AxisLists> parts =
        axes.split(dim, collapse.getSrcType(), group);
    if (!parts)
      return std::nullopt;
    llvm::append_range(source, *parts);
  }
  return source;
}

bool Terms::step(Term &term) {
  if (!term.isElement()) {
    if (!term.frame)
      return false;
    linalg::LinalgOp op = term.frame->op;
    if (term.value.getParentBlock() != op.getBlock()) {
      term.frame = nullptr; // It comes from outside.
      return true;
    }
    auto argument = dyn_cast<BlockArgument>(term.value);
    if (!argument)
      return false;
    term = getElement(term.frame, *op.getMatchingOpOperand(argument));
    return true;
  }
  Operation *op = term.value.getDefiningOp();
  if (auto castOp = dyn_cast_if_present<tensor::CastOp>(op)) {
    if (!isa<RankedTensorType>(castOp.getSource().getType()))
      return false;
    term.value = castOp.getSource();
  } else if (auto splat = dyn_cast_if_present<tensor::SplatOp>(op)) {
    term = {splat.getInput()};
  } else if (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                 op)) {
    std::optional<AxisLists> dims = getSourceDims(axes, op, term.dims);
    if (!dims)
      return false;
    term = {op->getOperand(0), std::move(*dims)};
  } else if (isElementwise(op)) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    auto result = cast<OpResult>(term.value);
    Value yielded = linalgOp.getBlock()->getTerminator()->getOperand(
        result.getResultNumber());
    Operation *computed = yielded.getDefiningOp();
    if (computed && computed->getBlock() == linalgOp.getBlock())
      return false;
    const Frame *frame = getFrame(result, term.dims);
    if (!frame)
      return false;
    term = {yielded, {}, frame};
  } else {
    return false;
  }
  visit(op);
  return true;
}

bool Terms::stepToElement(Term &term) {
  do
    if (!step(term))
      return false;
  while (!term.isElement());
  return true;
}

Term Terms::view(Term term) {
  while (step(term)) {
  }
  return term;
}

Term Terms::enter(Term term) {
  term = view(term);
  if (!term.isElement() || !isElementwise(term.value.getDefiningOp()))
    return term;
  auto result = cast<OpResult>(term.value);
  auto op = cast<linalg::LinalgOp>(result.getOwner());
  const Frame *frame = getFrame(result, term.dims);
  if (!frame)
    return term;
  visit(op);
  return {op.getBlock()->getTerminator()->getOperand(result.getResultNumber()),
          {},
          frame};
}

Term Terms::enterCasts(Term term) {
  term = enter(term);
  while (isa_and_present<arith::ExtFOp, arith::TruncFOp>(term.getScalarOp()))
    term = enter(term.getOperand(0));
  return term;
}

bool Terms::isEqual(Term a, Term b) {
  // Operands that stand twice in every operation would be compared without end.
  unsigned budget = 1024;
  return isEqual(std::move(a), std::move(b), /*depth=*/64, budget);
}

bool Terms::isEqual(Term a, Term b, unsigned depth, unsigned &budget) {
  if (depth == 0 || budget == 0)
    return false;
  --budget;
  auto isSame = [&] {
    return a.value == b.value && a.isElement() == b.isElement() &&
           (a.isElement() ? axes.isEqual(a.dims, b.dims)
                          : a.frame == b.frame ||
                                (a.frame && b.frame &&
                                 axes.isEqual(a.frame->loops, b.frame->loops)));
  };
  a = view(a), b = view(b);
  if (isSame())
    return true;
  a = enter(a), b = enter(b);
  if (isSame())
    return true;
  Operation *x = a.getScalarOp(), *y = b.getScalarOp();
  if (!x || !y || x->getName() != y->getName() || x->getNumRegions() != 0 ||
      x->getNumResults() != 1 || !isMemoryEffectFree(x) ||
      x->getResultTypes() != y->getResultTypes() ||
      x->getNumOperands() != y->getNumOperands())
    return false;
  if (auto index = dyn_cast<linalg::IndexOp>(x))
    return axes.isEqual(a.frame->loops[index.getDim()],
                        b.frame->loops[cast<linalg::IndexOp>(y).getDim()]);
  if (x->getAttrDictionary() != y->getAttrDictionary())
    return false;
  for (unsigned number = 0; number < x->getNumOperands(); ++number) {
    Term operandOfA = a.getOperand(number), operandOfB = b.getOperand(number);
    if (operandOfA.isElement() // A tensor as a whole, as of tensor.dim.
            ? operandOfA.value != operandOfB.value
            : !isEqual(operandOfA, operandOfB, depth - 1, budget))
      return false;
  }
  return true;
}

TypedAttr Terms::getConstant(Term term) {
  return getConstant(std::move(term), /*depth=*/8);
}

/// What an operation of constants gives, or null. Folding may change the
/// operation, or return what defines an operand: a copy is folded, of which
/// nothing but the constants is known.
static Attribute fold(Operation *op, ArrayRef<Attribute> operands) {
  Block block;
  for (Value operand : op->getOperands())
    block.addArgument(operand.getType(), operand.getLoc());
  Operation *copy = op->clone();
  copy->setOperands(block.getArguments());
  SmallVector<OpFoldResult> folded;
  Attribute result;
  if (succeeded(copy->fold(operands, folded)) && folded.size() == 1) {
    result = dyn_cast<Attribute>(folded.front());
    if (auto operand =
            dyn_cast_if_present<BlockArgument>(dyn_cast<Value>(folded.front())))
      result = operands[operand.getArgNumber()];
  }
  copy->destroy();
  return result;
}

/// Also of what is computed from constants alone, as the root of a head size.
TypedAttr Terms::getConstant(Term term, unsigned depth) {
  term = enter(term);
  TypedAttr constant;
  if (!term.isElement()) {
    if (matchPattern(term.value, m_Constant(&constant)))
      return constant;
    Operation *op = term.getScalarOp();
    if (depth == 0 || !op || op->getNumResults() != 1 ||
        op->getNumOperands() == 0 || op->getNumRegions() != 0 ||
        !isMemoryEffectFree(op))
      return nullptr;
    SmallVector<Attribute> operands;
    for (unsigned number = 0; number < op->getNumOperands(); ++number) {
      Term operand = term.getOperand(number);
      operands.push_back(operand.isElement() ? nullptr
                                             : getConstant(operand, depth - 1));
      if (!operands.back())
        return nullptr;
    }
    // Upstream folds no reciprocal root, and no root of f16 or bf16.
    if (auto number = dyn_cast<FloatAttr>(operands.front());
        number && isa<math::SqrtOp, math::RsqrtOp>(op)) {
      double root = std::sqrt(number.getValueAsDouble());
      return FloatAttr::get(number.getType(),
                            isa<math::SqrtOp>(op) ? root : 1 / root);
    }
    return dyn_cast_if_present<TypedAttr>(fold(op, operands));
  }
  DenseElementsAttr elements;
  if (!matchPattern(term.value, m_Constant(&elements)) || !elements.isSplat())
    return nullptr;
  return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

std::optional<llvm::APFloat> Terms::getFloat(Term term) {
  if (auto constant = dyn_cast_if_present<FloatAttr>(
          getConstant(enterCasts(std::move(term)))))
    return constant.getValue();
  return std::nullopt;
}

std::optional<std::pair<Term, double>> Terms::getMultiple(const Term &term) {
  Operation *op = term.getScalarOp();
  if (!isa_and_present<arith::MulFOp, arith::DivFOp>(op))
    return std::nullopt;
  bool isDivision = isa<arith::DivFOp>(op);
  for (unsigned number : {1, 0}) {
    std::optional<llvm::APFloat> constant = getFloat(term.getOperand(number));
    if (!constant || !constant->isFiniteNonZero())
      continue;
    if (isDivision && number == 0)
      break;
    bool losesInfo = false;
    constant->convert(llvm::APFloat::IEEEdouble(),
                      llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    double factor = constant->convertToDouble();
    return std::pair(term.getOperand(1 - number),
                     isDivision ? 1 / factor : factor);
  }
  return std::nullopt;
}
