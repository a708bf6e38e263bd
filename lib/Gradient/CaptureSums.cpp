//===- CaptureSums.cpp - Gradients of captures in tiles -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A variable whose place is the same for all of a block is summed over the
// block first, in lanes. All others are added one by one, to the sums of the
// iteration, in the order of the keys and of the queries: the bits do not
// depend on threads.
//

#include "lib/Gradient/CaptureSums.h"
#include "lib/Online/Sums.h"
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

LogicalResult CaptureSums::prepare() {
  Region &score = op.getScore();
  for (auto [number, capture] : llvm::enumerate(op.getOfCaptures())) {
    captures.push_back({op.getScoreCaptures()[size_t(capture)],
                        op.getCaptureGradients()[number],
                        std::nullopt});
    BlockArgument argument = score.getArgument(
        AttentionBackwardOp::kNumScoreArguments + unsigned(capture));
    Value s = score.getArgument(0), p = score.getArgument(3),
          j = score.getArgument(4);
    for (Value value : findVariables(argument)) {
      auto &added = variables.emplace_back(std::make_unique<CaptureVariable>());
      added->capture = number;
      if (failed(differentiateRegion(score, value, added->slope)))
        return failure();
      SmallVector<Value> indices;
      if (Operation *load = value.getDefiningOp())
        indices.append(load->operand_begin() + 1, load->operand_end());
      added->isUniform = true;
      for (Value index : indices) {
        copyYielding(score, index,
                     *added->indices.emplace_back(std::make_unique<Region>()));
        added->isUniform &= !dependsOn(index, {s, p, j});
      }
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
      Value yielded =
          cast<YieldOp>(index.front().getTerminator()).getValue();
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
      Value yielded =
          cast<YieldOp>(index->front().getTerminator()).getValue();
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
    Value part = b.empty(sizes, op.getAccumulationType());
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
    unsigned rank = unsigned(of.getRank());
    SmallVector<AffineExpr> exprs;
    for (unsigned dim = 0; dim < rank; ++dim)
      exprs.push_back(b.getAffineDimExpr(dim));
    AffineMap ofSums = AffineMap::get(rank + 1, 0, exprs, b.getContext());
    exprs.insert(exprs.begin(), b.getAffineDimExpr(rank));
    AffineMap ofParts = AffineMap::get(rank + 1, 0, exprs, b.getContext());
    sums = b.fill(b.emptyLike(of.out, op.getAccumulationType()), 0.0);
    sums = b.generic({part}, sums, {ofParts, ofSums}, [&](ValueRange args) {
      return b.addF(args[1], args[0]);
    });
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

/// Adds at one place of the sums, if it is in the capture (A12).
Value CaptureSums::addAt(GradientBuilder &b, const CaptureVariable &variable,
                         Value added, SmallVector<Value> at, Value firstHead,
                         Value sums) {
  const Capture &capture = captures[variable.capture];
  Value inside = b.boolean(true);
  for (auto [dim, index] : llvm::enumerate(at))
    inside = b.bitAnd(
        inside, b.compare(arith::CmpIPredicate::ult, index,
                          b.size(capture.out, int64_t(dim))));
  if (capture.headDim)
    at[*capture.headDim] = b.sub(at[*capture.headDim], firstHead);
  else
    at.insert(at.begin(), b.index(0));
  return b.branch(inside, sums, [&]() -> SmallVector<Value> {
    Value sum = tensor::ExtractOp::create(b, sums, at);
    return {tensor::InsertOp::create(b, b.addF(sum, added), sums, at)};
  })[0];
}

Value CaptureSums::add(GradientBuilder &b, const CaptureVariable &variable,
                       Value gradients, const CaptureBlock &block,
                       Value firstHead, Value sums) {
  int64_t lanes = cast<ShapedType>(gradients.getType()).getDimSize(1);
  Value rows = b.slice(gradients, b.zeros(2),
                       {block.numKeys, b.getIndexAttr(lanes)});
  Value zero = b.real(op.getAccumulationType(), 0.0);
  if (variable.isUniform) {
    AffineExpr q, j;
    bindDims(b.getContext(), q, j);
    Value columns = emitSum(
        b, b.getLoc(), {rows},
        b.fill(b.empty(ArrayRef<int64_t>{lanes}, op.getAccumulationType()),
               0.0),
        {{j, q}, {q}}, [](OpBuilder &b, Location loc, ValueRange args) {
          linalg::YieldOp::create(
              b, loc,
              arith::AddFOp::create(b, loc, args[1], args[0]).getResult());
        });
    Value sum = b.loop(0, lanes, 1, zero, [&](Value lane, ValueRange sum) {
                   Value part = tensor::ExtractOp::create(b, columns, lane);
                   return SmallVector<Value>{b.addF(sum[0], part)};
                 }).front();
    return addAt(b, variable, sum,
                 emitPlace(b, variable, block.number, block.head,
                           block.position, block.firstKey),
                 firstHead, sums);
  }
  auto ofPosition = [&](Value row, Value lane, Value sums) {
    Value added =
        tensor::ExtractOp::create(b, gradients, ValueRange{row, lane});
    Value isAny = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, added,
                                        zero);
    return b.branch(isAny, sums, [&]() -> SmallVector<Value> {
      SmallVector<Value> at =
          emitPlace(b, variable, block.number, block.head,
                    b.add(block.position, lane), b.add(block.firstKey, row));
      return {addAt(b, variable, added, at, firstHead, sums)};
    })[0];
  };
  return b.loop(0, block.numKeys, 1, sums, [&](Value row, ValueRange sums) {
    return b.loop(0, block.numQueries, 1, sums,
                  [&](Value lane, ValueRange sums) -> SmallVector<Value> {
                    return {ofPosition(row, lane, sums[0])};
                  });
  })[0];
}
