//===- CompileTrace.cpp - Where a compilation is --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/CompileTrace.h"
#include "runtime/Bridge/OperandSegments.h"
#include "runtime/Bridge/TextLimits.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace attn;

CompileTrace::CompileTrace(std::string what, std::string fileName,
                           const mlir::DialectRegistry &registry)
    : what(std::move(what)), fileName(std::move(fileName)),
      context(std::make_unique<mlir::MLIRContext>(
          registry, mlir::MLIRContext::Threading::DISABLED)),
      diagnostics(std::make_unique<DiagnosticCollector>(context.get())) {
  context->printOpOnDiagnostic(false); // Places say where; the text is known.
}

void CompileTrace::setPlace(mlir::Location location) {
  if (auto place = location->findInstanceOf<mlir::FileLineColLoc>()) {
    line = place.getLine();
    column = place.getColumn();
  }
}

void CompileTrace::enter(std::string stage, mlir::Location location) {
  enter(std::move(stage));
  setPlace(location);
}

mlir::OwningOpRef<mlir::ModuleOp> CompileTrace::parse(std::string_view text) {
  if (std::optional<TextFault> fault = findTextFault(text)) {
    mlir::emitError(mlir::FileLineColLoc::get(context.get(), fileName,
                                              fault->line, fault->column))
        << fault->message;
    return nullptr;
  }
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, fileName), llvm::SMLoc());
  mlir::Block block;
  enter("parsing what follows");
  isParsing = true;
  if (mlir::failed(mlir::parseAsmSourceFile(
          sources, &block,
          mlir::ParserConfig(context.get(), /*verifyAfterParse=*/false),
          &parserState)))
    return nullptr;
  isParsing = false;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<mlir::ModuleOp>(
          &block, context.get(),
          mlir::FileLineColLoc::get(context.get(), fileName, 1, 1));
  if (!module)
    return nullptr;
  enter("verifying this");
  verified = *module;
  isUnverifiable = mlir::failed(verifyOperandSegments(*module));
  if (isUnverifiable || mlir::failed(mlir::verify(*module)))
    return nullptr;
  verified = nullptr;
  return module;
}

/// Finds the last name that the parser has seen: operations are known when they
/// are complete, operands before.
void CompileTrace::findParsed() {
  const char *last = nullptr;
  auto see = [&](llvm::SMRange range) {
    last = std::max(last, range.Start.getPointer());
  };
  auto seeDefinition = [&](const mlir::AsmParserState::SMDefinition &value) {
    see(value.loc);
    for (llvm::SMRange use : value.uses)
      see(use);
  };
  for (const auto &op : parserState.getOpDefs()) {
    see(op.loc);
    for (const auto &group : op.resultGroups)
      seeDefinition(group.definition);
  }
  for (const auto &block : parserState.getBlockDefs()) {
    seeDefinition(block.definition);
    for (const auto &argument : block.arguments)
      seeDefinition(argument);
  }
  if (last)
    std::tie(line, column) =
        sources.getLineAndColumn(llvm::SMLoc::getFromPointer(last));
}

/// Verifies one operation after the other, until one crashes again.
void CompileTrace::findVerified() {
  mlir::ScopedDiagnosticHandler silence(
      verified->getContext(),
      [](mlir::Diagnostic &) { return mlir::success(); });
  verified->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    setPlace(op->getLoc());
    (void)op->getName().verifyInvariants(op);
  });
  line = column = 0;
}

Error CompileTrace::describe(const std::string &crash) {
  // What crashed once is in no state to be relied on: without a place, then.
  (void)runGuarded([&] {
    if (isParsing)
      findParsed();
    else if (verified)
      findVerified();
  });
  Error error = takeError(what);
  bool isExplained = !error.diagnostics.empty();
  (void)diagnostics.release();
  (void)context.release();

  Diagnostic &diagnostic = error.diagnostics.emplace_back();
  diagnostic.file = fileName;
  diagnostic.line = line;
  diagnostic.column = column;
  diagnostic.message = "the compiler crashed " + stage + " (" + crash + ")";
  if (!isExplained) {
    error.message = what + ": " + fileName + ": ";
    if (line)
      error.message = what + ": " + fileName + ":" + std::to_string(line) +
                      ":" + std::to_string(column) + ": ";
    error.message += diagnostic.message;
  }
  return error;
}
