//===- LayerModels.cpp - Derivatives of what layers are of ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/Models.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

/// A rotation's transpose is the rotation by the opposite angle.
static LogicalResult emitGradients(GradientBuilder &b, RopeOp op,
                                   OpGradients &gradients) {
  if (gradients.wants(op.getCosine()) || gradients.wants(op.getSine()))
    return refuseGradient(op, "its tables");
  Value sine = op.getSine();
  AffineMap identity = b.getMultiDimIdentityMap(2);
  Value negated = b.generic(
      {sine}, b.emptyLike(sine), {identity, identity}, [&](ValueRange args) {
        return arith::NegFOp::create(b, args[0]).getResult();
      });
  Value gradient = gradients.getOfResult(0);
  gradients.set(op.getInput(),
                RopeOp::create(b, gradient.getType(), gradient, op.getCosine(),
                               negated, b.emptyLike(gradient), op.getOffset(),
                               op.getPositions(), op.getPairing())
                    .getResult(0));
  return success();
}

static LogicalResult emitGradients(GradientBuilder &b, DropoutOp op,
                                   OpGradients &gradients) {
  Value gradient = gradients.getOfResult(0);
  gradients.set(op.getInput(),
                DropoutOp::create(b, gradient.getType(), gradient,
                                  b.emptyLike(gradient), op.getSeed(),
                                  op.getCall(), op.getRateAttr())
                    .getResult(0));
  return success();
}

namespace {

/// What derivatives of a norm of heads have in common.
struct HeadNormCode {
  HeadNormCode(GradientBuilder &b, HeadNormOp op)
      : b(b), op(op),
        type(AttentionOp::getAccumulationType(b.elementOf(op.getInput()))),
        all(dims({0, 1, 2, 3})), row(dims({0, 1, 2})) {
    Value weight = op.getWeight();
    bool isOfHeads =
        weight && cast<ShapedType>(weight.getType()).getRank() == 2;
    ofWeight = isOfHeads ? dims({1, 3}) : dims({3});
    sizes = b.sizes(op.getInput());
    sizes.pop_back();
  }

  AffineMap dims(ArrayRef<unsigned> numbers) {
    SmallVector<AffineExpr> exprs;
    for (unsigned number : numbers)
      exprs.push_back(b.getAffineDimExpr(number));
    return AffineMap::get(4, 0, exprs, b.getContext());
  }

  /// The sums of terms over each row.
  Value sumRows(ValueRange inputs, ArrayRef<AffineMap> maps,
                function_ref<Value(ValueRange)> term) {
    SmallVector<AffineMap> with(maps);
    with.push_back(row);
    Value sums = b.fill(b.empty(sizes, type), 0.0);
    return b.generic(inputs, sums, with, [&](ValueRange args) {
      return b.addF(args.back(), term(args));
    });
  }

  Value oneOfSize() {
    return b.real(type, 1.0 / double(op.getInputType().getDimSize(3)));
  }

  /// 1 / sqrt(mean(x^2) + epsilon) of each row.
  Value emitRoots() {
    Value squares = sumRows({op.getInput()}, {all}, [&](ValueRange args) {
      Value x = b.convert(args[0], type);
      return b.mulF(x, x);
    });
    AffineMap rows = b.getMultiDimIdentityMap(3);
    return b.generic({squares}, b.empty(sizes, type), {rows, rows},
                     [&](ValueRange args) -> Value {
                       Value mean = b.mulF(args[0], oneOfSize());
                       Value sum = arith::AddFOp::create(
                           b, mean,
                           b.real(type, op.getEpsilon().convertToDouble()));
                       return math::RsqrtOp::create(b, sum);
                     });
  }

  GradientBuilder &b;
  HeadNormOp op;
  FloatType type;
  AffineMap all, row, ofWeight;
  SmallVector<OpFoldResult> sizes; ///< Of a number for each row.
};

} // namespace

