//===- CacheEvaluator.h - Ops beside attention ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_CACHEEVALUATOR_H
#define ATTN_RUNTIME_INTERPRETER_CACHEEVALUATOR_H

#include "dialect/Shared/SizeConstraint.h"
#include "runtime/Interpreter/Datum.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace attn::interpreter {

/// Hands attn.cache_append, attn.cache_read and the ops of a layer around
/// attention to the oracle. Nothing for other operations; emits an error where
/// there is no result.
std::optional<FailureOr<std::vector<Datum>>>
evaluateBesideAttention(Operation *op, ArrayRef<Datum> operands);

/// What the verifier of `op` could not see in dynamic sizes, and operands that
/// were never written, other than `outs`: an error at the op.
LogicalResult checkOperands(Operation *op, ArrayRef<Datum> operands,
                            ArrayRef<mlir::attn::SizeConstraint> constraints,
                            mlir::ValueRange outs);

/// The elements of a tensor of integers, in row-major order.
std::vector<std::int64_t> getIntegers(const Tensor &tensor);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_CACHEEVALUATOR_H
