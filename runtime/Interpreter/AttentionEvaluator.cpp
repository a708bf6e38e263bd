//===- AttentionEvaluator.cpp - Evaluates an attention --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/AttentionEvaluator.h"
#include "runtime/Interpreter/CacheEvaluator.h"
#include "runtime/Interpreter/CaptureGradients.h"
#include "runtime/Interpreter/RegionInterpreter.h"

#include "dialect/Attention/NamedMasksAndScores.h"
#include "dialect/AttnOps.h"
#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Backward.h"
#include "runtime/Reference/Cache.h"
#include "runtime/Reference/MultiToken.h"
#include "runtime/Reference/MultiTokenBackward.h"
#include "runtime/Reference/Tangent.h"
#include "runtime/Reference/Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"

#include <cmath>

using namespace attn;
using namespace attn::interpreter;
using mlir::attn::AttentionBackwardOp;
using mlir::attn::AttentionOp;
using mlir::attn::AttentionTangentOp;
using mlir::attn::MultiTokenAttentionBackwardOp;
using mlir::attn::MultiTokenAttentionOp;
using reference::AttentionProblem;
using TensorPtr = std::shared_ptr<const Tensor>;

std::vector<Datum> interpreter::lookup(const Values &values,
                                       mlir::ValueRange operands) {
  std::vector<Datum> result;
  for (Value operand : operands)
    result.push_back(values.at(operand));
  return result;
}

