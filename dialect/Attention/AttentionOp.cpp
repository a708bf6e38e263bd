//===- AttentionOp.cpp - The attention ops: types and sizes ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/Clauses.h"
#include "dialect/Attention/PointwiseRegionAssembly.h"
#include "dialect/AttnOps.h"
#include "dialect/Layer/RowTiling.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

#include "dialect/AttnEnums.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/AttnOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Building and properties
//===----------------------------------------------------------------------===//

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, ValueRange outs) {
  SmallVector<Type> results;
  inferResultTypes(outs, results); // A9
  build(builder, state, results, query, key, value, outs, /*scale=*/Value(),
        /*offset=*/Value(), /*sink=*/Value(), /*cumulative_query=*/Value(),
        /*cumulative_key=*/Value(), /*counts=*/Value(),
        /*dropout_seed=*/Value(), /*dropout_call=*/Value(),
        /*dropout_line=*/Value(), /*dropout_key=*/Value(),
        /*score_captures=*/ValueRange(), /*mask_captures=*/ValueRange(),
        /*static_scale=*/FloatAttr(), /*bottom_right=*/false,
        /*dropout_rate=*/FloatAttr(), /*dropout_heads=*/IntegerAttr());
}

void MultiTokenAttentionOp::build(OpBuilder &builder, OperationState &state,
                                  Value query, Value key, Value value,
                                  ValueRange outs) {
  SmallVector<Type> results;
  inferResultTypes(outs, results); // T11
  build(builder, state, results, query, key, value, outs, /*scale=*/Value(),
        /*offset=*/Value(), /*sink=*/Value(), /*kernel_before=*/Value(),
        /*mixing_before=*/Value(), /*kernel_after=*/Value(),
        /*mixing_after=*/Value(), /*dropout_seed=*/Value(),
        /*dropout_call=*/Value(), /*score_captures=*/ValueRange(),
        /*mask_captures=*/ValueRange(), /*static_scale=*/FloatAttr(),
        /*bottom_right=*/false, /*dropout_rate=*/FloatAttr());
}

/// Gives the gradients of `attention` its regions.
static void cloneRegions(Operation *attention, OperationState &state) {
  for (auto [to, from] : llvm::zip(state.regions, attention->getRegions())) {
    IRMapping mapping;
    from.cloneInto(to.get(), mapping);
  }
}

void AttentionBackwardOp::build(OpBuilder &builder, OperationState &state,
                                AttentionOp attention, Value output,
                                Value logSumExp, Value outputGradient,
                                Value logSumExpGradient, ValueRange outs,
                                bool ofSink, ArrayRef<int64_t> ofCaptures) {
  SmallVector<Type> results;
  inferResultTypes(outs, results); // G7
  build(builder, state, results, attention.getQuery(), attention.getKey(),
        attention.getValue(), output, logSumExp, outputGradient,
        logSumExpGradient, outs, attention.getScale(), attention.getOffset(),
        attention.getSink(), attention.getCumulativeQuery(),
        attention.getCumulativeKey(), attention.getCounts(),
        attention.getDropoutSeed(), attention.getDropoutCall(),
        attention.getDropoutLine(), attention.getDropoutKey(),
        attention.getScoreCaptures(), attention.getMaskCaptures(),
        attention.getStaticScaleAttr(), attention.getBottomRight(),
        attention.getDropoutRateAttr(), attention.getDropoutHeadsAttr(), ofSink,
        ofCaptures);
  cloneRegions(attention, state);
}

void MultiTokenAttentionBackwardOp::build(
    OpBuilder &builder, OperationState &state, MultiTokenAttentionOp attention,
    Value outputGradient, Value logSumExpGradient, ValueRange outs, bool ofSink,
    ArrayRef<int64_t> ofCaptures) {
  SmallVector<Type> results;
  inferResultTypes(outs, results); // B7
  build(builder, state, results, attention.getQuery(), attention.getKey(),
        attention.getValue(), outputGradient, logSumExpGradient, outs,
        attention.getScale(), attention.getOffset(), attention.getSink(),
        attention.getKernelBefore(), attention.getMixingBefore(),
        attention.getKernelAfter(), attention.getMixingAfter(),
        attention.getDropoutSeed(), attention.getDropoutCall(),
        attention.getScoreCaptures(), attention.getMaskCaptures(),
        attention.getStaticScaleAttr(), attention.getBottomRight(),
        attention.getDropoutRateAttr(), ofSink, ofCaptures);
  cloneRegions(attention, state);
}

