//===- MultiTokenTesting.h - Kernels of multi-token attention ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_MULTITOKENTESTING_H
#define ATTN_TEST_EXECUTION_MULTITOKENTESTING_H

#include "attn/kernel.h"
#include "test/Execution/Random.h"
#include "test/Execution/TestTensor.h"

#include <string>
#include <vector>

namespace attn::test {

/// A stage: its clause, and the tensor it has.
struct Stage {
  std::string keyword;
  Shape shape;
};

/// A kernel with one op, on tensors of dynamic B and Sq.
struct MultiTokenText {
  ElementType type = ElementType::f64;
  Index queryHeads = 1, keyValueHeads = 1, keySize = 1, valueSize = 1;
  std::vector<Stage> stages;
  ElementType stageType = ElementType::f64;
  std::string clauses;    ///< After the sink.
  std::string offset;     ///< A clause.
  std::string parameters; ///< ", %x: type": what the clauses refer to.
  Index keys = 0;         ///< Skv if it is in the type, 0 if it is dynamic.
  Index past = 0;         ///< Rows of the query that the output does not have.
  bool logSumExp = true;

  std::string write() const;
};

/// Placements of stages: k and m are kernel and mixing before the softmax, x a
/// kernel with heads; capitals, those after it.
extern const std::vector<std::string> placements;

/// Stages of random sizes.
std::vector<Stage> createStages(const std::string &placement, Index heads,
                                Random &random);

/// Random numbers, not so large that scores grow.
TestTensor createStage(const Stage &stage, ElementType type, Random &random);

/// What changes nothing (T9).
TestTensor createIdentity(const Stage &stage, ElementType type);

/// A kernel of random clauses and sizes, with arguments.
struct MultiTokenSample {
  std::string placement;
  MultiTokenText text;
  std::vector<TestTensor> tensors;
  std::vector<Argument> arguments;
};

/// Consecutive numbers have all placements.
MultiTokenSample createMultiTokenSample(std::uint64_t number);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_MULTITOKENTESTING_H
