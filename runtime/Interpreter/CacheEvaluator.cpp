//===- CacheEvaluator.cpp - Ops beside attention ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/CacheEvaluator.h"
#include "runtime/Interpreter/LayerEvaluator.h"

#include "dialect/AttnOps.h"
#include "runtime/Bridge/ElementTypes.h"
#include "runtime/Reference/Cache.h"
#include "runtime/Reference/Layer.h"
#include "runtime/Reference/Values.h"

#include "mlir/IR/Diagnostics.h"

using namespace attn;
using namespace attn::interpreter;
using reference::Cache;
using TensorPtr = std::shared_ptr<const Tensor>;

/// Appends the elements whose first indices are `indices`.
static void addIntegers(const Tensor &tensor,
                        SmallVector<std::int64_t> &indices,
                        std::vector<std::int64_t> &result) {
  if (int(indices.size()) == tensor.view.rank()) {
    result.push_back(std::get<APInt>(tensor.load(indices)).getSExtValue());
    return;
  }
  for (std::int64_t i = 0; i < tensor.view.size(int(indices.size())); ++i) {
    indices.push_back(i);
    addIntegers(tensor, indices, result);
    indices.pop_back();
  }
}

std::vector<std::int64_t> interpreter::getIntegers(const Tensor &tensor) {
  std::vector<std::int64_t> result;
  SmallVector<std::int64_t> indices;
  addIntegers(tensor, indices, result);
  return result;
}

LogicalResult
interpreter::checkOperands(Operation *op, ArrayRef<Datum> operands,
                           ArrayRef<mlir::attn::SizeConstraint> constraints,
                           mlir::ValueRange outs) {
  auto sizeOf = [&](const mlir::attn::OperandSize &size) {
    auto all = op->getOperands();
    auto index = std::size_t(llvm::find(all, size.operand) - all.begin());
    return std::get<TensorPtr>(operands[index])->view.size(int(size.dimension));
  };
  for (const mlir::attn::SizeConstraint &constraint : constraints) {
    if (constraint.size.operand.getDefiningOp() == op)
      continue; // Follows from the rest.
    std::int64_t size = sizeOf(constraint.size), expected = constraint.delta;
    if (constraint.reference.operand)
      expected += sizeOf(constraint.reference);
    if (size != expected)
      return mlir::emitError(op->getLoc())
             << "operand '" << constraint.size.name << "': dimension "
             << constraint.size.dimension << " (" << constraint.meaning
             << ") is " << size << ", expected " << expected;
  }
  for (auto [value, datum] : llvm::zip(op->getOperands(), operands))
    if (const TensorPtr *operand = std::get_if<TensorPtr>(&datum))
      if (!(*operand)->isKnown() && !llvm::is_contained(outs, value))
        return mlir::emitError(op->getLoc()) << "an operand was never written";
  return success();
}

namespace {

using Results = FailureOr<std::vector<Datum>>;

/// Evaluates one operation.
class Evaluation {
public:
  Evaluation(Operation *op, ArrayRef<Datum> operands)
      : op(op), operands(operands) {}

  Results append(mlir::attn::CacheAppendOp append) {
    FailureOr<Cache> cache = getCache(append);
    if (failed(cache))
      return failure();
    std::vector<std::int64_t> counts, cumulative;
    if (append.getCounts())
      counts = integers(append.getCounts());
    if (append.getSequences())
      cumulative = integers(append.getSequences());
    if (Status status = reference::append(*cache, tensor(append.getRows()).view,
                                          integers(append.getLengths()), counts,
                                          cumulative);
        !status)
      return emitError() << status.error().message;
    std::vector<Datum> results;
    if (append.isQuantized()) {
      results.push_back(create(
          append.getCache(), std::vector<std::int64_t>(cache->elements.begin(),
                                                       cache->elements.end())));
      results.push_back(create(append.getScales(), cache->scales));
    } else {
      results.push_back(create(append.getCache(), cache->elements));
    }
    return results;
  }

