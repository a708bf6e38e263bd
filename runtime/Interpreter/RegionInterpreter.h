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

namespace attn::interpreter {

/// Evaluates a region of one block many times with different arguments.
class RegionInterpreter {
public:
  /// Emits an error if the region holds an operation that cannot be evaluated.
  static FailureOr<RegionInterpreter> create(mlir::Region &region);

  /// What the region's terminator yields first; undefined if that depends on
  /// something undefined. The first arguments are `leading`, the others
  /// `captures`.
  Datum evaluate(ArrayRef<Datum> leading, ArrayRef<Datum> captures);

  /// The same, where `moved`, a float, is larger by `distance` than it is.
  Datum evaluate(llvm::ArrayRef<Datum> leading, llvm::ArrayRef<Datum> captures,
                 mlir::Value moved, double distance);

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
  };

  void run(unsigned moved, double distance);

  std::vector<Step> steps;
  std::vector<Datum> values;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned yielded = 0;
};

/// The oracle's score and mask from regions with their captures. Emit an error
/// if a region holds an operation that cannot be evaluated.
FailureOr<decltype(reference::AttentionProblem::score)>
createScore(mlir::Region &region, std::vector<Datum> captures);
FailureOr<decltype(reference::AttentionProblem::mask)>
createMask(mlir::Region &region, std::vector<Datum> captures);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_REGIONINTERPRETER_H
