//===- RegionInterpreter.h - Evaluates score and mask regions ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_REGIONINTERPRETER_H
#define ATTN_RUNTIME_INTERPRETER_REGIONINTERPRETER_H

#include "runtime/Interpreter/Operations.h"
#include "runtime/Reference/Attention.h"

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace attn::interpreter {

/// What each `arith.truncf` of a region adds to its operand.
using Roundings = std::vector<double>;

/// Evaluates a region of one block many times with different arguments.
class RegionInterpreter {
public:
  /// Emits an error if the region holds an operation that cannot be evaluated.
  static FailureOr<RegionInterpreter> create(mlir::Region &region);

  /// What the region's terminator yields first; undefined if that depends on
  /// something undefined. The first arguments are `leading`, the others
  /// `captures`.
  Datum evaluate(ArrayRef<Datum> leading, ArrayRef<Datum> captures);

  /// The same, where `moved`, a float, is larger by `distance` than it is, and
  /// numbers are rounded as in `near`.
  Datum evaluate(llvm::ArrayRef<Datum> leading, llvm::ArrayRef<Datum> captures,
                 mlir::Value moved, double distance, const Roundings &near);

  /// The same as the first, but numbers are rounded as in `near`: by as much as
  /// at another place, so that the region is as smooth in between as its
  /// derivative takes it to be, of which rounding has none.
  Datum evaluate(llvm::ArrayRef<Datum> leading, llvm::ArrayRef<Datum> captures,
                 const Roundings &near);
  /// Those of the last evaluation; empty if the region rounds nothing.
  Roundings getRoundings() const;

  /// What a value of the region was when it was evaluated last.
  const Datum &getLast(mlir::Value value) const {
    return values[numbers.lookup(value)];
  }

private:
  /// Values are numbered: block arguments, then results.
  struct Step {
    Operation *op;
    const Evaluator *evaluate;
    SmallVector<unsigned, 4> operands;
    unsigned firstResult;
    bool rounds;
  };

  void run(unsigned moved, double distance, const Roundings &near);

  std::vector<Step> steps;
  std::vector<Datum> values;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned yielded = 0;
};

/// The roundings of a score by `b`, `h`, `p` and `j`.
using ScoreRoundings = std::map<std::array<std::int64_t, 4>, Roundings>;

/// The oracle's score and mask from regions with their captures. Emit an error
/// if a region holds an operation that cannot be evaluated.
///
/// With `roundings`, the score rounds in one place as it did when it was first
/// asked there, or another one that shares them was: for difference quotients.
FailureOr<decltype(reference::AttentionProblem::score)>
createScore(mlir::Region &region, std::vector<Datum> captures,
            std::shared_ptr<ScoreRoundings> roundings = nullptr);
FailureOr<decltype(reference::AttentionProblem::mask)>
createMask(mlir::Region &region, std::vector<Datum> captures);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_REGIONINTERPRETER_H
