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

using namespace mlir;
using namespace mlir::attn;

namespace {

struct HeadNormLowering : TensorCode {
  HeadNormLowering(HeadNormOp op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op),
        elementType(op.getInputType().getElementType()),
        sums(AttentionOp::getAccumulationType(cast<FloatType>(elementType))) {}

  Value emit() {
    SmallVector<OpFoldResult> rows = sizes(op.getInput());
    rows.pop_back();
    Value squares = emitSquares(fill(empty(rows, sums), 0.0));
    Value size = real(sums, double(op.getInputType().getDimSize(3)));
    Value epsilon = real(sums, op.getEpsilon().convertToDouble());
    Value scale = real(sums, op.getScale()); // N4
    Value factors = map({squares}, empty(rows, sums), [&](ValueRange e) {
      Value mean = divF(e[0], size);
      Value root = math::SqrtOp::create(*this, addF(mean, epsilon));
      return divF(scale, root);
    });
    return emitProducts(factors);
  }

private:
  AffineMap getMap(ArrayRef<unsigned> dims) {
    return AffineMap::getMultiDimMapWithTargets(4, dims, getContext());
  }

  /// The sum of squares of each row.
  Value emitSquares(Value zeros) {
    return generic(op.getInput(), zeros,
                   {getMap({0, 1, 2, 3}), getMap({0, 1, 2})},
                   [&](ValueRange e) -> Value {
                     Value x = convert(e[0], sums);
                     Value square = mulF(x, x);
                     return addF(e[1], square);
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
    return generic(inputs, op.getOutput(), maps, [&](ValueRange e) {
      Value product = mulF(convert(e[0], sums), e[1]);
      if (op.getWeight())
        product = mulF(product, convert(e[2], sums));
      return convert(product, elementType); // N1
    });
  }

  HeadNormOp op;
  Type elementType;
  FloatType sums;
};

struct DropoutLowering : TensorCode {
  DropoutLowering(DropoutOp op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op) {}

  Value emit() {
    auto type = cast<FloatType>(op.getInputType().getElementType());
    FloatType sums = AttentionOp::getAccumulationType(type);
    double rate = op.getRate().convertToDouble();
    Value seed = arith::XOrIOp::create(
        *this, op.getSeed(),
        arith::ConstantOp::create(
            *this, getI64IntegerAttr(int64_t(DropoutOp::kKey)))); // D3
    std::array<Value, 2> key = buildPhiloxKey(*this, seed);
    Value factor = real(sums, 1.0 / (1.0 - rate)), zero = real(type, 0.0);
    return map({op.getInput()}, op.getOutput(), [&](ValueRange e) -> Value {
      Value keep = buildIsKept(*this, rate, key, iteration(2), iteration(1),
                               iteration(0), op.getCall());
      Value scaled = mulF(convert(e[0], sums), factor);
      return select(keep, convert(scaled, type), zero);
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
