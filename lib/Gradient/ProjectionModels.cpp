//===- ProjectionModels.cpp - Derivatives of projections ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/Models.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The gradients of an attn.projection, y = x * W + bias.
class ProjectionGradients {
public:
  ProjectionGradients(GradientBuilder &b, ProjectionOp op,
                      OpGradients &gradients)
      : b(b), op(op), gradients(gradients), type(op.getAccumulationType()) {}

  LogicalResult emit() {
    if (op.hasPanels())
      return refuseGradient(op, "a packed weight");
    if (!isa<FloatType>(op.getWeightType().getElementType()))
      return refuseGradient(op, "a weight of integers");
    bool wantsWeight = gradients.wants(op.getWeight());
    Value ofBias;
    if (gradients.wants(op.getBias()))
      ofBias = b.fill(b.emptyLike(op.getBias()), 0.0);
    SmallVector<std::pair<int64_t, Value>> ofColumns; // From which on.
    int64_t first = 0;
    for (auto [number, features] : llvm::enumerate(op.getNumOutputFeatures())) {
      if (Value gradient = gradients.getOfResult(unsigned(number))) {
        if (gradients.wants(op.getInput()))
          gradients.set(op.getInput(), emitOfInput(gradient, first, features));
        if (wantsWeight)
          ofColumns.emplace_back(first, emitOfWeight(gradient, features));
        if (ofBias)
          ofBias = b.insert(emitOfBias(gradient, features), ofBias,
                            OpFoldResult(b.getIndexAttr(first)),
                            OpFoldResult(b.getIndexAttr(features)));
      }
      first += features;
    }
    if (wantsWeight)
      gradients.set(op.getWeight(), joinColumns(ofColumns));
    if (ofBias)
      gradients.set(op.getBias(), ofBias);
    return success();
  }

private:
  /// dy * W^T, a projection.
  Value emitOfInput(Value gradient, int64_t first, int64_t features) {
    Value columns = b.slice(
        op.getWeight(), {b.getIndexAttr(0), b.getIndexAttr(first)},
        {b.getIndexAttr(op.getNumInputFeatures()), b.getIndexAttr(features)});
    Value rows = b.transpose(columns, {1, 0});
    Value input = op.getInput();
    if (b.elementOf(input) != b.elementOf(gradient)) // P4: results of f32.
      gradient = b.convertAll(gradient, b.elementOf(input));
    return ProjectionOp::create(b, TypeRange(input.getType()), gradient, rows,
                                ValueRange(b.emptyLike(input)),
                                /*scales=*/Value(), /*bias=*/Value())
        .getResult(0);
  }

