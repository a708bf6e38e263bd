//===- ParallelLoopsTest.cpp - Outlined loops on threads ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"
#include "lib/Registration/Registration.h"
#include "runtime/Support/Call.h"
#include "runtime/Support/ParallelFor.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/TargetSelect.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

using attn::support::CallRecord;
using attn::support::Threads;

namespace {

// Every other column from the second on gets a number of its place. Its parts
// go through scratch memory.
constexpr const char *text = R"(
func.func @number(%out: memref<?x?xi64>, %limit: i64)
    attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %out, %c0 : memref<?x?xi64>
  %columns = memref.dim %out, %c1 : memref<?x?xi64>
  scf.forall (%i, %j) = (0, 1) to (%rows, %columns) step (1, 2) {
    %scratch = memref.alloc() : memref<2x4xi64>
    scf.forall (%part, %k) in (2, 4) {
      %first = arith.cmpi eq, %part, %c0 : index
      %index = arith.select %first, %i, %j : index
      %value = arith.index_cast %index : index to i64
      memref.store %value, %scratch[%part, %k] : memref<2x4xi64>
    }
    %row = memref.load %scratch[%c0, %c1] : memref<2x4xi64>
    %column = memref.load %scratch[%c1, %c2] : memref<2x4xi64>
    %hundred = arith.constant 100 : i64
    %times = arith.muli %row, %hundred : i64
    %number = arith.addi %times, %column : i64
    %inside = arith.cmpi slt, %number, %limit : i64
    cf.assert %inside, "too large"
    memref.store %number, %out[%i, %j] : memref<?x?xi64>
    memref.dealloc %scratch : memref<2x4xi64>
  }
  return
}
)";

class ParallelLoops : public testing::Test {
protected:
  void SetUp() override {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    mlir::DialectRegistry registry;
    mlir::attn::registerKernelDialects(registry);
    registry.insert<mlir::memref::MemRefDialect>();
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    ASSERT_TRUE(module);
    mlir::PassManager pm(context.get());
    pm.addPass(mlir::attn::createOutlineParallelLoops());
    pm.addPass(mlir::createSCFToControlFlowPass());
    pm.addPass(mlir::attn::createConvertToRuntimeCalls());
    pm.addPass(mlir::createFinalizeMemRefToLLVMConversionPass());
    pm.addPass(mlir::createArithToLLVMConversionPass());
    pm.addPass(mlir::createConvertControlFlowToLLVMPass());
    pm.addPass(mlir::createConvertFuncToLLVMPass());
    pm.addPass(mlir::createReconcileUnrealizedCastsPass());
    ASSERT_TRUE(mlir::succeeded(pm.run(*module)));
    auto created = mlir::ExecutionEngine::create(*module);
    ASSERT_TRUE(bool(created)) << llvm::toString(created.takeError());
    engine = std::move(*created);
    engine->registerSymbols([](llvm::orc::MangleAndInterner mangle) {
      llvm::orc::SymbolMap symbols;
      auto define = [&](const char *name, auto *function) {
        symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                 llvm::JITSymbolFlags::Exported};
      };
      define("attn_rt_parallel_ranges", &attn_rt_parallel_ranges);
      define("attn_rt_next_range", &attn_rt_next_range);
      define("attn_rt_alloc", &attn_rt_alloc);
      define("attn_rt_free", &attn_rt_free);
      define("attn_rt_fail", &attn_rt_fail);
      return symbols;
    });
    auto found = engine->lookupPacked("_mlir_ciface_number");
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    entry = *found;
  }

  /// Numbers a matrix. Gives the reason if that failed, else nothing.
  std::string number(const Threads &threads, std::int64_t rows,
                     std::int64_t columns, std::int64_t limit = 1 << 20) {
    matrix.assign(std::size_t(rows * columns), -1);
    StridedMemRefType<std::int64_t, 2> descriptor{
        matrix.data(), matrix.data(), 0, {rows, columns}, {columns, 1}};
    auto *address = &descriptor;
    void *arguments[] = {static_cast<void *>(&address), &limit};
    CallRecord record;
    record.threads = &threads;
    const char *message = attn::support::runGuarded(entry, arguments, record);
    return message ? message : "";
  }

  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*entry)(void **) = nullptr;
  std::vector<std::int64_t> matrix;
};

TEST_F(ParallelLoops, RunsEveryIteration) {
  for (int count : {1, 2, 5})
    for (std::int64_t rows : {0, 1, 2, 33})
      for (std::int64_t columns : {0, 1, 2, 3, 40}) {
        ASSERT_EQ(number({count, {}}, rows, columns), "");
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            ASSERT_EQ(matrix[std::size_t(i * columns + j)],
                      j % 2 ? 100 * i + j : -1)
                << rows << "x" << columns << " at " << i << ", " << j;
      }
}

TEST_F(ParallelLoops, FailsOnAThread) {
  for (int count : {1, 2, 5}) {
    std::string message = number({count, {}}, 33, 40, 1705);
    EXPECT_TRUE(llvm::StringRef(message).ends_with("too large")) << message;
    EXPECT_EQ(matrix[16 * 40 + 39], 1639); // Before the first that failed.
  }
}

} // namespace