  Results read(mlir::attn::CacheReadOp read) {
    FailureOr<Cache> cache = getCache(read);
    if (failed(cache))
      return failure();
    mlir::RankedTensorType type = read.getResultType();
    std::vector<std::int64_t> lengths = integers(read.getLengths());
    std::int64_t size = type.getDimSize(2);
    if (read.getSize())
      size = std::get<APInt>(get(read.getSize())).getSExtValue();
    Expected<std::vector<double>> rows = reference::read(
        *cache, lengths, size, *convertElementType(type.getElementType()));
    if (!rows)
      return emitError() << rows.error().message;
    return std::vector<Datum>{
        Tensor::create(type.getElementType(),
                       {std::int64_t(lengths.size()), read.getNumHeads(), size,
                        read.getHeadSize()},
                       std::move(*rows))};
  }

  Results rope(mlir::attn::RopeOp rope) {
    reference::RopeProblem problem;
    problem.input = tensor(rope.getInput()).view;
    problem.cosine = tensor(rope.getCosine()).view;
    problem.sine = tensor(rope.getSine()).view;
    problem.interleaved =
        rope.getPairing() == mlir::attn::RopePairing::Interleaved;
    std::vector<std::int64_t> offsets(std::size_t(problem.input.size(0)));
    if (Value offset = rope.getOffset()) {
      if (llvm::isa<mlir::ShapedType>(offset.getType()))
        offsets = integers(offset);
      else
        offsets.assign(offsets.size(),
                       std::get<APInt>(get(offset)).getSExtValue());
    }
    if (Value positions = rope.getPositions())
      problem.positions = integers(positions);
    else
      for (std::int64_t offset : offsets)
        for (std::int64_t i = 0; i < problem.input.size(2); ++i)
          problem.positions.push_back(
              std::int64_t(std::uint64_t(offset) + std::uint64_t(i)));
    Expected<std::vector<double>> output = reference::rope(problem);
    if (!output)
      return emitError() << output.error().message;
    return std::vector<Datum>{create(rope.getOutput(), std::move(*output))};
  }

  Results merge(mlir::attn::MergeOp merge) {
    Expected<reference::MergeResult> merged = reference::merge(
        {tensor(merge.getOutput1()).view, tensor(merge.getLse1()).view,
         tensor(merge.getOutput2()).view, tensor(merge.getLse2()).view});
    if (!merged)
      return emitError() << merged.error().message;
    std::vector<Datum> results = {
        create(merge.getOutput(), std::move(merged->output))};
    if (Value lse = merge.getLogSumExp())
      results.push_back(create(lse, std::move(merged->logSumExp),
                               reference::Quantity::logSumExp));
    return results;
  }

  Results project(mlir::attn::ProjectionOp project) {
    reference::ProjectionProblem problem{tensor(project.getInput()).view,
                                         tensor(project.getWeight()).view,
                                         {},
                                         {},
                                         {}};
    if (Value scales = project.getScales())
      problem.scales = tensor(scales).view;
    if (Value bias = project.getBias())
      problem.bias = tensor(bias).view;
    for (Value out : project.getOuts()) {
      auto sizes = tensor(out).view.sizes();
      problem.outputs.emplace_back(sizes.begin(), sizes.end());
    }
    Expected<std::vector<std::vector<double>>> projected =
        reference::project(problem);
    if (!projected)
      return emitError() << projected.error().message;
    std::vector<Datum> results;
    for (auto [out, elements] : llvm::zip(project.getOuts(), *projected))
      results.push_back(create(out, std::move(elements)));
    return results;
  }

  Results headNorm(mlir::attn::HeadNormOp norm) {
    reference::HeadNormProblem problem;
    problem.input = tensor(norm.getInput()).view;
    if (Value weight = norm.getWeight())
      problem.weight = tensor(weight).view;
    problem.epsilon = norm.getEpsilon().convertToDouble();
    problem.layer = norm.getLayer();
    Expected<std::vector<double>> output = reference::headNorm(problem);
    if (!output)
      return emitError() << output.error().message;
    return std::vector<Datum>{create(norm.getOutput(), std::move(*output))};
  }

  Results dropout(mlir::attn::DropoutOp dropout) {
    reference::OutputDropoutProblem problem;
    problem.input = tensor(dropout.getInput()).view;
    problem.rate = dropout.getRate().convertToDouble();
    problem.seed = std::get<APInt>(get(dropout.getSeed())).getZExtValue();
    problem.call =
        std::uint32_t(std::get<APInt>(get(dropout.getCall())).getZExtValue());
    Expected<std::vector<double>> output = reference::dropout(problem);
    if (!output)
      return emitError() << output.error().message;
    return std::vector<Datum>{create(dropout.getOutput(), std::move(*output))};
  }

private:
  mlir::InFlightDiagnostic emitError() { return mlir::emitError(op->getLoc()); }

