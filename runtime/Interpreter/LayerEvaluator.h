//===- LayerEvaluator.h - Evaluates a layer ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_LAYEREVALUATOR_H
#define ATTN_RUNTIME_INTERPRETER_LAYEREVALUATOR_H

#include "dialect/AttnOps.h"
#include "runtime/Interpreter/Datum.h"

namespace attn::interpreter {

/// Hands an attn.multi_head_attention to the oracle, with its operands in their
/// order. Emits an error where there is no result.
FailureOr<std::vector<Datum>> evaluateLayer(mlir::attn::MultiHeadAttentionOp op,
                                            ArrayRef<Datum> operands);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_LAYEREVALUATOR_H