void AttentionTangentOp::build(OpBuilder &builder, OperationState &state,
                               AttentionOp attention, Value output,
                               Value logSumExp, ValueRange outs,
                               Value queryTangent, Value keyTangent,
                               Value valueTangent, Value sinkTangent,
                               ValueRange captureTangents,
                               ArrayRef<int64_t> ofCaptures) {
  SmallVector<Type> results;
  inferResultTypes(outs, results); // J7
  build(builder, state, results, attention.getQuery(), attention.getKey(),
        attention.getValue(), output, logSumExp, outs, attention.getScale(),
        attention.getOffset(), attention.getSink(),
        attention.getCumulativeQuery(), attention.getCumulativeKey(),
        attention.getCounts(), attention.getDropoutSeed(),
        attention.getDropoutCall(), attention.getDropoutLine(),
        attention.getDropoutKey(), attention.getScoreCaptures(),
        attention.getMaskCaptures(), queryTangent, keyTangent, valueTangent,
        sinkTangent, captureTangents, attention.getStaticScaleAttr(),
        attention.getBottomRight(), attention.getDropoutRateAttr(),
        attention.getDropoutHeadsAttr(), ofCaptures);
  cloneRegions(attention, state);
}

SmallVector<AttentionTangentOp::Tangent> AttentionTangentOp::getTangents() {
  SmallVector<Tangent> result;
  auto add = [&](Value tangent, Value of, const Twine &name) {
    if (tangent)
      result.push_back({tangent, of, name.str()});
  };
  add(getQueryTangent(), getQuery(), "query");
  add(getKeyTangent(), getKey(), "key");
  add(getValueTangent(), getValue(), "value");
  add(getSinkTangent(), getSink(), "sink");
  for (auto [number, tangent] :
       llvm::zip(getOfCaptures(), getCaptureTangents()))
    add(tangent, getScoreCaptures()[size_t(number)],
        "capture " + Twine(number));
  return result;
}

