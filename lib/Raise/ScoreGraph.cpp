//===- ScoreGraph.cpp - What scores are computed from ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/ScoreGraph.h"

#include "dialect/Attention/RegionVerifier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

bool attn::isRegionOp(Operation *op) {
  // The bits of a float depend on its type, which a region may widen.
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::BitcastOp>(op) && op->getNumRegions() == 0 &&
         op->getNumResults() == 1 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResultTypes(), isSupportedScalar) &&
         llvm::all_of(op->getOperandTypes(), isSupportedScalar);
}

bool ScoreGraph::isProduct(const Term &term) {
  return term.value == product.value && term.frame == product.frame &&
         terms.axes.isEqual(term.dims, product.dims);
}

ScoreGraph::Facts ScoreGraph::getFactsOfElement(const Term &element) {
  auto type = dyn_cast<RankedTensorType>(element.value.getType());
  bool isCapture = type && getPlainShapedType(type) &&
                   isSupportedScalar(type.getElementType());
  Facts captured = {.tensor = true, .opaque = !isCapture};
  Term scalar = terms.enter(element);
  if (scalar.isElement())
    return captured;
  Facts facts = getFacts(scalar);
  // What cannot be computed in a region is captured as it is.
  return facts.opaque && !facts.product ? captured : facts;
}

ScoreGraph::Facts ScoreGraph::getFacts(Term term) {
  term = terms.view(term);
  if (isProduct(term))
    return {.product = true};
  if (terms.getConstant(term))
    return {};
  if (term.isElement())
    return getFactsOfElement(term);
  if (!term.frame) // A scalar that can be captured.
    return {.opaque = !isSupportedScalar(term.value.getType())};
  Scalar scalar(term.value, term.frame);
  if (auto known = facts.find(scalar); known != facts.end())
    return known->second;
  if (isTooLarge())
    return {.opaque = true};
  facts[scalar] = {}; // Counted before what it is computed from.
  Facts found = findFacts(term);
  facts[scalar] = found;
  return found;
}

ScoreGraph::Facts ScoreGraph::findFacts(const Term &scalar) {
  Operation *op = scalar.getScalarOp();
  if (isa<linalg::IndexOp>(op))
    return {};
  Facts all = {.opaque = !isRegionOp(op)};
  for (unsigned number = 0; number < op->getNumOperands(); ++number) {
    Term operand = scalar.getOperand(number);
    if (operand.isElement()) // A tensor as a whole, of an operation in a body.
      continue;
    Facts one = getFacts(operand);
    all.product |= one.product;
    all.tensor |= one.tensor;
    all.opaque |= one.opaque;
    if (!one.product)
      continue;
    Term read = terms.view(operand);
    if (!isProduct(read))
      read = terms.enter(read);
    SmallVector<Term, 1> &known = readers[{read.value, read.frame}];
    if (known.empty() || known.back().value != scalar.value ||
        known.back().frame != scalar.frame)
      known.push_back(scalar);
  }
  return all;
}

/// Whether a number may be the scale of an attention (A4).
static bool isScale(double number) {
  return std::isfinite(number) && number != 0;
}

double ScoreGraph::includeScale(const Term &root) {
  double scale = 1;
  (void)getFacts(root);
  Term end = terms.view(root);
  if (!isProduct(end))
    end = terms.enter(end);
  while (!isProduct(end)) {
    auto found = readers.find({product.value, product.frame});
    if (found == readers.end() || found->second.size() != 1)
      break;
    Term reader = found->second.front();
    if (!isa<arith::ExtFOp, arith::TruncFOp>(reader.getScalarOp())) {
      std::optional<std::pair<Term, double>> multiple =
          terms.getMultiple(reader);
      if (!multiple || !isScale(scale * multiple->second))
        break;
      scale *= multiple->second;
    }
    product = reader;
  }
  return scale;
}
