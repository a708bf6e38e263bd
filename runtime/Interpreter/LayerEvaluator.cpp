//===- LayerEvaluator.cpp - Evaluates a layer -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/LayerEvaluator.h"
#include "dialect/Shared/OperandGroups.h"
#include "runtime/Bridge/ElementTypes.h"
#include "runtime/Interpreter/CacheEvaluator.h"
#include "runtime/Interpreter/RegionInterpreter.h"
#include "runtime/Reference/MultiHeadAttention.h"
#include "runtime/Reference/Values.h"

#include "mlir/IR/Diagnostics.h"

using namespace attn;
using namespace attn::interpreter;
using mlir::attn::MultiHeadAttentionOp;
using reference::Cache;
using reference::MultiHeadAttentionProblem;
using TensorPtr = std::shared_ptr<const Tensor>;

namespace {

class LayerEvaluator {
public:
  LayerEvaluator(MultiHeadAttentionOp op, ArrayRef<Datum> operands)
      : op(op), operands(operands) {}

  FailureOr<std::vector<Datum>> evaluate() {
    if (failed(checkOperands(op, operands, op.getSizeConstraints(),
                             op.getOuts().take_front())))
      return failure();
    setTensors();
    setCaches();
    if (failed(setAttention()))
      return failure();
    auto result = reference::multiHeadAttention(problem);
    if (!result)
      return emitError() << result.error().message;
    std::vector<Datum> results = {
        create(op.getOuts()[0], std::move(result->output))};
    bool isQuantized = op.getOuts().size() == 5;
    for (auto [cache, out] :
         llvm::zip(result->caches, op.getOuts().drop_front()))
      if (isQuantized)
        results.push_back(
            create(out, std::vector<std::int64_t>(cache.elements.begin(),
                                                  cache.elements.end())));
      else
        results.push_back(create(out, cache.elements));
    if (isQuantized)
      for (auto [cache, out] :
           llvm::zip(result->caches, op.getOuts().drop_front(3)))
        results.push_back(create(out, cache.scales));
    return results;
  }

private:
  mlir::InFlightDiagnostic emitError() { return mlir::emitError(op.getLoc()); }

  const Datum &get(Value value) {
    auto all = op->getOperands();
    return operands[std::size_t(llvm::find(all, value) - all.begin())];
  }
  const Tensor &tensor(Value value) { return *std::get<TensorPtr>(get(value)); }
  std::int64_t integer(Value value) {
    return std::get<APInt>(get(value)).getSExtValue();
  }

  MultiHeadAttentionProblem::Map map(mlir::OperandRange range) {
    mlir::attn::ProjectionMap given = MultiHeadAttentionOp::getMap(range, "");
    MultiHeadAttentionProblem::Map result;
    if (given.weight)
      result.weight = tensor(given.weight).view;
    if (given.scales)
      result.scales = tensor(given.scales).view;
    if (given.bias)
      result.bias = tensor(given.bias).view;
    return result;
  }

  void setTensors() {
    problem.queryHeads = std::int64_t(op.getQueryHeads());
    problem.keyValueHeads = std::int64_t(op.getKeyValueHeads());
    problem.keySize = std::int64_t(op.getKeySize());
    problem.valueSize = std::int64_t(op.getValueSize());
    problem.input = tensor(op.getInput()).view;
    if (op.getSource())
      problem.source = tensor(op.getSource()).view;
    for (Value rows : op.getMemory())
      problem.memory.push_back(tensor(rows).view);
    problem.qkv = map(op.getQkv());
    problem.query = map(op.getQuery());
    problem.key = map(op.getKey());
    problem.value = map(op.getValue());
    problem.output = map(op.getOutput());
    problem.gate = map(op.getGate());
    problem.outputWidth = tensor(op.getOuts()[0]).view.size(2);
    if (!op.getGate().empty())
      problem.gateSize = op.getGateSize();
    for (Value weight : op.getNorms())
      problem.norms.push_back(tensor(weight).view);
    if (op.getOutputNorm())
      problem.outputNorm = tensor(op.getOutputNorm()).view;
    if (auto layer = op.getLayer())
      problem.layer = std::int64_t(*layer);
    problem.epsilon = op.getEpsilon().convertToDouble();
    for (Value table : op.getRope())
      problem.rope.push_back(tensor(table).view);
    problem.interleaved =
        op.getPairing() == mlir::attn::RopePairing::Interleaved;
    if (op.getPositions())
      problem.positions = getIntegers(tensor(op.getPositions()));
  }