FloatType AttentionOp::getAccumulationType(FloatType elementType) { // A2
  MLIRContext *context = elementType.getContext();
  return elementType.isF64() ? FloatType(Float64Type::get(context))
                             : FloatType(Float32Type::get(context));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {

OperandSize dim(OperandSize size, int64_t dimension) {
  size.dimension = dimension;
  return size;
}

/// Whether an op has gradients of the output and of the log-sum-exp in place of
/// these.
template <typename Op>
constexpr bool areGradients = std::is_same_v<Op, MultiTokenAttentionBackwardOp>;

template <typename Op> OperandSize getOutputSize(Op op) {
  return {op.getOutput(), 0, areGradients<Op> ? "output_gradient" : "output"};
}

OperandSize getQuerySize(Value query) { return {query, 0, "query"}; }

/// The sizes of query, key, value, output and log-sum-exp, or gradients of the
/// last two. Their query length is that of `rows`; keys are of as many entries
/// as queries, or of a number of their own.
template <typename Op>
SmallVector<SizeConstraint> getMainConstraints(Op op, OperandSize rows,
                                               bool hasOwnBatch) { // A1
  OperandSize query = getQuerySize(op.getQuery()), key{op.getKey(), 0, "key"},
              value{op.getValue(), 0, "value"}, output = getOutputSize(op);
  SmallVector<SizeConstraint> result;
  if (!hasOwnBatch)
    result.push_back({dim(key, 0), dim(query, 0), "batch size"});
  result.append({
      {dim(key, 3), dim(query, 3), "head size of query and key"},
      {dim(value, 0), hasOwnBatch ? dim(key, 0) : dim(query, 0), "batch size"},
      {dim(value, 1), dim(key, 1), "number of key/value heads"},
      {dim(value, 2), dim(key, 2), "key/value length"},
      {dim(output, 0), dim(query, 0), "batch size"},
      {dim(output, 1), dim(query, 1), "number of query heads"},
  });
  if (rows.operand != op.getOutput())
    result.push_back({dim(output, 2), dim(rows, 2), "query length"});
  result.push_back({dim(output, 3), dim(value, 3), "head size of value"});
  if (Value lse = op.getLogSumExp()) {
    OperandSize logSumExp{
        lse, 0, areGradients<Op> ? "log_sum_exp_gradient" : "log-sum-exp"};
    result.push_back({dim(logSumExp, 0), dim(query, 0), "batch size"});
    result.push_back(
        {dim(logSumExp, 1), dim(query, 1), "number of query heads"});
    result.push_back({dim(logSumExp, 2), dim(rows, 2), "query length"});
  }
  return result;
}

} // namespace

/// Of an attention that may have sequences.
template <typename Op>
static SmallVector<SizeConstraint> getConstraints(Op op) {
  OperandSize query = getQuerySize(op.getQuery());
  SmallVector<SizeConstraint> result =
      getMainConstraints(op, query, op.isPacked() && !op.getCumulativeKey());
  if (op.getSink()) { // A6
    OperandSize sink{op.getSink(), 0, "sink"};
    result.push_back({sink, dim(query, 1), "number of query heads"});
    if (cast<ShapedType>(op.getSink().getType()).getRank() == 2)
      result.push_back({dim(sink, 1), dim(query, 2), "query length"});
  }
  SmallVector<OperandSize> perBatch; // A5, A8
  for (auto [operand, name] : {std::pair(op.getOffset(), "offset"),
                               std::pair(op.getDropoutKey(), "dropout_key")})
    if (operand && isa<ShapedType>(operand.getType()))
      perBatch.push_back({operand, 0, name});
  if (op.isPacked()) { // A7
    OperandSize cumulative{op.getCumulativeQuery(), 0, "cumulative_query"};
    result.push_back({dim(query, 0), {}, "batch size of packed sequences", 1});
    if (op.getCumulativeKey())
      result.push_back({{op.getCumulativeKey(), 0, "cumulative_key"},
                        cumulative,
                        "number of sequences + 1"});
    else
      result.push_back(
          {cumulative, {op.getKey(), 0, "key"}, "number of sequences + 1", 1});
    for (OperandSize size : perBatch)
      result.push_back({cumulative, size, "number of sequences + 1", 1});
  } else {
    for (OperandSize size : perBatch)
      result.push_back({size, dim(query, 0), "batch size"});
  }
  if (op.getCounts()) // A7
    result.push_back(
        {{op.getCounts(), 0, "counts"}, dim(query, 0), "batch size"});
  return result;
}

SmallVector<SizeConstraint> AttentionOp::getSizeConstraints() {
  return getConstraints(*this);
}

namespace {

constexpr StringRef kQueryMeanings[] = {"batch size", "number of query heads",
                                        "query length", "head size"};
constexpr StringRef kKeyMeanings[] = {"batch size", "number of key/value heads",
                                      "key/value length", "head size"};

/// `of` has its first dimensions, each with its meaning, in common with `like`.
void addConstraints(OperandSize of, OperandSize like,
                    ArrayRef<StringRef> meanings,
                    SmallVectorImpl<SizeConstraint> &result) {
  for (auto [dimension, meaning] : llvm::enumerate(meanings))
    result.push_back(
        {dim(of, int64_t(dimension)), dim(like, int64_t(dimension)), meaning});
}

/// Those of the gradients of query, key and value.
template <typename Op>
void addGradientConstraints(Op op, SmallVectorImpl<SizeConstraint> &result) {
  OperandRange gradients = op.getOuts();
  addConstraints({gradients[0], 0, "gradient of 'query'"},
                 getQuerySize(op.getQuery()), kQueryMeanings, result);
  addConstraints({gradients[1], 0, "gradient of 'key'"},
                 {op.getKey(), 0, "key"}, kKeyMeanings, result);
  addConstraints({gradients[2], 0, "gradient of 'value'"},
                 {op.getValue(), 0, "value"}, kKeyMeanings, result);
}

} // namespace

SmallVector<SizeConstraint> AttentionBackwardOp::getSizeConstraints() {
  SmallVector<SizeConstraint> result = getConstraints(*this);
  addConstraints({getOutputGradient(), 0, "output_gradient"},
                 {getOutput(), 0, "output"}, kQueryMeanings, result);
  if (getLogSumExpGradient())
    addConstraints({getLogSumExpGradient(), 0, "log_sum_exp_gradient"},
                   getQuerySize(getQuery()),
                   ArrayRef(kQueryMeanings).take_front(3), result);
  addGradientConstraints(*this, result);
  return result;
}

SmallVector<SizeConstraint> AttentionTangentOp::getSizeConstraints() {
  SmallVector<SizeConstraint> result = getConstraints(*this);
  OperandSize output{getOutput(), 0, "output"};
  addConstraints({getOutputTangent(), 0, "tangent of 'output'"}, output,
                 kQueryMeanings, result);
  if (Value tangent = getLogSumExpTangent())
    addConstraints({tangent, 0, "tangent of 'log-sum-exp'"}, output,
                   ArrayRef(kQueryMeanings).take_front(3), result);
  for (auto [tangent, of, name, ofName, meanings] :
       {std::tuple(getQueryTangent(), getQuery(), "tangent of 'query'", "query",
                   ArrayRef(kQueryMeanings)),
        std::tuple(getKeyTangent(), getKey(), "tangent of 'key'", "key",
                   ArrayRef(kKeyMeanings)),
        std::tuple(getValueTangent(), getValue(), "tangent of 'value'", "value",
                   ArrayRef(kKeyMeanings))})
    if (tangent)
      addConstraints({tangent, 0, name}, {of, 0, ofName}, meanings, result);
  constexpr StringRef kSink[] = {"number of query heads", "query length"};
  if (Value tangent = getSinkTangent())
    addConstraints({tangent, 0, "tangent of 'sink'"}, {getSink(), 0, "sink"},
                   ArrayRef(kSink).take_front(
                       size_t(cast<ShapedType>(getSink().getType()).getRank())),
                   result);
  for (auto [number, tangent] :
       llvm::zip(getOfCaptures(), getCaptureTangents())) {
    Value capture = getScoreCaptures()[size_t(number)];
    auto type = dyn_cast<ShapedType>(capture.getType());
    SmallVector<StringRef> meanings(type ? size_t(type.getRank()) : 0, "size");
    addConstraints({tangent, 0, "tangent of a capture"},
                   {capture, 0, "score_captures"}, meanings, result);
  }
  return result;
}

/// Of multi-token attention.
template <typename Op>
static SmallVector<SizeConstraint> getMultiTokenConstraints(Op op) {
  OperandSize query = getQuerySize(op.getQuery()), output = getOutputSize(op);
  SmallVector<SizeConstraint> result =
      getMainConstraints(op, output, /*hasOwnBatch=*/false); // T2
  if (op.getSink())                                          // A6
    result.push_back(
        {{op.getSink(), 0, "sink"}, dim(query, 1), "number of query heads"});
  if (op.getOffset() && isa<ShapedType>(op.getOffset().getType())) // A5
    result.push_back({{op.getOffset(), 0, "offset"}, query, "batch size"});
  for (auto [kernel, name] : {std::pair(op.getKernelBefore(), "kernel_before"),
                              std::pair(op.getKernelAfter(), "kernel_after")})
    if (kernel) // T3
      result.push_back(
          {{kernel, 0, name}, dim(query, 1), "number of query heads"});
  return result;
}

SmallVector<SizeConstraint> MultiTokenAttentionOp::getSizeConstraints() {
  return getMultiTokenConstraints(*this);
}

SmallVector<SizeConstraint>
MultiTokenAttentionBackwardOp::getSizeConstraints() {
  SmallVector<SizeConstraint> result = getMultiTokenConstraints(*this);
  addGradientConstraints(*this, result);
  return result;
}
