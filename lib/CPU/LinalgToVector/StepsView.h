//===- StepsView.h - Some steps of an operand -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_STEPSVIEW_H
#define ATTN_CPU_LINALGTOVECTOR_STEPSVIEW_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// An operand of a product that is a view of some steps of what it contracts,
/// which are the view's first dimension.
struct StepsView {
  /// The view in pairs; null if it is not in pairs.
  memref::ExpandShapeOp pairs;
  memref::SubViewOp view;
  unsigned dim; ///< The steps' dimension of what `view` is a view of.
  int64_t numSteps;

  /// None if it is no such view, or one of all steps.
  static std::optional<StepsView> of(Value operand);
  /// Whether no steps follow, as far as that is known.
  bool areLast();
  /// Where the steps that follow begin, or the last ones.
  Value getNextStep(OpBuilder &b);
  /// As many steps from `first` on.
  Value get(OpBuilder &b, OpFoldResult first);
  /// Those that follow, as far as there are as many.
  Value getNext(OpBuilder &b) { return get(b, getNextStep(b)); }
};

int64_t countBytes(MemRefType type);

/// How often a loop runs at most; 0 if that is not known.
int64_t getMostIterations(scf::ForOp loop);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_STEPSVIEW_H
