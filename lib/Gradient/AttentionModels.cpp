//===- AttentionModels.cpp - Derivatives of attention ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/Models.h"

using namespace mlir;
using namespace mlir::attn;

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
  assign(attention.getDropoutKeyMutable(), op.getDropoutKey());
  attention.getScoreCapturesMutable().assign(op.getScoreCaptures());
  attention.getMaskCapturesMutable().assign(op.getMaskCaptures());
  attention.setStaticScaleAttr(op.getStaticScaleAttr());
  attention.setBottomRight(op.getBottomRight());
  attention.setDropoutRateAttr(op.getDropoutRateAttr());
  attention.setDropoutHeadsAttr(op.getDropoutHeadsAttr());
  attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  attention.getScore().takeBody(op.getScore());
  attention.getMask().takeBody(op.getMask());
  op.getResult(0).replaceAllUsesWith(attention.getResult(0));
  op.erase();
  op = attention;
  return attention.getResult(1);
}

static LogicalResult refuseScale(Operation *op) {
  return refuseGradient(op,
                        "the operand 'scale'; a factor that the score captures "
                        "has one");
}

namespace {
/// What is named in the gradients of an attention.
struct NamedOperands {
  template <typename Op> NamedOperands(Op op, OpGradients &gradients) {
    ofSink = gradients.wants(op.getSink());
    if (ofSink)
      values.push_back(op.getSink());
    for (auto [number, capture] : llvm::enumerate(op.getScoreCaptures()))
      if (gradients.wants(capture)) {
        captures.push_back(int64_t(number));
        values.push_back(capture);
      }
  }

  bool ofSink;
  SmallVector<int64_t> captures;
  SmallVector<Value> values;
};
} // namespace

/// Where the gradients of these operands go.
static SmallVector<Value> emitDestinations(GradientBuilder &b,
                                           ArrayRef<Value> of) {
  SmallVector<Value> outs;
  for (Value value : of)
    outs.push_back(
        isa<ShapedType>(value.getType())
            ? b.emptyLike(value)
            : tensor::EmptyOp::create(b, ArrayRef<int64_t>{}, value.getType()));
  return outs;
}

static void setAll(GradientBuilder &b, ArrayRef<Value> of, ValueRange results,
                   OpGradients &gradients) {
  for (auto [value, gradient] : llvm::zip_equal(of, results))
    gradients.set(value,
                  isa<ShapedType>(value.getType())
                      ? Value(gradient)
                      : tensor::ExtractOp::create(b, gradient, ValueRange()));
}

/// The gradient of the output, and that of the log-sum-exp if there is one.
static std::pair<Value, Value> emitOfResults(GradientBuilder &b, Operation *op,
                                             OpGradients &gradients) {
  Value ofOutput = gradients.getOfResult(0),
        ofLogSumExp =
            op->getNumResults() > 1 ? gradients.getOfResult(1) : Value();
  if (!ofOutput)
    ofOutput = b.fill(b.emptyLike(op->getResult(0)), 0.0);
  return {ofOutput, ofLogSumExp};
}

static LogicalResult emitGradients(GradientBuilder &b, AttentionOp op,
                                   OpGradients &gradients) {
  if (gradients.wants(op.getScale()))
    return refuseScale(op);
  SmallVector<Value> of = {op.getQuery(), op.getKey(), op.getValue()};
  NamedOperands named(op, gradients);
  llvm::append_range(of, named.values);
  SmallVector<Value> outs = emitDestinations(b, of);
  auto [ofOutput, ofLogSumExp] = emitOfResults(b, op, gradients);
  Value logSumExp = emitLogSumExp(b, op);
  auto backward = AttentionBackwardOp::create(b, op, op.getResult(0), logSumExp,
                                              ofOutput, ofLogSumExp, outs,
                                              named.ofSink, named.captures);
  setAll(b, of, backward.getResults(), gradients);
  return success();
}

LogicalResult attn::emitMultiTokenGradients(GradientBuilder &b,
                                            MultiTokenAttentionOp op,
                                            OpGradients &gradients) {
  if (gradients.wants(op.getScale()))
    return refuseScale(op);
  SmallVector<Value> of = {op.getQuery(), op.getKey(), op.getValue()};
  for (Value stage : {op.getKernelBefore(), op.getMixingBefore(),
                      op.getKernelAfter(), op.getMixingAfter()})
    if (stage)
      of.push_back(stage);
  NamedOperands named(op, gradients);
  llvm::append_range(of, named.values);
  SmallVector<Value> outs = emitDestinations(b, of);
  auto [ofOutput, ofLogSumExp] = emitOfResults(b, op, gradients);
  auto backward = MultiTokenAttentionBackwardOp::create(
      b, op, ofOutput, ofLogSumExp, outs, named.ofSink, named.captures);
  setAll(b, of, backward.getResults(), gradients);
  return success();
}

static LogicalResult emitTangents(GradientBuilder &b, AttentionOp op,
                                  OpTangents &tangents) {
  if (tangents.moves(op.getScale()))
    return refuseTangent(op, "the operand 'scale'; a factor that the score "
                             "captures has one");
  bool ofLogSumExp = bool(op.getLogSumExp());
  Value logSumExp = emitLogSumExp(b, op);
  SmallVector<Value> outs = {b.emptyLike(op.getResult(0))};
  if (ofLogSumExp)
    outs.push_back(b.emptyLike(logSumExp));
  SmallVector<int64_t> captures;
  SmallVector<Value> ofCaptures;
  for (auto [number, capture] : llvm::enumerate(op.getScoreCaptures()))
    if (Value tangent = tangents.get(capture)) {
      captures.push_back(int64_t(number));
      ofCaptures.push_back(tangent);
    }
  auto tangent = AttentionTangentOp::create(
      b, op, op.getResult(0), logSumExp, outs, tangents.get(op.getQuery()),
      tangents.get(op.getKey()), tangents.get(op.getValue()),
      tangents.get(op.getSink()), ofCaptures, captures);
  for (auto [value, result] : llvm::zip(op.getResults(), tangent.getResults()))
    tangents.set(value, result);
  return success();
}

void attn::attachAttentionModels(MLIRContext *context) {
  attachModel<AttentionOp, emitGradients, emitTangents>(context);
}