namespace {

/// Hands one attention to its oracle.
template <typename Op> class AttentionEvaluator {
  static constexpr bool isMultiTokenBackward =
      std::is_same_v<Op, MultiTokenAttentionBackwardOp>;
  static constexpr bool isMultiToken =
      std::is_same_v<Op, MultiTokenAttentionOp> || isMultiTokenBackward;
  static constexpr bool isBackward =
      std::is_same_v<Op, AttentionBackwardOp> || isMultiTokenBackward;
  static constexpr bool isTangent = std::is_same_v<Op, AttentionTangentOp>;

public:
  AttentionEvaluator(Op op, Values &values) : op(op), values(values) {}

  LogicalResult evaluate() {
    if (failed(checkSizes()) || failed(setTensors()) ||
        failed(setSequences()) || failed(setScalars()) || failed(setMask()) ||
        failed(setScore()) || failed(setAbsentRows()))
      return failure();
    if constexpr (isMultiTokenBackward)
      return evaluateMultiTokenBackward();
    else if constexpr (isBackward)
      return evaluateBackward();
    else if constexpr (isTangent)
      return evaluateTangent();
    else
      return evaluateForward();
  }

  LogicalResult evaluateForward() {
    FailureOr<Expected<reference::AttentionResult>> computed = compute();
    if (failed(computed))
      return failure();
    Expected<reference::AttentionResult> &result = *computed;
    if (!result)
      return emitError() << result.error().message;
    define(0, std::move(result->output),
           isMultiToken ? reference::Quantity::multiTokenOutput
                        : reference::Quantity::output);
    if (op.getLogSumExp())
      define(1, std::move(result->logSumExp), reference::Quantity::logSumExp);
    return success();
  }

  /// Those of the results.
  template <typename Problem> LogicalResult setGradients(Problem &problem) {
    return failure(
        failed(setView(problem.outputGradient, op.getOutputGradient(),
                       "output_gradient")) ||
        (op.getLogSumExpGradient() &&
         failed(setView(problem.logSumExpGradient.emplace(),
                        op.getLogSumExpGradient(), "log_sum_exp_gradient"))));
  }

  LogicalResult evaluateBackward() {
    reference::BackwardProblem backward;
    backward.attention = problem;
    if (failed(setView(backward.output, op.getOutput(), "output")) ||
        failed(setView(backward.logSumExp, op.getLogSumExp(), "log_sum_exp")) ||
        failed(setGradients(backward)))
      return failure();
    auto captures = createCaptureGradients(backward.visit);
    if (failed(captures))
      return failure();
    Expected<reference::BackwardResult> result =
        reference::attentionBackward(backward);
    if (!result)
      return emitError() << result.error().message;
    reference::BackwardNumbers &scales = result->scales;
    return defineGradients({std::move(result->query), std::move(result->key),
                            std::move(result->value)},
                           std::move(result->sink),
                           {std::move(scales.query), std::move(scales.key),
                            std::move(scales.value)},
                           std::move(scales.sink), *captures);
  }

  LogicalResult evaluateMultiTokenBackward() {
    reference::MultiTokenBackwardProblem backward;
    if (failed(setStages(backward.attention)) || failed(setGradients(backward)))
      return failure();
    auto captures = createCaptureGradients(backward.visit);
    if (failed(captures))
      return failure();
    Expected<reference::MultiTokenBackwardResult> result =
        reference::multiTokenAttentionBackward(backward);
    if (!result)
      return emitError() << result.error().message;
    std::vector<std::vector<double>> gradients = {
        std::move(result->attention.query), std::move(result->attention.key),
        std::move(result->attention.value)};
    std::vector<std::vector<double>> scales(gradients.size());
    for (auto [operand, gradient, scale] :
         {std::tuple(op.getKernelBefore(), &result->before.kernel,
                     &result->scalesBefore.kernel),
          std::tuple(op.getMixingBefore(), &result->before.mixing,
                     &result->scalesBefore.mixing),
          std::tuple(op.getKernelAfter(), &result->after.kernel,
                     &result->scalesAfter.kernel),
          std::tuple(op.getMixingAfter(), &result->after.mixing,
                     &result->scalesAfter.mixing)})
      if (operand) {
        gradients.push_back(std::move(*gradient));
        scales.push_back(std::move(*scale));
      }
    return defineGradients(std::move(gradients),
                           std::move(result->attention.sink), std::move(scales),
                           {}, *captures);
  }

  LogicalResult evaluateTangent() {
    reference::TangentProblem tangent;
    tangent.attention = problem;
    for (auto [operand, view, name] :
         {std::tuple(op.getQueryTangent(), &tangent.query, "query_tangent"),
          std::tuple(op.getKeyTangent(), &tangent.key, "key_tangent"),
          std::tuple(op.getValueTangent(), &tangent.value, "value_tangent")})
      if (operand && failed(setView(view->emplace(), operand, name)))
        return failure();
    if (Value sink = op.getSinkTangent()) {
      TensorView view;
      if (failed(setView(view, sink, "sink_tangent")))
        return failure();
      tangent.sink = *reference::toDoubles("sink_tangent", view);
    }
    if (op.hasScore()) {
      for (Value operand : op.getCaptureTangents())
        if (llvm::isa<mlir::ShapedType>(operand.getType()) &&
            !getTensor(operand).isKnown())
          return emitUnknown("capture_tangents");
      if (!op.getCaptureTangents().empty())
        tangent.moveScore = [this](double time) {
          return std::move(
              *createScore(op.getScore(), moveCaptures(time), roundings));
        };
    }
    Expected<reference::TangentResult> result =
        reference::attentionTangent(tangent);
    if (!result)
      return emitError() << result.error().message;
    define(0, std::move(result->output), reference::Quantity::gradient,
           std::move(result->scales.output));
    if (op.getLogSumExpTangent())
      define(1, std::move(result->logSumExp), reference::Quantity::gradient,
             std::move(result->scales.logSumExp));
    return success();
  }

  /// Adds the operations of a product for each pair of a query and a key, once
  /// with the key and once with the value; of gradients once more with the
  /// value and twice with the key, and of tangents once with each of theirs
  /// and, if queries move, with the key once more. The results stay unknown.
  LogicalResult count(double &flops) {
    if (failed(checkSizes()) || failed(setSequences()))
      return failure();
    const TensorView &query = getTensor(op.getQuery()).view,
                     &value = getTensor(op.getValue()).view;
    // Of the queries that are no past (T2).
    double pairs = double(query.size(0)) *
                   double(getTensor(op.getOutput()).view.size(2)) *
                   double(value.size(2));
    if (!problem.cuQuery.empty() || !problem.counts.empty()) {
      pairs = 0;
      for (std::size_t n = 0; n + 1 < problem.cuQuery.size(); ++n)
        pairs += double(problem.cuQuery[n + 1] - problem.cuQuery[n]) *
                 (problem.cuKey.empty()
                      ? double(value.size(2))
                      : double(problem.cuKey[n + 1] - problem.cuKey[n]));
      for (std::int64_t rows : problem.counts)
        pairs += double(rows) * double(value.size(2));
    }
    double keyProducts = isBackward ? 3 : 1, valueProducts = isBackward ? 2 : 1;
    if constexpr (isTangent) {
      keyProducts +=
          int(bool(op.getQueryTangent())) + int(bool(op.getKeyTangent()));
      valueProducts += int(bool(op.getValueTangent()));
    }
    flops += 2 * pairs * double(query.size(1)) *
             (keyProducts * double(query.size(3)) +
              valueProducts * double(value.size(3)));
    for (auto [result, init] : llvm::zip(op.getResults(), op.getOuts())) {
      const Tensor &tensor = getTensor(init);
      values[result] =
          Tensor::createUnknown(tensor.elementType, tensor.shape());
    }
    return success();
  }

private:
  /// Whether sequences have parts of one key and value.
  bool arePackedKeys() {
    if constexpr (!isMultiToken)
      return bool(op.getCumulativeKey());
    return false;
  }

  FailureOr<Expected<reference::AttentionResult>> compute() {
    if constexpr (!isMultiToken) {
      return reference::attention(problem);
    } else {
      reference::MultiTokenProblem stages;
      if (failed(setStages(stages)))
        return failure();
      return reference::multiTokenAttention(stages);
    }
  }

  /// Sets what is beside `problem`, too.
  LogicalResult setStages(reference::MultiTokenProblem &stages) {
    stages.attention = problem;
    stages.outputLength = getTensor(op.getOutput()).view.size(2); // T2
    for (auto [operand, view, name] :
         {std::tuple(op.getKernelBefore(), &stages.before.kernel,
                     "kernel_before"),
          std::tuple(op.getMixingBefore(), &stages.before.mixing,
                     "mixing_before"),
          std::tuple(op.getKernelAfter(), &stages.after.kernel, "kernel_after"),
          std::tuple(op.getMixingAfter(), &stages.after.mixing,
                     "mixing_after")})
      if (operand && failed(setView(view->emplace(), operand, name)))
        return failure();
    return success();
  }

  /// The sums of the captures that have gradients, to which `visit` adds.
  FailureOr<std::unique_ptr<CaptureGradients>>
  createCaptureGradients(decltype(reference::BackwardProblem::visit) &visit) {
    auto captures = std::make_unique<CaptureGradients>();
    if (!op.hasScore() || op.getOfCaptures().empty())
      return captures;
    FailureOr<CaptureGradients> created =
        CaptureGradients::create(op.getScore(), op.getOfCaptures(),
                                 lookup(values, op.getScoreCaptures()));
    if (failed(created))
      return failure();
    *captures = std::move(*created);
    visit = [&sums = *captures](double s, std::int64_t b, std::int64_t h,
                                std::int64_t p, std::int64_t j,
                                const auto &of) {
      sums.add(s, b, h, p, j, of);
    };
    return captures;
  }

  /// The results, of which `gradients` are those before the sink's, and what
  /// their errors are relative to; those that are empty are not known, nor are
  /// those of captures of multi-token attention.
  LogicalResult defineGradients(std::vector<std::vector<double>> gradients,
                                std::vector<double> sink,
                                std::vector<std::vector<double>> scales,
                                std::vector<double> sinkScales,
                                std::unique_ptr<CaptureGradients> &captures) {
    if (op.getOfSink()) {
      gradients.push_back(std::move(sink));
      scales.push_back(std::move(sinkScales));
    }
    for (std::vector<double> &sums : captures->take())
      gradients.push_back(std::move(sums));
    for (std::vector<double> &sums : captures->takeScales())
      scales.push_back(isMultiToken ? std::vector<double>() : std::move(sums));
    for (auto [number, gradient] : llvm::enumerate(gradients))
      define(unsigned(number), std::move(gradient),
             reference::Quantity::gradient, std::move(scales[number]));
    return success();
  }

  mlir::InFlightDiagnostic emitError() { return mlir::emitError(op.getLoc()); }

  const Tensor &getTensor(Value value) {
    return *std::get<TensorPtr>(values.at(value));
  }

  /// The captures of the score of which tangents are given, moved for a time.
  std::vector<Datum> moveCaptures(double time) {
    std::vector<Datum> captures = lookup(values, op.getScoreCaptures());
    for (auto [number, operand] :
         llvm::zip(op.getOfCaptures(), op.getCaptureTangents())) {
      Datum &capture = captures[std::size_t(number)];
      if (double *real = std::get_if<double>(&capture)) {
        *real += time * std::get<double>(values.at(operand));
        continue;
      }
      const Tensor &from = *std::get<TensorPtr>(capture);
      std::vector<double> elements =
          *reference::toDoubles("capture", from.view);
      std::vector<double> speed =
          *reference::toDoubles("tangent", getTensor(operand).view);
      for (auto [element, tangent] : llvm::zip(elements, speed))
        element += time * tangent;
      auto sizes = from.view.sizes();
      capture = Tensor::create(from.elementType, {sizes.data(), sizes.size()},
                               std::move(elements));
    }
    return captures;
  }

  /// What the verifier could not see in dynamic sizes.
  LogicalResult checkSizes() {
    auto sizeOf = [&](const mlir::attn::OperandSize &size) {
      return getTensor(size.operand).view.size(int(size.dimension));
    };
    for (const mlir::attn::SizeConstraint &constraint :
         op.getSizeConstraints()) {
      std::uint64_t expected = constraint.delta; // Sizes go up to 2^63 - 1.
      if (constraint.reference.operand)
        expected += sizeOf(constraint.reference);
      if (std::int64_t size = sizeOf(constraint.size);
          std::uint64_t(size) != expected)
        return emitError() << "operand '" << constraint.size.name
                           << "': dimension " << constraint.size.dimension
                           << " (" << constraint.meaning << ") is " << size
                           << ", expected " << expected;
    }
    return success();
  }

  /// Sets `view` to a float operand.
  LogicalResult setView(TensorView &view, Value operand, StringRef name) {
    const Tensor &tensor = getTensor(operand);
    view = tensor.view;
    return tensor.isKnown() ? success() : emitUnknown(name);
  }

  /// Sets `elements` to those of a vector of integers.
  LogicalResult setIntegers(std::vector<std::int64_t> &elements, Value operand,
                            StringRef name) {
    const Tensor &tensor = getTensor(operand);
    if (!tensor.isKnown())
      return emitUnknown(name);
    for (std::int64_t i = 0; i < tensor.view.size(0); ++i)
      elements.push_back(std::get<APInt>(tensor.load(i)).getSExtValue());
    return success();
  }

  LogicalResult emitUnknown(StringRef name) {
    return emitError() << "operand '" << name << "' was never written";
  }

  LogicalResult setTensors() {
    if (failed(setView(problem.query, op.getQuery(), "query")) ||
        failed(setView(problem.key, op.getKey(), "key")) ||
        failed(setView(problem.value, op.getValue(), "value")))
      return failure();
    if (Value sink = op.getSink()) { // A6
      TensorView view;
      if (failed(setView(view, sink, "sink")))
        return failure();
      problem.sink = *reference::toDoubles("sink", view);
    }
    return success();
  }

  LogicalResult setSequences() { // A7
    if constexpr (isMultiToken)
      return success();
    else
      return setCumulative();
  }
  LogicalResult setCumulative() {
    if (op.getCounts())
      return setCounts();
    if (!op.isPacked())
      return success();
    if (getTensor(op.getCumulativeQuery()).view.size(0) == 0)
      return emitError() << "operand 'cumulative_query': expected at least 1 "
                            "element, got 0";
    if (failed(setIntegers(problem.cuQuery, op.getCumulativeQuery(),
                           "cumulative_query")))
      return failure();
    return op.getCumulativeKey()
               ? setIntegers(problem.cuKey, op.getCumulativeKey(),
                             "cumulative_key")
               : success();
  }
  LogicalResult setCounts() {
    if (failed(setIntegers(problem.counts, op.getCounts(), "counts")))
      return failure();
    std::int64_t rows = getTensor(op.getQuery()).view.size(2);
    for (std::int64_t count : problem.counts)
      if (count < 0 || count > rows)
        return emitError() << "operand 'counts': expected numbers from 0 to "
                              "the query length, got "
                           << count << ", of at most " << rows;
    return success();
  }

  LogicalResult setScalars() {
    // Elements of 8 or 11 bits are summed in f32, of 24.
    Type element =
        llvm::cast<mlir::ShapedType>(op.getQuery().getType()).getElementType();
    problem.sumRounding = element.isBF16()  ? 0x1p-16
                          : element.isF16() ? 0x1p-13
                                            : 1;
    problem.scale = op.getConstantScale(); // A4
    if (Value scale = op.getScale())
      problem.scale = std::get<double>(values.at(scale));
    if (op.hasDropout() && failed(setDropout()))
      return failure();
    problem.bottomRight = op.getBottomRight(); // A5
    Value offset = op.getOffset();
    if (!offset)
      return success();
    if (llvm::isa<mlir::ShapedType>(offset.getType()))
      return setIntegers(problem.offsets, offset, "offset");
    problem.offsets = {std::get<APInt>(values.at(offset)).getSExtValue()};
    return success();
  }

  LogicalResult setDropout() { // A8
    AttentionProblem::Dropout &dropout = problem.dropout.emplace();
    auto get = [&](Value value) {
      return std::get<APInt>(values.at(value)).getZExtValue();
    };
    dropout.rate = op.getDropoutRate()->convertToDouble();
    dropout.seed = get(op.getDropoutSeed());
    dropout.callOffset = std::uint32_t(get(op.getDropoutCall()));
    if constexpr (!isMultiToken) {
      if (Value line = op.getDropoutLine())
        dropout.line = std::uint32_t(get(line));
      dropout.heads = op.getDropoutHeadsOfWhole();
      if (Value key = op.getDropoutKey()) {
        if (llvm::isa<mlir::ShapedType>(key.getType()))
          return setIntegers(dropout.keys, key, "dropout_key");
        dropout.keys = {std::int64_t(get(key))};
      }
    }
    return success();
  }

  LogicalResult setMask() { // A10
    if (!op.hasMask())
      return success();
    auto mask = createMask(op.getMask(), lookup(values, op.getMaskCaptures()));
    if (failed(mask))
      return failure();
    problem.mask = std::move(*mask);
    return success();
  }

  LogicalResult setScore() { // A10
    if (!op.hasScore())
      return success();
    for (mlir::BlockArgument cap :
         mlir::attn::findCapturedCaps(op.getScore())) {
      const auto *number = std::get_if<double>(&values.at(op.getCapture(cap)));
      if (!number)
        continue;
      // As the region uses it.
      double used = op.getAccumulationType().isF32() ? float(*number) : *number;
      if (!(used > 0 && std::isfinite(used)))
        return emitError() << "operand 'score_captures': expected a positive, "
                              "finite number as the cap of scores, got "
                           << *number;
    }
    bool isDerivative = isBackward || isTangent;
    if (isDerivative &&
        !op.getScore().template getOps<mlir::arith::TruncFOp>().empty())
      roundings = std::make_shared<ScoreRoundings>();
    auto score = createScore(op.getScore(),
                             lookup(values, op.getScoreCaptures()), roundings);
    if (failed(score))
      return failure();
    problem.score = std::move(*score);
    return success();
  }

  /// C12: of the caches that key and value are read from.
  LogicalResult setAbsentRows() {
    struct Rows {
      std::vector<std::int64_t> lengths;
      std::int64_t ringCapacity;
    };
    std::vector<Rows> caches;
    for (Value operand : {op.getKey(), op.getValue()}) {
      while (auto cast = operand.template getDefiningOp<mlir::tensor::CastOp>())
        operand = cast.getSource();
      if (auto read = operand.template getDefiningOp<mlir::attn::CacheReadOp>())
        caches.push_back(
            {getIntegers(getTensor(read.getLengths())),
             read.getRing() ? getTensor(read.getCache()).view.size(2) : -1});
    }
    if (caches.empty())
      return success();
    problem.isAbsent = [caches](std::int64_t b, std::int64_t j) {
      return llvm::any_of(caches, [&](const Rows &rows) {
        return !reference::isStored(j, rows.lengths[std::size_t(b)],
                                    rows.ringCapacity);
      });
    };
    if (arePackedKeys())
      for (std::int64_t j = 0; j < getTensor(op.getKey()).view.size(2); ++j)
        if (problem.isAbsent(0, j))
          return emitError() << "row " << j << " is absent from a cache that a "
                             << "packed batch reads";
    return success();
  }

  /// Sets result `number`, which has the size of its init.
  void define(unsigned number, std::vector<double> elements,
              reference::Quantity quantity, std::vector<double> scales = {}) {
    const Tensor &init = getTensor(op.getOuts()[number]);
    auto sizes = init.view.sizes();
    values[op->getResult(number)] =
        Tensor::create(init.elementType, {sizes.data(), sizes.size()},
                       std::move(elements), quantity, std::move(scales));
  }

  Op op;
  Values &values;
  AttentionProblem problem;
  /// Of a score that rounds and is differentiated by its values nearby.
  std::shared_ptr<ScoreRoundings> roundings;
};

} // namespace