  /// x^T * dy: a projection of the features of all tokens, where their number
  /// is known.
  Value emitOfWeight(Value gradient, int64_t features) {
    Value x = emitTokens(op.getInput(), op.getNumInputFeatures()),
          y = emitTokens(gradient, features);
    auto xType = cast<RankedTensorType>(x.getType());
    Type element = b.elementOf(op.getWeight());
    if (!xType.isDynamicDim(0) && xType.getDimSize(0) > 0) {
      Value input = expand(b.transpose(x, {1, 0}));
      auto result = RankedTensorType::get({1, xType.getDimSize(1), features},
                                          b.elementOf(x));
      Value out = tensor::EmptyOp::create(b, result.getShape(),
                                          result.getElementType());
      Value product =
          ProjectionOp::create(b, TypeRange(result), input, y, ValueRange(out),
                               /*scales=*/Value(), /*bias=*/Value())
              .getResult(0);
      return b.convertAll(collapse(product, {{0, 1}, {2}}), element);
    }
    AffineExpr k, n, s;
    bindDims(b.getContext(), k, n, s);
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(3, 0, exprs, b.getContext());
    };
    Value sums = b.fill(
        b.empty(ArrayRef<int64_t>{xType.getDimSize(1), features}, type), 0.0);
    sums = b.generic({x, y}, sums, {map({s, k}), map({s, n}), map({k, n})},
                     [&](ValueRange args) -> Value {
                       Value product = b.mulF(b.convert(args[0], type),
                                              b.convert(args[1], type));
                       return b.addF(args[2], product);
                     });
    return b.convertAll(sums, element);
  }

  /// The gradient of the weight, of those of its columns; others are 0.
  Value joinColumns(ArrayRef<std::pair<int64_t, Value>> parts) {
    auto columnsOf = [](Value part) {
      return cast<ShapedType>(part.getType()).getDimSize(1);
    };
    int64_t given = 0;
    for (const auto &[first, part] : parts)
      given += columnsOf(part);
    if (parts.size() == 1 && given == op.getWeightType().getDimSize(1))
      return parts.front().second;
    Value all = b.emptyLike(op.getWeight());
    if (given < op.getWeightType().getDimSize(1))
      all = b.fill(all, 0.0);
    for (const auto &[first, part] : parts)
      all = b.insert(part, all, {b.getIndexAttr(0), b.getIndexAttr(first)},
                     {b.getIndexAttr(op.getNumInputFeatures()),
                      b.getIndexAttr(columnsOf(part))});
    return all;
  }

  Value emitOfBias(Value gradient, int64_t features) {
    Value y = emitTokens(gradient, features);
    AffineExpr s, n;
    bindDims(b.getContext(), s, n);
    Value sums = b.fill(b.empty(ArrayRef<int64_t>{features}, type), 0.0);
    sums = b.generic(
        {y}, sums,
        {AffineMap::get(2, 0, {s, n}, b.getContext()), AffineMap::get(2, 0, n)},
        [&](ValueRange args) -> Value {
          return arith::AddFOp::create(b, args[1], b.convert(args[0], type));
        });
    return b.convertAll(sums, b.elementOf(op.getBias()));
  }

  /// `(B, S, K)`, or `(B, H, S, D)` out of heads, as `(B * S, K)`.
  Value emitTokens(Value tensor, int64_t features) {
    if (cast<ShapedType>(tensor.getType()).getRank() == 3)
      return collapse(tensor, {{0, 1}, {2}});
    return collapse(b.transpose(tensor, {0, 2, 1, 3}), {{0, 1}, {2, 3}});
  }

  Value collapse(Value tensor, ArrayRef<ReassociationIndices> groups) {
    return tensor::CollapseShapeOp::create(b, tensor, groups);
  }
  /// `(1, rows, columns)`.
  Value expand(Value matrix) {
    auto from = cast<RankedTensorType>(matrix.getType());
    auto to = RankedTensorType::get({1, from.getDimSize(0), from.getDimSize(1)},
                                    from.getElementType());
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    return tensor::ExpandShapeOp::create(b, to, matrix, groups);
  }

  GradientBuilder &b;
  ProjectionOp op;
  OpGradients &gradients;
  FloatType type;
};

} // namespace

static LogicalResult emitGradients(GradientBuilder &b, ProjectionOp op,
                                   OpGradients &gradients) {
  return ProjectionGradients(b, op, gradients).emit();
}

/// dy = dx * W + x * dW + dbias, of which weights of any kind have the first.
static LogicalResult emitTangents(GradientBuilder &b, ProjectionOp op,
                                  OpTangents &tangents) {
  if (tangents.moves(op.getScales()))
    return refuseTangent(op, "scales of a weight");
  if (op.hasPanels() && tangents.moves(op.getWeight()))
    return refuseTangent(op, "a packed weight");
  Value ofInput = tangents.get(op.getInput()),
        ofWeight = tangents.get(op.getWeight()),
        ofBias = tangents.get(op.getBias());
  SmallVector<SmallVector<Value>> parts;
  auto project = [&](Value input, Value weight, Value scales, Value bias) {
    SmallVector<Value> outs;
    for (Value result : op.getResults())
      outs.push_back(b.emptyLike(result));
    auto part = ProjectionOp::create(b, op->getResultTypes(), input, weight,
                                     outs, scales, bias);
    parts.emplace_back(part->getResults());
  };
  if (ofInput)
    project(ofInput, op.getWeight(), op.getScales(),
            ofWeight ? Value() : ofBias);
  if (ofWeight)
    project(op.getInput(), ofWeight, Value(), ofBias);
  if (parts.empty()) // Of the bias alone.
    project(emitZerosLike(b, op.getLoc(), op.getInput()), op.getWeight(),
            op.getScales(), ofBias);
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    Value sum = parts[0][number];
    if (parts.size() > 1)
      sum = b.map({sum, parts[1][number]}, b.emptyLike(result),
                  [&](ValueRange args) { return b.addF(args[0], args[1]); });
    tangents.set(result, sum);
  }
  return success();
}

void attn::attachProjectionModels(MLIRContext *context) {
  attachModel<ProjectionOp, emitGradients, emitTangents>(context);
}
