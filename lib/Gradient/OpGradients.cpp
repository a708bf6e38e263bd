//===- OpGradients.cpp - Gradients of single operations -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/OpGradients.h"
#include "dialect/AttnOps.h"
#include "lib/Gradient/GradientBuilder.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::emitZerosLike(OpBuilder &builder, Location loc, Value like) {
  GradientBuilder b(loc, builder);
  if (auto type = dyn_cast<FloatType>(like.getType()))
    return b.real(type, 0.0);
  return b.fill(b.emptyLike(like), 0.0);
}

static LogicalResult refuse(Operation *op, const Twine &why) {
  return op->emitError("'") << op->getName() << "' has no gradient: " << why;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The log-sum-exp of an attention, which is made to give it.
static Value emitLogSumExp(GradientBuilder &b, AttentionOp &op) {
  if (op.getLogSumExp())
    return op.getResult(1);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  SmallVector<OpFoldResult> sizes = b.sizes(op.getOutput());
  SmallVector<Value> outs(op.getOuts());
  outs.push_back(tensor::EmptyOp::create(b, ArrayRef(sizes).drop_back(),
                                         op.getAccumulationType()));
  auto attention =
      AttentionOp::create(b, op.getQuery(), op.getKey(), op.getValue(), outs);
  auto assign = [](MutableOperandRange to, Value from) {
    if (from)
      to.assign(from);
  };
  assign(attention.getScaleMutable(), op.getScale());
  assign(attention.getOffsetMutable(), op.getOffset());
  assign(attention.getSinkMutable(), op.getSink());
  assign(attention.getCumulativeQueryMutable(), op.getCumulativeQuery());
  assign(attention.getCumulativeKeyMutable(), op.getCumulativeKey());
  assign(attention.getCountsMutable(), op.getCounts());
  assign(attention.getDropoutSeedMutable(), op.getDropoutSeed());
  assign(attention.getDropoutCallMutable(), op.getDropoutCall());
  assign(attention.getDropoutLineMutable(), op.getDropoutLine());
  attention.getScoreCapturesMutable().assign(op.getScoreCaptures());
  attention.getMaskCapturesMutable().assign(op.getMaskCaptures());
  attention.setStaticScaleAttr(op.getStaticScaleAttr());
  attention.setBottomRight(op.getBottomRight());
  attention.setDropoutRateAttr(op.getDropoutRateAttr());
  attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  attention.getScore().takeBody(op.getScore());
  attention.getMask().takeBody(op.getMask());
  op.getResult(0).replaceAllUsesWith(attention.getResult(0));
  op.erase();
  op = attention;
  return attention.getResult(1);
}

static LogicalResult emitOf(GradientBuilder &b, AttentionOp op,
                            OpGradients &gradients) {
  if (gradients.wants(op.getScale()))
    return refuse(op, "the operand 'scale'; a factor that the score captures "
                      "has one");
  SmallVector<Value> of = {op.getQuery(), op.getKey(), op.getValue()}, outs;
  bool ofSink = gradients.wants(op.getSink());
  if (ofSink)
    of.push_back(op.getSink());
  SmallVector<int64_t> captures;
  for (auto [number, capture] : llvm::enumerate(op.getScoreCaptures()))
    if (gradients.wants(capture)) {
      captures.push_back(int64_t(number));
      of.push_back(capture);
    }
  for (Value value : of)
    outs.push_back(
        isa<ShapedType>(value.getType())
            ? b.emptyLike(value)
            : tensor::EmptyOp::create(b, ArrayRef<int64_t>{}, value.getType()));
  Value ofOutput = gradients.getOfResult(0),
        ofLogSumExp =
            op->getNumResults() > 1 ? gradients.getOfResult(1) : Value();
  Value logSumExp = emitLogSumExp(b, op);
  if (!ofOutput)
    ofOutput = b.fill(b.emptyLike(op.getResult(0)), 0.0);
  auto backward =
      AttentionBackwardOp::create(b, op, op.getResult(0), logSumExp, ofOutput,
                                  ofLogSumExp, outs, ofSink, captures);
  for (auto [value, gradient] : llvm::zip(of, backward.getResults()))
    gradients.set(value,
                  isa<ShapedType>(value.getType())
                      ? Value(gradient)
                      : tensor::ExtractOp::create(b, gradient, ValueRange()));
  return success();
}

//===----------------------------------------------------------------------===//
// The rest of a layer
//===----------------------------------------------------------------------===//

/// A rotation's transpose is the rotation by the opposite angle.
static LogicalResult emitOf(GradientBuilder &b, RopeOp op,
                            OpGradients &gradients) {
  if (gradients.wants(op.getCosine()) || gradients.wants(op.getSine()))
    return refuse(op, "its tables");
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

static LogicalResult emitOf(GradientBuilder &b, DropoutOp op,
                            OpGradients &gradients) {
  Value gradient = gradients.getOfResult(0);
  gradients.set(op.getInput(),
                DropoutOp::create(b, gradient.getType(), gradient,
                                  b.emptyLike(gradient), op.getSeed(),
                                  op.getCall(), op.getRateAttr())
                    .getResult(0));
  return success();
}

/// With r = 1 / sqrt(mean(x^2) + epsilon), g = dy * weight and
/// m = mean(g * x): dx = scale * r * (g - x * r^2 * m), and
/// dweight = sum of scale * dy * x * r.
static LogicalResult emitOf(GradientBuilder &b, HeadNormOp op,
                            OpGradients &gradients) {
  Value input = op.getInput(), weight = op.getWeight(),
        gradient = gradients.getOfResult(0);
  FloatType type = AttentionOp::getAccumulationType(b.elementOf(input));
  int64_t size = op.getInputType().getDimSize(3);
  SmallVector<OpFoldResult> sizes = b.sizes(input);
  sizes.pop_back();
  auto dims = [&](ArrayRef<unsigned> numbers) {
    SmallVector<AffineExpr> exprs;
    for (unsigned number : numbers)
      exprs.push_back(b.getAffineDimExpr(number));
    return AffineMap::get(4, 0, exprs, b.getContext());
  };
  AffineMap all = dims({0, 1, 2, 3}), row = dims({0, 1, 2});
  AffineMap ofWeight =
      weight && cast<ShapedType>(weight.getType()).getRank() == 2 ? dims({1, 3})
                                                                  : dims({3});
  auto sumRows = [&](ValueRange inputs, ArrayRef<AffineMap> maps,
                     function_ref<Value(ValueRange)> term) {
    SmallVector<AffineMap> with(maps);
    with.push_back(row);
    Value sums = b.fill(b.empty(sizes, type), 0.0);
    return b.generic(inputs, sums, with, [&](ValueRange args) {
      return b.addF(args.back(), term(args));
    });
  };
  Value squares = sumRows({input}, {all}, [&](ValueRange args) {
    Value x = b.convert(args[0], type);
    return b.mulF(x, x);
  });
  AffineMap rows = b.getMultiDimIdentityMap(3);
  Value roots =
      b.generic({squares}, b.empty(sizes, type), {rows, rows},
                [&](ValueRange args) -> Value {
                  Value mean =
                      b.mulF(args[0], b.real(type, 1.0 / double(size)));
                  Value sum = arith::AddFOp::create(
                      b, mean, b.real(type, op.getEpsilon().convertToDouble()));
                  return math::RsqrtOp::create(b, sum);
                });
  double scale = op.getScale();
  if (gradients.wants(input)) {
    SmallVector<Value> inputs = {input, gradient};
    SmallVector<AffineMap> maps = {all, all};
    if (weight) {
      inputs.push_back(weight);
      maps.push_back(ofWeight);
    }
    auto weighted = [&](ValueRange args) {
      Value g = b.convert(args[1], type);
      return weight ? b.mulF(g, b.convert(args[2], type)) : g;
    };
    Value products = sumRows(inputs, maps, [&](ValueRange args) {
      return b.mulF(weighted(args), b.convert(args[0], type));
    });
    inputs.append({roots, products});
    maps.append({row, row, all});
    size_t root = inputs.size() - 2;
    Value result = b.generic(
        inputs, b.emptyLike(input), maps, [&](ValueRange args) -> Value {
          Value r = args[root];
          Value mean = b.mulF(args[root + 1], b.real(type, 1.0 / double(size)));
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
    sums = b.generic({input, gradient, roots}, sums, {all, all, row, ofWeight},
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

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

namespace {

/// The gradients of an attn.projection, y = x * W + bias.
class ProjectionGradients {
public:
  ProjectionGradients(GradientBuilder &b, ProjectionOp op,
                      OpGradients &gradients)
      : b(b), op(op), gradients(gradients), type(op.getAccumulationType()) {}

  LogicalResult emit() {
    if (op.hasPanels())
      return refuse(op, "a packed weight");
    if (!isa<FloatType>(op.getWeightType().getElementType()))
      return refuse(op, "a weight of integers");
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

static LogicalResult emitOf(GradientBuilder &b, ProjectionOp op,
                            OpGradients &gradients) {
  return ProjectionGradients(b, op, gradients).emit();
}

//===----------------------------------------------------------------------===//
// Ordinary operations on tensors
//===----------------------------------------------------------------------===//

/// Each operand of an elementwise operation: the sum, over the loops that the
/// operand is the same in, of the gradient times the derivative of the body.
static LogicalResult emitOf(GradientBuilder &b, linalg::GenericOp op,
                            OpGradients &gradients) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return refuse(op, "it is not elementwise");
  Value gradient = gradients.getOfResult(0);
  AffineMap ofResult = op.getIndexingMapsArray().back();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!gradients.wants(*operand))
      continue;
    Value input = operand->get();
    FloatType element = cast<FloatType>(getElementTypeOrSelf(input.getType()));
    FloatType type = AttentionOp::getAccumulationType(element);
    if (!isa<ShapedType>(input.getType()))
      return refuse(op, "an operand that is a scalar");
    AffineMap ofInput = op.getMatchingIndexingMap(operand);
    SmallVector<Value> inputs(op.getInputs());
    SmallVector<AffineMap> maps(op.getIndexingMapsArray());
    maps.back() = ofResult;
    inputs.push_back(gradient);
    maps.push_back(ofInput);
    // A sum only where the input is the same for several elements.
    bool isSum = !ofInput.isPermutation();
    Value sums = isSum ? b.fill(b.emptyLike(input, type), 0.0)
                       : b.emptyLike(input, element);
    LogicalResult result = success();
    bool isOne = false;
    sums = b.generic(inputs, sums, maps, [&](ValueRange args) -> Value {
      FailureOr<Value> slope =
          emitDerivative(b, *op.getBody(), args.take_front(inputs.size() - 1),
                         operand->getOperandNumber());
      result = slope;
      if (failed(slope))
        return args.back();
      isOne = matchPattern(*slope, m_OneFloat());
      Value product = b.mulF(b.convert(*slope, type),
                             b.convert(args[inputs.size() - 1], type));
      return isSum ? b.addF(args.back(), product) : b.convert(product, element);
    });
    if (failed(result))
      return failure();
    // What is added passes its gradient on.
    if (isOne && ofInput == ofResult && gradient.getType() == input.getType())
      sums = gradient;
    gradients.set(input, b.convertAll(sums, element));
  }
  return success();
}

static LogicalResult emitOf(GradientBuilder &b, linalg::TransposeOp op,
                            OpGradients &gradients) {
  Value gradient = gradients.getOfResult(0);
  gradients.set(op.getInput(), linalg::TransposeOp::create(
                                   b, gradient, b.emptyLike(op.getInput()),
                                   invertPermutationVector(op.getPermutation()))
                                   ->getResult(0));
  return success();
}

static LogicalResult emitOf(GradientBuilder &b, tensor::CastOp op,
                            OpGradients &gradients) {
  gradients.set(op.getSource(),
                tensor::CastOp::create(b, op.getSource().getType(),
                                       gradients.getOfResult(0)));
  return success();
}

static LogicalResult emitOf(GradientBuilder &b, tensor::CollapseShapeOp op,
                            OpGradients &gradients) {
  gradients.set(op.getSrc(),
                tensor::ExpandShapeOp::create(
                    b, op.getSrcType(), gradients.getOfResult(0),
                    op.getReassociationIndices(), b.sizes(op.getSrc())));
  return success();
}

static LogicalResult emitOf(GradientBuilder &b, tensor::ExpandShapeOp op,
                            OpGradients &gradients) {
  gradients.set(op.getSrc(), tensor::CollapseShapeOp::create(
                                 b, op.getSrcType(), gradients.getOfResult(0),
                                 op.getReassociationIndices()));
  return success();
}

static LogicalResult emitOf(GradientBuilder &b, tensor::ExtractSliceOp op,
                            OpGradients &gradients) {
  Value zeros = b.fill(b.emptyLike(op.getSource()), 0.0);
  gradients.set(op.getSource(),
                tensor::InsertSliceOp::create(
                    b, gradients.getOfResult(0), zeros, op.getMixedOffsets(),
                    op.getMixedSizes(), op.getMixedStrides()));
  return success();
}

LogicalResult attn::emitGradients(OpBuilder &builder, Operation *op,
                                  OpGradients &gradients) {
  GradientBuilder b(op->getLoc(), builder);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AttentionOp, DropoutOp, HeadNormOp, ProjectionOp, RopeOp,
            linalg::GenericOp, linalg::TransposeOp, tensor::CastOp,
            tensor::CollapseShapeOp, tensor::ExpandShapeOp,
            tensor::ExtractSliceOp>(
          [&](auto known) { return emitOf(b, known, gradients); })
      .Default([](Operation *op) {
        return LogicalResult(op->emitError("'")
                             << op->getName() << "' has no gradient");
      });
}