  void setCaches() {
    if (!op.hasCache())
      return;
    problem.lengths = getIntegers(tensor(op.getLengths()));
    if (op.getCounts())
      problem.counts = getIntegers(tensor(op.getCounts()));
    for (unsigned number : {1, 2}) {
      const Tensor &stored = tensor(op.getOuts()[number]);
      Cache cache;
      cache.kind = op.getTable()  ? Cache::Kind::paged
                   : op.getRing() ? Cache::Kind::ring
                                  : Cache::Kind::contiguous;
      cache.type = *convertElementType(stored.elementType);
      std::copy_n(stored.view.sizes().begin(), 4, cache.shape.begin());
      cache.elements = *reference::toDoubles("cache", stored.view);
      if (op.getOuts().size() == 5)
        cache.scales = *reference::toDoubles(
            "scales", tensor(op.getOuts()[number + 2]).view);
      if (op.getTable()) {
        cache.table = getIntegers(tensor(op.getTable()));
        cache.maxPages = tensor(op.getTable()).view.size(1);
      }
      problem.caches.push_back(std::move(cache));
    }
    const Cache &keys = problem.caches[0];
    problem.size = op.getSize()
                       ? integer(op.getSize())
                       : keys.shape[2] * (op.getTable() ? keys.maxPages : 1);
  }

  LogicalResult setAttention() {
    reference::AttentionProblem &attention = problem.attention;
    if (mlir::FloatAttr scale = op.getStaticScaleAttr())
      attention.scale = scale.getValueAsDouble();
    if (Value offset = op.getOffset()) {
      if (llvm::isa<mlir::ShapedType>(offset.getType()))
        attention.offsets = getIntegers(tensor(offset));
      else
        attention.offsets = {integer(offset)};
    }
    if (op.isPacked()) {
      attention.cuQuery = getIntegers(tensor(op.getSequences()[0]));
      attention.cuKey = getIntegers(tensor(op.getSequences()[1]));
    }
    if (op.getSink())
      attention.sink = *reference::toDoubles("sink", tensor(op.getSink()).view);
    if (op.hasDropout()) {
      problem.seed = std::get<APInt>(get(op.getDropoutSeed())).getZExtValue();
      problem.call = std::uint32_t(
          std::get<APInt>(get(op.getDropoutCall())).getZExtValue());
      problem.outputRate = op.getOutputRate()->convertToDouble();
      attention.dropout = {op.getProbabilityRate()->convertToDouble(),
                           problem.seed, problem.call};
    }
    auto lookup = [&](mlir::OperandRange captures) {
      std::vector<Datum> data;
      for (Value capture : captures)
        data.push_back(get(capture));
      return data;
    };
    if (!op.getMask().empty()) {
      auto mask = createMask(op.getMask(), lookup(op.getMaskCaptures()));
      if (failed(mask))
        return failure();
      attention.mask = std::move(*mask);
    }
    if (!op.getScore().empty()) {
      auto score = createScore(op.getScore(), lookup(op.getScoreCaptures()));
      if (failed(score))
        return failure();
      attention.score = std::move(*score);
    }
    return success();
  }

  /// A tensor of the type and the sizes of a destination.
  template <typename T> TensorPtr create(Value out, std::vector<T> elements) {
    const Tensor &destination = tensor(out);
    auto sizes = destination.view.sizes();
    return Tensor::create(destination.elementType, {sizes.data(), sizes.size()},
                          std::move(elements));
  }

  MultiHeadAttentionOp op;
  ArrayRef<Datum> operands;
  MultiHeadAttentionProblem problem;
};

} // namespace

FailureOr<std::vector<Datum>>
interpreter::evaluateLayer(MultiHeadAttentionOp op, ArrayRef<Datum> operands) {
  return LayerEvaluator(op, operands).evaluate();
}
