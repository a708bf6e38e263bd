//===- FunctionDerivative.h - A function that becomes another ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_FUNCTIONDERIVATIVE_H
#define ATTN_GRADIENT_FUNCTIONDERIVATIVE_H

#include "lib/Gradient/Differentiable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::attn {

/// What the derivatives of a function have in common, in reverse mode and in
/// forward mode: a function of one block that becomes one of what it was.
class FunctionDerivative {
public:
  /// Of the results and with respect to the arguments of these numbers, all of
  /// floats if there are none.
  FunctionDerivative(func::FuncOp function, ArrayRef<unsigned> results,
                     ArrayRef<unsigned> wrt, bool saved)
      : function(function), block(function.front()),
        given(block.getTerminator()), b(given), results(results), wrt(wrt),
        saved(saved) {}

protected:
  /// Checks the numbers of results and arguments, or finds them.
  LogicalResult choose();
  /// Adds what the function gave as arguments, if it is saved.
  void addSaved();
  Value addArgument(Type type, const Twine &name);
  /// "" of the only one of `count`, else "_0" and so on.
  static std::string suffix(size_t number, size_t count);
  /// Returns `values` instead, and drops what nothing needs.
  LogicalResult finish(ArrayRef<Value> values);

  func::FuncOp function;
  Block &block;
  Operation *given; ///< What is returned.
  OpBuilder b;
  SmallVector<unsigned> results, wrt;
  bool saved;

private:
  SmallVector<Value> savedResults;
};

/// Whether a type is one of floats.
bool isOfFloats(Type type);

/// Adds a copy of a function of a module behind it, whose name ends with
/// `suffix`: that named `of`, or the only public one if that is empty. `derive`
/// makes it the derivative, after `run` has decomposed it. An error if there is
/// no such function or one of this name, or in what is called; there is no copy
/// then.
LogicalResult
addDerivative(ModuleOp module, StringRef of, StringRef suffix,
              function_ref<LogicalResult(OpPassManager &, Operation *)> run,
              function_ref<LogicalResult(func::FuncOp)> derive);

} // namespace mlir::attn

#endif // ATTN_GRADIENT_FUNCTIONDERIVATIVE_H
