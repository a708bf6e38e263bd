//===- AttnOpsFuzzer.cpp - Parses and lowers arbitrary IR text ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is the body of a function with the arguments below, or a module.
// What parses and verifies must print and parse again to the same text, and
// must be valid IR after canonicalization, after the decomposition of layers
// and after the reference lowering.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/BufferizableOpInterfaceImpl.h"
#include "lib/Attention/Passes.h"
#include "lib/BlockMap/Passes.h"
#include "lib/CPU/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Memory/Passes.h"
#include "lib/MultiToken/Passes.h"
#include "lib/Online/Passes.h"
#include "lib/Projection/Passes.h"
#include "lib/Reference/Passes.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

using namespace mlir;

namespace {

constexpr StringRef kFunction = R"(func.func @f(
  %q: tensor<1x4x?x8xf32>, %k: tensor<1x2x?x8xf32>, %v: tensor<1x2x?x6xf32>,
  %o: tensor<1x4x?x6xf32>, %l: tensor<1x4x?xf32>, %x: tensor<2x2x3x4xf16>,
  %y: tensor<2x2x3xf32>, %d: tensor<1x1x2x2xf64>, %mq: memref<1x4x?x8xf32>,
  %mk: memref<1x2x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>,
  %mo: memref<1x4x?x8xf32>, %ml: memref<1x4x?xf32>, %t: tensor<4xf32>,
  %u: tensor<?x?xf16>, %n: tensor<1xi32>, %c: tensor<3xi32>, %m: tensor<?x?xi1>,
  %e: tensor<1x1x?x?xi1>, %p: tensor<?x?xi64>, %mt: memref<4xf32>,
  %mm: memref<1x?xi1>, %la: tensor<1x?x6xf32>, %lw: tensor<6x64xf32>,
  %lo: tensor<32x6xf32>, %lg: tensor<6x4xf32>, %lz: tensor<8xf32>,
  %lr: tensor<?x4xf32>, %lk: tensor<1x2x?x8xf32>, %lc: tensor<4x3x3xf32>,
  %f: f32, %h: f16, %i: i32, %s: i64, %j: index, %b: i1) {
)";

/// What the packaged parser itself crashes on: an attribute `array<index ...>`.
bool crashesParser(StringRef text) {
  for (size_t at = 0; (at = text.find("array<", at)) != StringRef::npos;) {
    at += std::strlen("array<");
    if (text.substr(at).ltrim().starts_with("index"))
      return true;
  }
  return false;
}

[[noreturn]] void fail(const char *what) {
  llvm::errs() << what << '\n';
  std::abort();
}

DialectRegistry createRegistry() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, attn::AttnDialect,
                  bufferization::BufferizationDialect, cf::ControlFlowDialect,
                  func::FuncDialect, index::IndexDialect, linalg::LinalgDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, ub::UBDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  attn::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  return registry;
}

std::unique_ptr<MLIRContext> createContext() {
  auto context = std::make_unique<MLIRContext>(
      createRegistry(), MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->allowUnregisteredDialects(); // For `keepAlive`.
  context->getDiagEngine().registerHandler([](Diagnostic &) {});
  return context;
}

/// What passes of the packaged MLIR crash on, with and without attn ops: the
/// canonicalization of a comparison that is always true or false, bufferization
/// of an op that uses its own results.
bool crashesPasses(ModuleOp module) {
  WalkResult found = module.walk([](Operation *op) {
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      if (compare.getPredicate() == arith::CmpFPredicate::AlwaysTrue ||
          compare.getPredicate() == arith::CmpFPredicate::AlwaysFalse)
        return WalkResult::interrupt();
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        if (definition->getBlock() == op->getBlock() &&
            !definition->isBeforeInBlock(op)) // In a module, not a function.
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Results that nobody uses would let canonicalization erase the ops.
bool keepAlive(ModuleOp module) {
  bool any = false;
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (!isa_and_present<attn::AttnDialect>(op->getDialect()) ||
        op->hasTrait<OpTrait::IsTerminator>())
      return;
    any = true;
    if (op->getNumResults() > 0)
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    OperationState use(op->getLoc(), "fuzz.use", op->getResults(), TypeRange());
    builder.create(use);
  }
  return any;
}

void checkPasses(ModuleOp module, const char *what,
                 function_ref<void(PassManager &)> build) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager manager(module.getContext());
  manager.enableVerifier(false); // Below, so that a failing pass is none.
  build(manager);
  if (succeeded(manager.run(*copy)) && failed(verify(*copy)))
    fail(what);
}

void checkBufferization(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  bufferization::OneShotBufferizationOptions options;
  options.allowUnknownOps = true;
  bufferization::BufferizationState state;
  if (succeeded(bufferization::runOneShotBufferize(*copy, options, state)) &&
      failed(verify(*copy)))
    fail("bufferization leaves invalid IR");
}

void check(ModuleOp module) {
  if (!keepAlive(module))
    return;
  MLIRContext *context = module.getContext();
  std::string text = print(module);
  OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(text, context);
  if (!again)
    fail("what is printed does not parse");
  if (print(*again) != text)
    fail("what is printed parses to something else");
  if (crashesPasses(module))
    return;
  checkPasses(module, "canonicalization leaves invalid IR",
              [](PassManager &pm) { pm.addPass(createCanonicalizerPass()); });
  checkPasses(
      module, "the decomposition leaves invalid IR",
      [](PassManager &pm) { pm.addPass(attn::createDecomposeLayer()); });
  checkPasses(module, "the lowering leaves invalid IR", [](PassManager &pm) {
    pm.addPass(attn::createDecomposeLayer());
    pm.addPass(attn::createConvertAttnToLinalg());
  });
  checkBufferization(module);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
                                      std::size_t size) {
  // A context keeps every type and attribute that it has seen.
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 1000 == 0) {
    context.reset();
    context = createContext();
  }
  StringRef input(reinterpret_cast<const char *>(data), size);
  if (crashesParser(input))
    return 0;
  // Copies, because the lexer wants a null character at the end.
  for (const std::string &text :
       {(kFunction + input + "\n  return\n}\n").str(), input.str()})
    if (OwningOpRef<ModuleOp> module =
            parseSourceString<ModuleOp>(text, context.get())) {
      check(*module);
      break;
    }
  return 0;
}
