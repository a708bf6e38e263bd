//===- PassTrace.cpp - Which pass runs where ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/PassTrace.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

using namespace attn;

namespace {

struct PassTrace : mlir::PassInstrumentation {
  explicit PassTrace(CompileTrace &trace) : trace(trace) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    if (pass->getArgument().empty()) // It runs others.
      return;
    std::string stage = "in pass '" + pass->getArgument().str() + "'";
    // A module's place is the file's first character.
    if (llvm::isa<mlir::ModuleOp>(op))
      trace.enter(std::move(stage));
    else
      trace.enter(std::move(stage), op->getLoc());
  }

  CompileTrace &trace;
};

} // namespace

void jit::tracePasses(mlir::PassManager &pm, CompileTrace &trace) {
  pm.addInstrumentation(std::make_unique<PassTrace>(trace));
}
