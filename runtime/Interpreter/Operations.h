//===- Operations.h - What single operations compute ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_OPERATIONS_H
#define ATTN_RUNTIME_INTERPRETER_OPERATIONS_H

#include "runtime/Interpreter/Datum.h"

#include "mlir/IR/Operation.h"

#include <functional>

namespace attn::interpreter {

/// Computes the results of an operation from its operands.
using Evaluator = std::function<void(Operation *op, ArrayRef<Datum> operands,
                                     llvm::MutableArrayRef<Datum> results)>;

/// True for tensors and scalars that data can be.
bool isSupported(Type type);

/// Whether `op` is one of scalars that is applied to the elements of tensors.
bool isElementwise(Operation *op);

/// How to evaluate `op`, in a function or in a region, or an element of it if
/// it is elementwise; null if the interpreter does not know it. Lives as long
/// as the program.
const Evaluator *lookupEvaluator(Operation *op);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_OPERATIONS_H
