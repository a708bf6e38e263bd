//===- CaptureSums.cpp - Gradients of captures in tiles -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A variable whose place is the same for all of a block is summed over the
// block first, in lanes. One whose places follow each other is added line by
// line, and all others one by one. The order is that of the keys and of the
// queries of an iteration: the bits do not depend on threads. Sums are of f64:
// millions of positions may be loaded from one place, and their gradients
// cancel.
//

#include "lib/Gradient/CaptureSums.h"
#include "lib/Regions/RegionDerivative.h"
#include "lib/Regions/RegionEvaluation.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a value of a region is computed from one of some arguments.
static bool dependsOn(Value value, ArrayRef<Value> arguments) {
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

/// The form of a variable whose index regions yield `indices`.
static CaptureVariable::Form findForm(Region &score, ArrayRef<Value> indices) {
  using Form = CaptureVariable::Form;
  Value p = score.getArgument(3), j = score.getArgument(4);
  auto depends = [&](Value argument) {
    return [=](Value index) { return dependsOn(index, {argument}); };
  };
  if (llvm::none_of(indices, depends(p)) && llvm::none_of(indices, depends(j)))
    return Form::Uniform;
  ArrayRef<Value> others = indices.drop_back();
  if (llvm::none_of(others, depends(p)) && getSlope(indices.back(), p) == 1)
    return Form::Queries;
  if (llvm::none_of(others, depends(j)) && getSlope(indices.back(), j) == 1)
    return Form::Keys;
  return Form::Scattered;
}

LogicalResult CaptureSums::prepare() {
  Region &score = op.getScore();
  for (auto [number, capture] : llvm::enumerate(op.getOfCaptures())) {
    captures.push_back({op.getScoreCaptures()[size_t(capture)],
                        op.getCaptureGradients()[number], std::nullopt});
    BlockArgument argument = score.getArgument(
        AttentionBackwardOp::kNumScoreArguments + unsigned(capture));
    for (Value value : findVariables(argument)) {
      auto &added = variables.emplace_back(std::make_unique<CaptureVariable>());
      added->capture = number;
      if (failed(differentiateRegion(score, value, added->slope)))
        return failure();
      SmallVector<Value> indices;
      if (Operation *load = value.getDefiningOp())
        indices.append(load->operand_begin() + 1, load->operand_end());
      added->form = findForm(score, indices);
      for (Value index : indices)
        copyYielding(score, index,
                     *added->indices.emplace_back(std::make_unique<Region>()));
    }
    findHeadDim(captures.back(), number);
  }
  return success();
}

/// The head as it is, in one dimension, in all loads.
void CaptureSums::findHeadDim(Capture &capture, size_t number) {
  for (size_t dim = 0; dim < size_t(capture.getRank()); ++dim) {
    bool isHead = true, isAny = false;
    for (std::unique_ptr<CaptureVariable> &variable : variables) {
      if (variable->capture != number)
        continue;
      isAny = true;
      Region &index = *variable->indices[dim];
      Value yielded = cast<YieldOp>(index.front().getTerminator()).getValue();
      isHead &= yielded == index.getArgument(2);
    }
    auto type = cast<ShapedType>(capture.out.getType());
    if (isAny && isHead &&
        type.getDimSize(unsigned(dim)) >= op.getNumQueryHeads()) {
      capture.headDim = dim;
      return;
    }
  }
}

StringRef CaptureSums::findObstacle() {
  for (std::unique_ptr<CaptureVariable> &variable : variables)
    for (std::unique_ptr<Region> &index : variable->indices) {
      Value yielded = cast<YieldOp>(index->front().getTerminator()).getValue();
      if (dependsOn(yielded, {index->getArgument(0)}))
        return "a place that the score loads depends on the score";
    }
  return {};
}

SmallVector<Value> CaptureSums::emitParts(GradientBuilder &b,
                                          int64_t numIterations) {
  SmallVector<Value> parts;
  for (Capture &capture : captures) {
    SmallVector<OpFoldResult> sizes = b.sizes(capture.out);
    if (!capture.headDim)
      sizes.insert(sizes.begin(), b.getIndexAttr(numIterations));
    Value part = b.empty(sizes, b.getF64Type());
    // Rows of heads that there are not.
    parts.push_back(capture.headDim ? b.fill(part, 0.0) : part);
  }
  return parts;
}

TensorBox CaptureSums::getBox(GradientBuilder &b, size_t capture, Value part,
                              Value iteration, Value firstHead,
                              int64_t numHeads) {
  TensorBox box{b.zeros(size_t(cast<ShapedType>(part.getType()).getRank())),
                b.sizes(part)};
  size_t dim = captures[capture].headDim.value_or(0);
  bool hasHeads = captures[capture].headDim.has_value();
  box.offsets[dim] = hasHeads ? firstHead : iteration;
  box.sizes[dim] = b.getIndexAttr(hasHeads ? numHeads : 1);
  return box;
}

Value CaptureSums::emitGradient(GradientBuilder &b, size_t capture,
                                Value part) {
  Capture &of = captures[capture];
  Value sums = part;
  if (!of.headDim) {
    sums = b.fill(b.emptyLike(of.out, b.getF64Type()), 0.0);
    sums = b.sumParts(part, sums);
  }
  return b.convertAll(sums, b.elementOf(of.out), of.out);
}

/// The place of a load, of the capture.
SmallVector<Value> CaptureSums::emitPlace(GradientBuilder &b,
                                          const CaptureVariable &variable,
                                          Value number, Value head, Value p,
                                          Value j) {
  SmallVector<Value> arguments = {b.real(op.getAccumulationType(), 0.0), number,
                                  head, p, j};
  llvm::append_range(arguments, op.getScoreCaptures());
  SmallVector<Value> at;
  for (const std::unique_ptr<Region> &index : variable.indices)
    at.push_back(evaluateRegion(b, *index, arguments).value);
  return at;
}

/// Whether a place, and `length` elements from it on, are in the capture (A12).
Value CaptureSums::isInside(GradientBuilder &b, const CaptureVariable &variable,
                            ArrayRef<Value> at, OpFoldResult length) {
  const Capture &capture = captures[variable.capture];
  Value inside = b.boolean(true);
  for (auto [dim, index] : llvm::enumerate(at)) {
    Value size = b.index(b.size(capture.out, int64_t(dim)));
    if (dim + 1 == at.size())
      size = b.max(b.sub(b.add(size, 1), length), 0);
    inside =
        b.bitAnd(inside, b.compare(arith::CmpIPredicate::ult, index, size));
  }
  return inside;
}

/// A place in the sums of the iteration.
SmallVector<Value> CaptureSums::toOwn(GradientBuilder &b,
                                      const CaptureVariable &variable,
                                      SmallVector<Value> at, Value firstHead) {
  if (std::optional<size_t> dim = captures[variable.capture].headDim)
    at[*dim] = b.sub(at[*dim], firstHead);
  else
    at.insert(at.begin(), b.index(0));
  return at;
}

/// Adds at one place of the sums, if it is in the capture.
Value CaptureSums::addAt(GradientBuilder &b, const CaptureVariable &variable,
                         Value added, ArrayRef<Value> at, Value firstHead,
                         Value sums) {
  Value inside = isInside(b, variable, at, b.getIndexAttr(1));
  return b.branch(inside, sums, [&]() -> SmallVector<Value> {
    SmallVector<Value> own =
        toOwn(b, variable, SmallVector<Value>(at), firstHead);
    Value sum = tensor::ExtractOp::create(b, sums, own);
    sum = b.addF(sum, b.convert(added, sum.getType()));
    return {tensor::InsertOp::create(b, sum, sums, own)};
  })[0];
}

Value CaptureSums::add(GradientBuilder &b, const CaptureVariable &variable,
                       Value gradients, const CaptureBlock &block,
                       Value firstHead, Value sums) {
  switch (variable.form) {
  case CaptureVariable::Form::Uniform:
    return addBlock(b, variable, gradients, block, firstHead, sums);
  case CaptureVariable::Form::Queries:
  case CaptureVariable::Form::Keys:
    return addLines(b, variable, gradients, block, firstHead, sums);
  case CaptureVariable::Form::Scattered:
    break;
  }
  return b.loop(0, block.numKeys, 1, sums, [&](Value row, ValueRange sums) {
    return b.loop(0, block.numQueries, 1, sums,
                  [&](Value lane, ValueRange sums) -> SmallVector<Value> {
                    return {addPosition(b, variable, gradients, block, row,
                                        lane, firstHead, sums[0])};
                  });
  })[0];
}

/// The sum of a block, at one place.
Value CaptureSums::addBlock(GradientBuilder &b, const CaptureVariable &variable,
                            Value gradients, const CaptureBlock &block,
                            Value firstHead, Value sums) {
  int64_t lanes = cast<ShapedType>(gradients.getType()).getDimSize(1);
  Value rows =
      b.slice(gradients, b.zeros(2), {block.numKeys, b.getIndexAttr(lanes)});
  FloatType type = op.getAccumulationType();
  AffineExpr j, q; // Lanes are the last loop.
  bindDims(b.getContext(), j, q);
  Value columns =
      b.generic({rows}, b.fill(b.empty(ArrayRef<int64_t>{lanes}, type), 0.0),
                {b.getMultiDimIdentityMap(2), AffineMap::get(2, 0, q)},
                [&](ValueRange args) { return b.addF(args[1], args[0]); });
  Value sum = b.loop(0, lanes, 1, b.real(type, 0.0),
                     [&](Value lane, ValueRange sum) -> SmallVector<Value> {
                       Value part = tensor::ExtractOp::create(b, columns, lane);
                       return {b.addF(sum[0], part)};
                     })
                  .front();
  return addAt(b, variable, sum,
               emitPlace(b, variable, block.number, block.head, block.position,
                         block.firstKey),
               firstHead, sums);
}

/// One position, unless there is nothing to add: its place may be none then.
Value CaptureSums::addPosition(GradientBuilder &b,
                               const CaptureVariable &variable, Value gradients,
                               const CaptureBlock &block, Value row, Value lane,
                               Value firstHead, Value sums) {
  Value added = tensor::ExtractOp::create(b, gradients, ValueRange{row, lane});
  Value isAny = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, added,
                                      b.real(op.getAccumulationType(), 0.0));
  return b.branch(isAny, sums, [&]() -> SmallVector<Value> {
    SmallVector<Value> at =
        emitPlace(b, variable, block.number, block.head,
                  b.add(block.position, lane), b.add(block.firstKey, row));
    return {addAt(b, variable, added, at, firstHead, sums)};
  })[0];
}