/// With r = 1 / sqrt(mean(x^2) + epsilon), g = dy * weight and
/// m = mean(g * x): dx = scale * r * (g - x * r^2 * m), and
/// dweight = sum of scale * dy * x * r.
static LogicalResult emitGradients(GradientBuilder &b, HeadNormOp op,
                                   OpGradients &gradients) {
  HeadNormCode code(b, op);
  Value input = op.getInput(), weight = op.getWeight(),
        gradient = gradients.getOfResult(0);
  FloatType type = code.type;
  Value roots = code.emitRoots();
  double scale = op.getScale();
  if (gradients.wants(input)) {
    SmallVector<Value> inputs = {input, gradient};
    SmallVector<AffineMap> maps = {code.all, code.all};
    if (weight) {
      inputs.push_back(weight);
      maps.push_back(code.ofWeight);
    }
    auto weighted = [&](ValueRange args) {
      Value g = b.convert(args[1], type);
      return weight ? b.mulF(g, b.convert(args[2], type)) : g;
    };
    Value products = code.sumRows(inputs, maps, [&](ValueRange args) {
      return b.mulF(weighted(args), b.convert(args[0], type));
    });
    inputs.append({roots, products});
    maps.append({code.row, code.row, code.all});
    size_t root = inputs.size() - 2;
    Value result = b.generic(
        inputs, b.emptyLike(input), maps, [&](ValueRange args) -> Value {
          Value r = args[root];
          Value mean = b.mulF(args[root + 1], code.oneOfSize());
          Value shift =
              b.mulF(b.mulF(b.mulF(r, r), mean), b.convert(args[0], type));
          Value difference = b.subF(weighted(args), shift);
          Value scaled = b.mulF(b.mulF(difference, r), b.real(type, scale));
          return b.convert(scaled, b.elementOf(input));
        });
    gradients.set(input, result);
  }
  if (gradients.wants(weight)) {
    Value sums = b.fill(b.emptyLike(weight, type), 0.0);
    sums = b.generic({input, gradient, roots}, sums,
                     {code.all, code.all, code.row, code.ofWeight},
                     [&](ValueRange args) -> Value {
                       Value x = b.mulF(b.convert(args[0], type), args[2]);
                       Value product = b.mulF(x, b.convert(args[1], type));
                       return arith::AddFOp::create(
                           b, args[3], b.mulF(product, b.real(type, scale)));
                     });
    gradients.set(weight, b.convertAll(sums, b.elementOf(weight)));
  }
  return success();
}

static LogicalResult emitTangents(GradientBuilder &b, RopeOp op,
                                  OpTangents &tangents) {
  if (tangents.moves(op.getCosine()) || tangents.moves(op.getSine()))
    return refuseTangent(op, "its tables");
  return emitLinear(b, op, tangents);
}

/// With r = 1 / sqrt(mean(x^2) + epsilon) and m = mean(x * dx):
/// dy = scale * r * ((dx - x * r^2 * m) * weight + x * dweight).
static LogicalResult emitTangents(GradientBuilder &b, HeadNormOp op,
                                  OpTangents &tangents) {
  HeadNormCode code(b, op);
  Value input = op.getInput(), weight = op.getWeight(),
        ofInput = tangents.get(input), ofWeight = tangents.get(weight);
  FloatType type = code.type;
  SmallVector<Value> inputs = {input, code.emitRoots()};
  SmallVector<AffineMap> maps = {code.all, code.row};
  auto add = [&](Value value, AffineMap map) {
    if (value) {
      inputs.push_back(value);
      maps.push_back(map);
    }
    return inputs.size() - 1;
  };
  Value products;
  if (ofInput)
    products = code.sumRows(
        {input, ofInput}, {code.all, code.all}, [&](ValueRange args) {
          return b.mulF(b.convert(args[0], type), b.convert(args[1], type));
        });
  size_t atInput = add(ofInput, code.all), atProducts = add(products, code.row),
         atWeight = add(weight, code.ofWeight),
         atOfWeight = add(ofWeight, code.ofWeight);
  maps.push_back(code.all);
  Value tangent = b.generic(
      inputs, b.emptyLike(input), maps, [&](ValueRange args) -> Value {
        Value x = b.convert(args[0], type), r = args[1], sum;
        if (ofInput) {
          Value mean = b.mulF(args[atProducts], code.oneOfSize());
          Value shift = b.mulF(b.mulF(b.mulF(r, r), mean), x);
          sum = b.subF(b.convert(args[atInput], type), shift);
          if (weight)
            sum = b.mulF(sum, b.convert(args[atWeight], type));
        }
        if (ofWeight) {
          Value part = b.mulF(x, b.convert(args[atOfWeight], type));
          sum = sum ? b.addF(sum, part) : part;
        }
        Value scaled = b.mulF(b.mulF(sum, r), b.real(type, op.getScale()));
        return b.convert(scaled, b.elementOf(input));
      });
  tangents.set(op.getResult(0), tangent);
  return success();
}

void attn::attachLayerModels(MLIRContext *context) {
  attachModel<DropoutOp, emitGradients, emitLinear>(context);
  attachModel<HeadNormOp, emitGradients, emitTangents>(context);
  attachModel<RopeOp, emitGradients, emitTangents>(context);
}
