//===- Forms.h - Masks and scores of the random tests -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every form of a mask or a score, twice: as it is written in the IR, and what
// that means as a C++ function that knows nothing of the IR.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_FORMS_H
#define ATTN_TEST_EXECUTION_FORMS_H

#include "test/Execution/Random.h"
#include "test/Execution/TestTensor.h"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attn::test {

/// What a function gets: a tensor, an integer, or a float.
using Value = std::variant<TestTensor, Index, double>;

/// How large the tensors of a call must be that regions index.
struct Extents {
  Index batches = 0;   ///< Or sequences: b is below it.
  Index positions = 0; ///< p is below it.
  Index rows = 0;      ///< i is below it.
  Index keyLength = 0; ///< j is below it.
};

/// An argument of the function that a form captures.
struct ArgumentForm {
  std::string name; ///< Without '%'.
  std::string type; ///< In MLIR.
  std::function<Value(const Extents &, Random &)> create;
};

/// No answer means undefined (A12).
using MaskFunction =
    std::function<std::optional<bool>(Index b, Index h, Index p, Index j)>;
using ScoreFunction = std::function<std::optional<double>(
    double s, Index b, Index h, Index p, Index j)>;

template <typename Function> struct Form {
  std::string name;     ///< What it is, for the count of what was tested.
  std::string spelling; ///< In MLIR; arguments have the names given below.
  std::vector<ArgumentForm> arguments;
  /// The meaning, given the values of the arguments.
  std::function<Function(const std::vector<Value> &)> bind;
  /// A tensor is indexed by p, so p must not be negative.
  bool indexesPosition = false;
  /// The function wants the query's row in the call for its position.
  bool indexesRow = false;
};
using MaskForm = Form<MaskFunction>;
using ScoreForm = Form<ScoreFunction>;

/// What forms depend on.
struct FormContext {
  Index queryHeads;
  ElementType accumulation; ///< f64 or f32, the type of the score.
  std::string prefix;       ///< Of the names of the arguments.
};

/// Names of all forms.
const std::vector<std::string> &getMaskNames();
const std::vector<std::string> &getScoreNames();

MaskForm createMask(const std::string &name, const FormContext &context,
                    Random &random);
ScoreForm createScore(const std::string &name, const FormContext &context,
                      Random &random);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_FORMS_H
