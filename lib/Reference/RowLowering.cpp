//===- RowLowering.cpp - attn.head_norm and attn.dropout as loops ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/TensorCode.h"
#include "lib/Regions/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

struct HeadNormLowering : TensorCode {
  HeadNormLowering(HeadNormOp op, OpBuilder &builder)
      : TensorCode{builder, op.getLoc()}, op(op),
        elementType(op.getInputType().getElementType()),
        sums(AttentionOp::getAccumulationType(cast<FloatType>(elementType))) {}

  Value emit() {
    SmallVector<OpFoldResult> rows =
        tensor::getMixedSizes(b, loc, op.getInput());
    rows.pop_back();
    Value squares = emitSquares(fill(empty(rows, sums), 0.0));
    Value size = real(sums, double(op.getInputType().getDimSize(3)));
    Value epsilon = real(sums, op.getEpsilon().convertToDouble());
    Value scale = real(sums, op.getScale()); // N4
    Value factors = map({squares}, empty(rows, sums), [&](ValueRange e) {
      Value mean = arith::DivFOp::create(b, loc, e[0], size);
      Value root = math::SqrtOp::create(
          b, loc, arith::AddFOp::create(b, loc, mean, epsilon));
      return arith::DivFOp::create(b, loc, scale, root).getResult();
    });
    return emitProducts(factors);
  }

private:
  AffineMap getMap(ArrayRef<unsigned> dims) {
    SmallVector<AffineExpr> exprs;
    for (unsigned dim : dims)
      exprs.push_back(b.getAffineDimExpr(dim));
    return AffineMap::get(4, 0, exprs, b.getContext());
  }

  /// The sum of squares of each row.
  Value emitSquares(Value zeros) {
    return createGeneric(b, loc, op.getInput(), zeros,
                         {getMap({0, 1, 2, 3}), getMap({0, 1, 2})},
                         [&](ValueRange e) -> Value {
                           Value x = convert(e[0], sums);
                           Value square = arith::MulFOp::create(b, loc, x, x);
                           return arith::AddFOp::create(b, loc, e[1], square);
                         });
  }

  Value emitProducts(Value factors) {
    SmallVector<Value> inputs = {op.getInput(), factors};
    SmallVector<AffineMap> maps = {getMap({0, 1, 2, 3}), getMap({0, 1, 2})};
    if (Value weight = op.getWeight()) { // N2
      inputs.push_back(weight);
      bool isPerHead = cast<ShapedType>(weight.getType()).getRank() == 2;
      maps.push_back(isPerHead ? getMap({1, 3}) : getMap({3}));
    }
    maps.push_back(getMap({0, 1, 2, 3}));
    return createGeneric(
        b, loc, inputs, op.getOutput(), maps, [&](ValueRange e) {
          Value product =
              arith::MulFOp::create(b, loc, convert(e[0], sums), e[1]);
          if (op.getWeight())
            product =
                arith::MulFOp::create(b, loc, product, convert(e[2], sums));
          return convert(product, elementType); // N1
        });
  }

  HeadNormOp op;
  Type elementType;
  FloatType sums;
};

struct DropoutLowering : TensorCode {
  DropoutLowering(DropoutOp op, OpBuilder &builder)
      : TensorCode{builder, op.getLoc()}, op(op) {}

  Value emit() {
    auto type = cast<FloatType>(op.getInputType().getElementType());
    FloatType sums = AttentionOp::getAccumulationType(type);
    double rate = op.getRate().convertToDouble();
    Value seed = arith::XOrIOp::create(
        b, loc, op.getSeed(),
        arith::ConstantOp::create(
            b, loc, b.getI64IntegerAttr(int64_t(DropoutOp::kKey)))); // D3
    std::array<Value, 2> key = buildPhiloxKey(b, loc, seed);
    Value factor = real(sums, 1.0 / (1.0 - rate)), zero = real(type, 0.0);
    return map({op.getInput()}, op.getOutput(), [&](ValueRange e) -> Value {
      auto at = [&](int64_t dim) -> Value {
        return linalg::IndexOp::create(b, loc, dim);
      };
      Value keep =
          buildIsKept(b, loc, rate, key, at(2), at(1), at(0), op.getCall());
      Value scaled = arith::MulFOp::create(b, loc, convert(e[0], sums), factor);
      return arith::SelectOp::create(b, loc, keep, convert(scaled, type), zero);
    });
  }

private:
  DropoutOp op;
};

} // namespace

void attn::populateRowLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerRowOp<DropoutOp, DropoutLowering>,
               LowerRowOp<HeadNormOp, HeadNormLowering>>(patterns.getContext());
}
