//===- BlockEvaluator.h - Evaluates IR that an analysis wrote --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_BLOCKEVALUATOR_H
#define ATTN_TEST_UNIT_BLOCKEVALUATOR_H

#include "dialect/AttnOps.h"
#include "runtime/Interpreter/Operations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace attn::test {

using namespace interpreter;
using llvm::APInt;
using mlir::Value;

using Index = std::int64_t;

/// What attn.block_range says of a table of integers, as T is Index, or of
/// floats, as it is double.
template <typename T>
std::array<Datum, 2> evaluateBlockRangeOf(mlir::attn::BlockRangeOp op,
                                          const Tensor &table) {
  llvm::ArrayRef<Index> blocks = op.getBlocks();
  std::span<const Index> sizes = table.view.sizes();
  std::vector<Index> counts;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim)
    counts.push_back((sizes[dim] + blocks[dim] - 1) / blocks[dim]);
  std::size_t count = 1;
  for (Index size : counts)
    count *= std::size_t(size);
  using Limits = std::numeric_limits<T>;
  std::vector<T> low(count,
                     Limits::has_infinity ? Limits::infinity() : Limits::max());
  std::vector<T> high(count, Limits::has_infinity ? -Limits::infinity()
                                                  : Limits::lowest());
  bool isFlag = table.elementType.isInteger(1);
  std::vector<Index> at(sizes.size(), 0);
  auto next = [&] {
    for (std::size_t dim = sizes.size(); dim-- > 0; at[dim] = 0)
      if (++at[dim] < sizes[dim])
        return true;
    return false;
  };
  if (count != 0)
    do {
      std::size_t block = 0;
      for (std::size_t dim = 0; dim < sizes.size(); ++dim)
        block = block * std::size_t(counts[dim]) +
                std::size_t(at[dim] / blocks[dim]);
      T value;
      if constexpr (std::is_same_v<T, double>) {
        value = std::get<double>(table.load(at));
        if (std::isnan(value))
          low[block] = high[block] = value;
      } else {
        APInt element = std::get<APInt>(table.load(at));
        value = isFlag ? Index(element.isOne()) : element.getSExtValue();
      }
      // A NaN stays.
      if (value < low[block])
        low[block] = value;
      if (value > high[block])
        high[block] = value;
    } while (next());
  return {Tensor::create(table.elementType, counts, low),
          Tensor::create(table.elementType, counts, high)};
}

inline std::array<Datum, 2> evaluateBlockRange(mlir::attn::BlockRangeOp op,
                                               const Tensor &table) {
  return llvm::isa<mlir::FloatType>(table.elementType)
             ? evaluateBlockRangeOf<double>(op, table)
             : evaluateBlockRangeOf<Index>(op, table);
}

/// Evaluates the operations of a block, with scf.if, scf.for and
/// attn.block_range, many times.
class BlockEvaluator {
public:
  explicit BlockEvaluator(mlir::Block &block) : body(compile(block)) {}

  /// What the terminator's operands are.
  std::vector<Datum> evaluate(llvm::ArrayRef<Datum> arguments) {
    llvm::copy(arguments, values.begin());
    anyUndefined = false;
    run(body.steps);
    std::vector<Datum> results;
    for (unsigned number : body.yielded)
      results.push_back(values[number]);
    return results;
  }

  /// True if an operation had no result in the last evaluation.
  bool hadUndefined() const { return anyUndefined; }

private:
  struct Step;
  struct Body {
    std::vector<Step> steps;
    std::vector<unsigned> arguments, yielded;
  };
  struct Step {
    mlir::Operation *op;
    const Evaluator *evaluator;
    std::vector<unsigned> operands;
    unsigned firstResult;
    std::vector<Body> regions;
  };

  Body compile(mlir::Block &block) {
    Body result;
    for (Value argument : block.getArguments()) {
      result.arguments.push_back(unsigned(values.size()));
      number(argument);
    }
    for (mlir::Operation &op : block.without_terminator()) {
      Step step{&op, lookupEvaluator(&op), {}, 0, {}};
      for (Value operand : op.getOperands())
        step.operands.push_back(numbers.at(operand));
      for (mlir::Region &region : op.getRegions())
        step.regions.push_back(compile(region.front()));
      EXPECT_TRUE(step.evaluator || !step.regions.empty() ||
                  llvm::isa<mlir::attn::BlockRangeOp>(op))
          << op.getName().getStringRef().str();
      step.firstResult = unsigned(values.size());
      for (Value value : op.getResults())
        number(value);
      result.steps.push_back(std::move(step));
    }
    for (Value operand : block.getTerminator()->getOperands())
      result.yielded.push_back(numbers.at(operand));
    return result;
  }

  void number(Value value) {
    numbers[value] = unsigned(values.size());
    values.push_back(Undefined());
  }

  void run(const std::vector<Step> &steps) {
    for (const Step &step : steps) {
      if (llvm::isa<mlir::scf::ForOp>(step.op)) {
        runLoop(step);
        continue;
      }
      if (auto range = llvm::dyn_cast<mlir::attn::BlockRangeOp>(step.op)) {
        llvm::copy(
            evaluateBlockRange(range, *std::get<std::shared_ptr<const Tensor>>(
                                          values[step.operands[0]])),
            values.begin() + step.firstResult);
        continue;
      }
      if (!step.regions.empty()) {
        bool condition = std::get<APInt>(values[step.operands[0]]).isOne();
        const Body &chosen = step.regions[condition ? 0 : 1];
        run(chosen.steps);
        for (auto [index, yielded] : llvm::enumerate(chosen.yielded))
          values[step.firstResult + index] = values[yielded];
        continue;
      }
      llvm::SmallVector<Datum, 4> operands;
      for (unsigned operand : step.operands)
        operands.push_back(values[operand]);
      auto results = llvm::MutableArrayRef(values).slice(
          step.firstResult, step.op->getNumResults());
      (*step.evaluator)(step.op, operands, results);
      for (const Datum &result : results)
        anyUndefined |= std::holds_alternative<Undefined>(result);
    }
  }

  void runLoop(const Step &step) {
    auto bound = [&](unsigned operand) {
      return std::get<APInt>(values[step.operands[operand]]).getSExtValue();
    };
    const Body &body = step.regions.front();
    std::vector<Datum> carried;
    for (std::size_t i = 3; i < step.operands.size(); ++i)
      carried.push_back(values[step.operands[i]]);
    for (Index i = bound(0); i < bound(1); i += bound(2)) {
      values[body.arguments[0]] = APInt(64, std::uint64_t(i));
      for (auto [argument, value] :
           llvm::zip(llvm::drop_begin(body.arguments), carried))
        values[argument] = value;
      run(body.steps);
      for (auto [value, yielded] : llvm::zip(carried, body.yielded))
        value = values[yielded];
    }
    llvm::copy(carried, values.begin() + step.firstResult);
  }

  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<Datum> values;
  Body body;
  bool anyUndefined = false;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_BLOCKEVALUATOR_H
