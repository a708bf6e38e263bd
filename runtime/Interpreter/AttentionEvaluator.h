//===- AttentionEvaluator.h - Evaluates an attention ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_ATTENTIONEVALUATOR_H
#define ATTN_RUNTIME_INTERPRETER_ATTENTIONEVALUATOR_H

#include "runtime/Interpreter/Datum.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace attn::interpreter {

/// What the values of a function are.
using Values = llvm::DenseMap<Value, Datum>;

std::vector<Datum> lookup(const Values &values, mlir::ValueRange operands);

/// Is it attn.attention or attn.multi_token_attention?
bool isAttention(Operation *op);

/// Hands an attention to its oracle, and sets its results. Emits an error where
/// it has none.
LogicalResult evaluateAttention(Operation *op, Values &values);

/// Adds the operations of a product for each pair of a query and a key, once
/// with the key and once with the value. The results stay unknown.
LogicalResult countAttention(Operation *op, Values &values, double &flops);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_ATTENTIONEVALUATOR_H
