//===- ProjectionLowering.cpp - attn.projection as loops ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/TensorCode.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One number after the other, with the weight looked up where it lies.
struct ProjectionLowering : TensorCode {
  ProjectionLowering(ProjectionOp op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op),
        sums(op.getAccumulationType()) {}

  SmallVector<Value> emit() {
    SmallVector<Value> results;
    int64_t column = 0;
    for (auto [out, features] :
         llvm::zip(op.getOuts(), op.getNumOutputFeatures())) {
      results.push_back(emitResult(out, column));
      column += features; // P2
    }
    return results;
  }

private:
  Value emitResult(Value out, int64_t column) {
    auto type = cast<RankedTensorType>(out.getType());
    bool isSum = type.getElementType() == sums;
    Value sum = isSum ? out : emptyLike(out, sums);
    sum = emitSums(fill(sum, 0.0), column);
    if (isSum && !op.getScales() && !op.getBias())
      return sum;
    return map({sum}, out, [&](ValueRange e) -> Value {
      Value n = getFeature(type, column), result = e[0];
      if (Value scales = op.getScales())
        result = mulF(result, number(scales, n));
      if (Value bias = op.getBias())
        result = addF(result, number(bias, n));
      return convert(result, type.getElementType());
    });
  }

  /// Adds the products to `zeros`, by loops over its indices, and then over
  /// the features of the input.
  Value emitSums(Value zeros, int64_t column) {
    auto to = cast<RankedTensorType>(zeros.getType());
    ShapedType from = op.getInputType();
    unsigned rank = to.getRank(), inputRank = from.getRank(),
             numLoops = rank + inputRank - 2;
    auto loop = [&](unsigned i) { return getAffineDimExpr(i); };
    AffineExpr batch = loop(0), row = loop(rank - 2);
    SmallVector<AffineExpr> ofInput = {batch, row, loop(rank)};
    if (inputRank == 4)
      ofInput = {batch, loop(rank), row, loop(rank + 1)};
    AffineMap maps[] = {
        AffineMap::get(numLoops, 0, ofInput, getContext()),
        AffineMap::getMultiDimIdentityMap(numLoops, getContext())
            .getMajorSubMap(rank)};
    return generic(op.getInput(), zeros, maps, [&](ValueRange e) -> Value {
      Value n = getFeature(to, column);
      Value k = inputRank == 4 ? flatten(rank, rank + 1, from.getDimSize(3))
                               : iteration(rank);
      Value product = mulF(convert(e[0], sums), weight(k, n));
      return addF(e[1], product);
    });
  }

  Value flatten(unsigned head, unsigned element, int64_t size) {
    return add(mul(iteration(head), size), iteration(element));
  }
  /// The column of the weight that an element of a result is of, which begins
  /// at `column`.
  Value getFeature(ShapedType type, int64_t column) {
    Value feature =
        type.getRank() == 4 ? flatten(1, 3, type.getDimSize(3)) : iteration(2);
    return add(feature, column);
  }

  /// weight[k,n], from where it lies (P3).
  Value weight(Value k, Value n) {
    SmallVector<Value> indices = {k, n};
    auto split = [&](Value value, int64_t size) {
      return std::pair(div(value, size), rem(value, size));
    };
    if (op.hasPanels()) {
      auto [panel, lane] = split(n, op.getPanelWidth());
      indices = {panel, k, lane};
      if (op.isInPairs()) {
        auto [pair, part] = split(k, 2);
        indices = {panel, pair, lane, part};
      }
    }
    return number(op.getWeight(), indices);
  }

  Value number(Value tensor, ValueRange indices) {
    return convert(load(tensor, indices), sums);
  }

  ProjectionOp op;
  FloatType sums;
};

} // namespace

void attn::populateProjectionLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerOp<ProjectionOp, ProjectionLowering>>(
      patterns.getContext());
}
