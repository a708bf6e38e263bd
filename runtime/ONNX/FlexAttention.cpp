//===- FlexAttention.cpp - Attention with graphs of scores ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FlexAttention of ai.onnx.preview, version 1. The graph of `score_mod` becomes
// the regions of an attention. One of `prob_mod` stands between the softmax and
// the sums of values, which an attention does not: these are computed over all
// probabilities.
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"
#include "runtime/ONNX/ElementGraph.h"
#include "runtime/ONNX/Nodes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <limits>

using namespace attn;
using namespace attn::onnx;

/// Makes the graph of scores the code of an attention.
static void addGraph(AttentionVariant &variant, const ElementGraph &graph) {
  if (!graph.score->isScore) {
    variant.scoreCaptures = graph.captures;
    variant.score = [graph](mlir::attn::RegionBuilder at, Value s,
                            const mlir::attn::Position &position,
                            ValueRange captures) {
      ElementScope scope(at, s, position, captures);
      return scope.loadBroadcast(graph.score, graph.shape, scope.position);
    };
  }
  if (!graph.keep)
    return;
  variant.maskCaptures = graph.captures;
  variant.mask = [graph](mlir::attn::RegionBuilder at,
                         const mlir::attn::Position &position,
                         ValueRange captures) {
    ElementScope scope(at, /*score=*/Value(), position, captures);
    return scope.loadBroadcast(graph.keep, graph.shape, scope.position);
  };
}

/// Probabilities as a graph changes them.
static Value changeProbabilities(Builder &b, Value probabilities,
                                 const ElementGraph &graph) {
  return computeElements(
      b, probabilities, sizesOf(b, probabilities),
      typeOf(probabilities).getElementType(),
      [&](OpBuilder &body, Location loc, ValueRange elements) {
        auto index = [&](std::int64_t loop) -> Value {
          return mlir::linalg::IndexOp::create(body, loc, loop);
        };
        ElementScope scope({body, loc}, elements[0],
                           {index(0), index(1), index(2), index(3)},
                           graph.captures);
        Value weight =
            scope.loadBroadcast(graph.score, graph.shape, scope.position);
        if (!graph.keep)
          return weight;
        Value keep =
            scope.loadBroadcast(graph.keep, graph.shape, scope.position);
        Value hidden = mlir::arith::ConstantOp::create(
            body, loc,
            body.getFloatAttr(weight.getType(),
                              -std::numeric_limits<double>::infinity()));
        return mlir::arith::SelectOp::create(body, loc, keep, weight, hidden)
            .getResult();
      });
}

static LogicalResult importFlexAttention(NodeImport &at) {
  static constexpr StringRef names[] = {"Q", "K", "V"};
  Builder &b = at.b;
  for (unsigned i = 0; i < 3; ++i)
    if (failed(at.rank(i, names[i], 4)))
      return failure();
  AttentionVariant variant;
  variant.query = at.input(0);
  variant.key = at.input(1);
  variant.value = at.input(2);
  if (failed(
          checkAttention(at, variant.query, variant.key, variant.value, names)))
    return failure();
  FailureOr<std::optional<double>> scale = at.number("scale");
  if (failed(scale))
    return failure();
  if (scale->value_or(0) < 0) // Queries and keys are multiplied by its root.
    return at.error() << "attribute 'scale': expected a number of at least 0, "
                         "got "
                      << **scale;
  variant.scale = *scale;

  auto type =
      llvm::cast<mlir::FloatType>(typeOf(variant.query).getElementType());
  mlir::FloatType sumType = getAccumulationType(type);
  DataType own = sumType.isF64() ? DataType::f64 : DataType::f32;
  FailureOr<std::int64_t> precision =
      at.integer("softmax_precision", std::int64_t(own));
  if (failed(precision))
    return failure();
  if (DataType(*precision) == DataType::f64) {
    sumType = b.getF64Type();
    for (Value *value : {&variant.query, &variant.key, &variant.value})
      *value = convertFloats(b, *value, sumType);
  } else if (DataType(*precision) != own) {
    return at.error() << "attribute 'softmax_precision': expected "
                      << std::int64_t(own) << " or 11, got " << *precision;
  }

  Sizes shape = sizesOf(b, variant.query);
  shape[3] = sizeOf(b, variant.key, 2);
  FailureOr<std::shared_ptr<const Graph>> scoreGraph = at.graph("score_mod");
  FailureOr<std::shared_ptr<const Graph>> weightGraph = at.graph("prob_mod");
  if (failed(scoreGraph) || failed(weightGraph))
    return failure();
  if (*scoreGraph) {
    FailureOr<ElementGraph> graph =
        readElementGraph(at, **scoreGraph, "score_mod", shape, sumType);
    if (failed(graph))
      return failure();
    addGraph(variant, *graph);
  }
  if (!*weightGraph) {
    at.setOutput(0, convertFloats(b, createAttention(b, variant).output, type));
    return success();
  }
  FailureOr<ElementGraph> graph =
      readElementGraph(at, **weightGraph, "prob_mod", shape, sumType);
  if (failed(graph))
    return failure();
  AttentionResult result = createAttention(b, variant, /*wantsLogSumExp=*/true);
  Value weights = createScores(b, variant, ScoreStage::probabilities,
                               result.logSumExp, sumType);
  weights = changeProbabilities(b, weights, *graph);
  at.setOutput(
      0, convertFloats(b, createWeightedSums(b, weights, variant.value), type));
  return success();
}

ArrayRef<Operator> attn::onnx::getFlexAttentionOperators() {
  static const Operator operators[] = {
      {previewDomain, "FlexAttention", 1, 1, 3, 3, 1, importFlexAttention}};
  return operators;
}