/// Line by line: the queries of a key, or, transposed, the keys of a query; one
/// by one where a line is not inside the capture as a whole.
Value CaptureSums::addLines(GradientBuilder &b, const CaptureVariable &variable,
                            Value gradients, const CaptureBlock &block,
                            Value firstHead, Value sums) {
  bool ofQueries = variable.form == CaptureVariable::Form::Queries;
  auto type = cast<RankedTensorType>(gradients.getType());
  Value lines = ofQueries ? gradients : b.transpose(gradients, {1, 0});
  OpFoldResult count = ofQueries ? block.numKeys : block.numQueries,
               length = ofQueries
                            ? OpFoldResult(b.getIndexAttr(type.getDimSize(1)))
                            : block.numKeys;
  Value zero = b.index(0);
  auto addLine = [&](Value number, ValueRange before) -> SmallVector<Value> {
    Value sums = before[0];
    SmallVector<Value> at =
        emitPlace(b, variable, block.number, block.head,
                  b.add(block.position, ofQueries ? zero : number),
                  b.add(block.firstKey, ofQueries ? number : zero));
    auto ifOp =
        scf::IfOp::create(b, sums.getType(), isInside(b, variable, at, length),
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    SmallVector<OpFoldResult> offsets =
        getAsOpFoldResult(toOwn(b, variable, at, firstHead));
    SmallVector<OpFoldResult> sizes = b.ones(offsets.size());
    sizes.back() = length;
    Value line = b.slice(lines, {number, b.getIndexAttr(0)},
                         {b.getIndexAttr(1), length}, /*rank=*/1);
    Value part = b.slice(sums, offsets, sizes, /*rank=*/1);
    part = b.map({line, part}, part, [&](ValueRange args) {
      return b.addF(args[1], b.convert(args[0], args[1].getType()));
    });
    scf::YieldOp::create(b, b.insert(part, sums, offsets, sizes));
    b.setInsertionPointToStart(ifOp.elseBlock());
    OpFoldResult each = ofQueries ? block.numQueries : block.numKeys;
    scf::YieldOp::create(
        b, b.loop(0, each, 1, sums,
                  [&](Value i, ValueRange sums) -> SmallVector<Value> {
                    return {addPosition(
                        b, variable, gradients, block, ofQueries ? number : i,
                        ofQueries ? i : number, firstHead, sums[0])};
                  }));
    return {ifOp.getResult(0)};
  };
  return b.loop(0, count, 1, sums, addLine)[0];
}
