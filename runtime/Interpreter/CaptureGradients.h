//===- CaptureGradients.h - Gradients of captures ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_CAPTUREGRADIENTS_H
#define ATTN_RUNTIME_INTERPRETER_CAPTUREGRADIENTS_H

#include "runtime/Interpreter/RegionInterpreter.h"
#include "runtime/Reference/Backward.h"
#include "runtime/Reference/ScoredRow.h"

#include <array>
#include <map>

namespace attn::interpreter {

/// Sums, for each element of captured tensors, how a score region moves with it
/// (G2): by what the region gives when what a load gives is moved.
class CaptureGradients {
public:
  /// Of those captures of a score whose numbers these are.
  static mlir::FailureOr<CaptureGradients>
  create(mlir::Region &score, llvm::ArrayRef<std::int64_t> ofCaptures,
         std::vector<Datum> captures);

  bool isEmpty() const { return sums.empty(); }

  /// Adds what the gradient of the score at one position gives.
  void add(double s, std::int64_t b, std::int64_t h, std::int64_t p,
           std::int64_t j, const reference::BackwardProblem::OfScore &of);

  /// The sums, row-major, in the order of the captures asked for.
  std::vector<std::vector<double>> take() { return std::move(sums); }
  /// What the errors of each are relative to (see reference::compare).
  std::vector<std::vector<double>> takeScales();

private:
  void finishRow();

  /// A load, or a scalar.
  struct Variable {
    mlir::Value value;
    std::size_t capture; ///< Number among the sums.
  };

  std::optional<RegionInterpreter> interpreter;
  std::vector<Datum> captures;
  std::vector<Variable> variables;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::vector<double>> sums;
  std::vector<std::vector<reference::ErrorSum>> errors;
  /// What the errors that a row's scores share add, to a sum and an element.
  std::map<std::pair<std::size_t, std::size_t>, double> together;
  std::array<std::int64_t, 3> row = {}; ///< The one that those are of.
};

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_CAPTUREGRADIENTS_H