/// Calls `use` with the evaluator of an attention.
template <typename Use>
static LogicalResult withEvaluator(Operation *op, Values &values, Use use) {
  if (auto attention = llvm::dyn_cast<AttentionOp>(op))
    return use(AttentionEvaluator(attention, values));
  if (auto backward = llvm::dyn_cast<AttentionBackwardOp>(op))
    return use(AttentionEvaluator(backward, values));
  if (auto backward = llvm::dyn_cast<MultiTokenAttentionBackwardOp>(op))
    return use(AttentionEvaluator(backward, values));
  if (auto tangent = llvm::dyn_cast<AttentionTangentOp>(op))
    return use(AttentionEvaluator(tangent, values));
  return use(AttentionEvaluator(llvm::cast<MultiTokenAttentionOp>(op), values));
}

bool interpreter::isAttention(Operation *op) {
  return llvm::isa<AttentionOp, AttentionBackwardOp, AttentionTangentOp,
                   MultiTokenAttentionOp, MultiTokenAttentionBackwardOp>(op);
}

LogicalResult interpreter::evaluateAttention(Operation *op, Values &values) {
  return withEvaluator(op, values,
                       [](auto evaluator) { return evaluator.evaluate(); });
}

LogicalResult interpreter::countAttention(Operation *op, Values &values,
                                          double &flops) {
  return withEvaluator(op, values,
                       [&](auto evaluator) { return evaluator.count(flops); });
}