  const Datum &get(Value value) {
    auto all = op->getOperands();
    return operands[std::size_t(llvm::find(all, value) - all.begin())];
  }
  const Tensor &tensor(Value value) { return *std::get<TensorPtr>(get(value)); }
  std::vector<std::int64_t> integers(Value value) {
    return getIntegers(tensor(value));
  }

  template <typename Op> FailureOr<Cache> getCache(Op op) {
    const Tensor &stored = tensor(op.getCache());
    if (!stored.isKnown())
      return emitError() << "operand 'cache' was never written";
    Cache cache;
    cache.kind = op.isPaged()   ? Cache::Kind::paged
                 : op.getRing() ? Cache::Kind::ring
                                : Cache::Kind::contiguous;
    cache.type = *convertElementType(op.getCacheType().getElementType());
    std::copy_n(stored.view.sizes().begin(), 4, cache.shape.begin());
    cache.elements = *reference::toDoubles("cache", stored.view);
    if (op.isQuantized()) {
      if (!tensor(op.getScales()).isKnown())
        return emitError() << "operand 'scales' was never written";
      cache.scales =
          *reference::toDoubles("scales", tensor(op.getScales()).view);
    }
    if (op.isPaged()) {
      cache.table = integers(op.getTable());
      cache.maxPages = tensor(op.getTable()).view.size(1);
    }
    return cache;
  }

  /// A tensor of the type and the sizes of a destination.
  template <typename T>
  TensorPtr create(Value out, std::vector<T> elements,
                   reference::Quantity quantity = reference::Quantity::output) {
    const Tensor &destination = tensor(out);
    auto sizes = destination.view.sizes();
    return Tensor::create(destination.elementType, {sizes.data(), sizes.size()},
                          std::move(elements), quantity);
  }

  Operation *op;
  ArrayRef<Datum> operands;
};

} // namespace

std::optional<FailureOr<std::vector<Datum>>>
interpreter::evaluateBesideAttention(Operation *op, ArrayRef<Datum> operands) {
  Evaluation evaluation(op, operands);
  if (auto append = llvm::dyn_cast<mlir::attn::CacheAppendOp>(op)) {
    if (failed(checkOperands(op, operands, append.getSizeConstraints(),
                             append.getOuts())))
      return Results(failure());
    return evaluation.append(append);
  }
  if (auto read = llvm::dyn_cast<mlir::attn::CacheReadOp>(op)) {
    if (failed(checkOperands(op, operands, read.getSizeConstraints(), {})))
      return Results(failure());
    return evaluation.read(read);
  }
  if (auto rope = llvm::dyn_cast<mlir::attn::RopeOp>(op)) {
    if (failed(checkOperands(op, operands, rope.getSizeConstraints(),
                             rope.getOuts())))
      return Results(failure());
    return evaluation.rope(rope);
  }
  if (auto merge = llvm::dyn_cast<mlir::attn::MergeOp>(op)) {
    if (failed(checkOperands(op, operands, merge.getSizeConstraints(),
                             merge.getOuts())))
      return Results(failure());
    return evaluation.merge(merge);
  }
  if (auto project = llvm::dyn_cast<mlir::attn::ProjectionOp>(op)) {
    if (failed(checkOperands(op, operands, project.getSizeConstraints(),
                             project.getOuts())))
      return Results(failure());
    return evaluation.project(project);
  }
  if (auto norm = llvm::dyn_cast<mlir::attn::HeadNormOp>(op)) {
    if (failed(checkOperands(op, operands, norm.getSizeConstraints(),
                             norm.getOuts())))
      return Results(failure());
    return evaluation.headNorm(norm);
  }
  if (auto dropout = llvm::dyn_cast<mlir::attn::DropoutOp>(op)) {
    if (failed(checkOperands(op, operands, dropout.getSizeConstraints(),
                             dropout.getOuts())))
      return Results(failure());
    return evaluation.dropout(dropout);
  }
  if (auto layer = llvm::dyn_cast<mlir::attn::MultiHeadAttentionOp>(op))
    return evaluateLayer(layer, operands);
  return std::nullopt;
}
