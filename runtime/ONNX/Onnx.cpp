//===- Onnx.cpp - The text of ONNX models ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/onnx.h"

#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CompileTrace.h"
#include "runtime/ONNX/GraphImport.h"
#include "runtime/ONNX/Model.h"

#include "dialect/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

/// What is wrong first, with its notes.
static Error takeFirstError(CompileTrace &trace) {
  Error error = trace.takeError("cannot import");
  auto isError = [](const Diagnostic &diagnostic) {
    return diagnostic.severity == Diagnostic::Severity::error;
  };
  auto first = llvm::find_if(error.diagnostics, isError);
  if (first != error.diagnostics.end())
    error.diagnostics.erase(
        std::find_if(std::next(first), error.diagnostics.end(), isError),
        error.diagnostics.end());
  return error;
}

static Expected<std::string> importModel(std::string_view bytes,
                                         const OnnxOptions &options,
                                         CompileTrace &trace,
                                         std::vector<Diagnostic> &remarks) {
  Expected<onnx::Model> model = onnx::parseModel(bytes, options.directory);
  if (!model) {
    mlir::emitError(
        mlir::FileLineColLoc::get(trace.getContext(), options.fileName, 0, 0))
        << model.error().message;
    return takeFirstError(trace);
  }
  mlir::MLIRContext *context = trace.getContext();
  context->loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      onnx::importGraph(context, *model, options.node, options.fileName);
  if (!module)
    return takeFirstError(trace);
  std::string text;
  llvm::raw_string_ostream os(text);
  // Values are called what they are in the model.
  module->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
  os << "\n";
  remarks = trace.takeRemarks();
  return text;
}

Expected<std::string> attn::importOnnx(std::string_view model,
                                       const OnnxOptions &options) {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry result;
    result.insert<mlir::attn::AttnDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    return result;
  }();
  std::vector<Diagnostic> remarks;
  Expected<std::string> text = callOnThread<std::string>([&] {
    return compileGuarded<std::string>(
        "cannot import", options.fileName, registry, [&](CompileTrace &trace) {
          trace.enter("while importing");
          return importModel(model, options, trace, remarks);
        });
  });
  if (options.onRemark)
    for (const Diagnostic &remark : remarks)
      options.onRemark(remark);
  return text;
}
