//===- FunctionInterpreter.h - Evaluates a kernel's function ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_FUNCTIONINTERPRETER_H
#define ATTN_RUNTIME_INTERPRETER_FUNCTIONINTERPRETER_H

#include "runtime/Interpreter/Datum.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::interpreter {

/// Evaluates a function for arguments of its types. Emits an error for what it
/// cannot evaluate, for what has no result, and after `maxIterations` of loops.
FailureOr<std::vector<Datum>> evaluateFunction(mlir::func::FuncOp function,
                                               ArrayRef<Datum> arguments,
                                               std::int64_t maxIterations);

/// Counts the floating-point operations of every attn.attention in a function,
/// as if no position were masked, without computing its results. Emits an error
/// as `evaluateFunction` does.
FailureOr<double> countDenseFlops(mlir::func::FuncOp function,
                                  ArrayRef<Datum> arguments);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_FUNCTIONINTERPRETER_H
