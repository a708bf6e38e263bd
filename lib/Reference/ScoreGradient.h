//===- ScoreGradient.h - Derivatives of a score, by position ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_SCOREGRADIENT_H
#define ATTN_REFERENCE_SCOREGRADIENT_H

#include "dialect/Shared/IndexBuilder.h"

#include <memory>
#include <vector>

namespace mlir::attn {

/// Emits what reference lowerings of gradients need of a score region (G3), at
/// one position after the other. Values of its arguments are the leading ones
/// with captures behind them.
class ScoreGradient {
public:
  explicit ScoreGradient(Region &score) : score(score) {}

  /// Finds the derivatives, also with respect to what is loaded from these
  /// captures, whose first one is argument `firstCapture`. An error where there
  /// is none.
  LogicalResult prepare(unsigned firstCapture, ArrayRef<int64_t> ofCaptures);

  /// The derivative with respect to the scaled product.
  Value emitSlope(IndexBuilder &b, ValueRange arguments);
  /// Adds to the sums of the captures what a position gives whose score has the
  /// gradient `ofScore`.
  void addToCaptures(IndexBuilder &b, Value ofScore, ValueRange arguments,
                     MutableArrayRef<Value> sums);

private:
  /// Something that a capture's gradient is a sum over (G2): a load of it, or
  /// the scalar itself.
  struct Variable {
    size_t capture; ///< Number among the sums.
    Region derivative;
    /// Each yields an index of the load.
    std::vector<std::unique_ptr<Region>> indices;
  };

  Region &score;
  Region slope;
  std::vector<std::unique_ptr<Variable>> variables;
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_SCOREGRADIENT_H
