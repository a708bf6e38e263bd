//===- ScoredRow.h - What a row of queries sees ------------------*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the derivatives of attention: the keys that a row of queries keeps, with
// their scores and probabilities, and how accurate these can be.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_SCOREDROW_H
#define ATTN_REFERENCE_SCOREDROW_H

#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Sequences.h"

#include <cmath>
#include <limits>

namespace attn::reference {

inline double square(double x) { return x * x; }

/// The square of how far rounding moves a sum, or that this is not known.
class ErrorSum {
public:
  /// What is not finite says nothing: then neither is the sum.
  void add(double ofSquares) {
    if (ofSquares < std::numeric_limits<double>::infinity())
      sum += ofSquares;
  }
  void forget() { isKnown = false; }
  /// As `compare` takes it.
  double getScale() const { return isKnown ? std::sqrt(sum) : -1; }

private:
  double sum = 0;
  bool isKnown = true;
};

/// The scales of such sums.
inline std::vector<double> getScales(const std::vector<ErrorSum> &sums) {
  std::vector<double> scales;
  for (const ErrorSum &sum : sums)
    scales.push_back(sum.getScale());
  return scales;
}

/// Main operands as doubles, row-major.
struct MainOperands {
  std::vector<double> query, key, value;
};

/// A key that a row keeps.
struct ScoredKey {
  std::int64_t j;      ///< In its sequence.
  std::int64_t keyRow; ///< Of key and value, heads and batch counted.
  double product;      ///< Scaled.
  double score;        ///< Not -inf.
  double weight;       ///< Relative to the log-sum-exp, without dropout.
  double factor;       ///< Dropout's.
  /// The squares of how far rounding moves the product and the score.
  double productError, scoreError;
};

/// A row of queries.
struct ScoredRow {
  std::int64_t b, h, p; ///< As regions see them.
  std::int64_t row;     ///< Of query and output, heads and batch counted.
  std::vector<ScoredKey> keys;
  /// For each element of the output, the square of how far rounding moves it.
  std::vector<double> outputErrors;
};

/// Calls `use` with each row that sees something, in order, given their
/// log-sum-exp and output, or says where a region is undefined. Errors are in
/// units of what is lost where an element is rounded.
Status visitRows(const AttentionProblem &problem, const MainOperands &operands,
                 const std::vector<double> &logSumExp,
                 const std::vector<double> &output,
                 const std::function<Status(const ScoredRow &)> &use);

} // namespace attn::reference

#endif // ATTN_REFERENCE_SCOREDROW_H
