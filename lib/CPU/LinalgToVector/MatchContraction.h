//===- MatchContraction.h - Operands of a contraction -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_MATCHCONTRACTION_H
#define ATTN_CPU_LINALGTOVECTOR_MATCHCONTRACTION_H

#include "lib/CPU/LinalgToVector/ContractionLoops.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"

namespace mlir::attn {

/// Matches a contraction that `target` multiplies in registers, and sets the
/// operands of `contraction`; a reason if it has another form.
StringRef matchContraction(linalg::LinalgOp op, const ContractionTarget &target,
                           Contraction &contraction);

/// Whether pairs of `buffer` are known to lie side by side.
bool hasKnownPairs(TypedValue<MemRefType> buffer);

/// Whether they do when the kernel runs, and a view of `buffer` that says so.
std::pair<Value, TypedValue<MemRefType>>
assumePairs(OpBuilder &b, TypedValue<MemRefType> buffer);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_MATCHCONTRACTION_H
