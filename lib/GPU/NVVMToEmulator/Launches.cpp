//===- Launches.cpp - Launches of kernels as calls of the emulator --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/LaunchOperands.h"
#include "lib/GPU/NVVMToEmulator/Conversions.h"

using namespace mlir;
using namespace mlir::attn;

/// Passes a constant as bytes behind the kernel's parameters, which it does not
/// take, so that its accesses are of a buffer.
static void addConstant(LLVM::GlobalOp constant, LaunchOperands &operands,
                        EmulatorCalls &calls, Location loc) {
  DataLayout dataLayout = DataLayout::closest(constant);
  auto bytes = dataLayout.getTypeSize(constant.getGlobalType());
  Value address = LLVM::AddressOfOp::create(calls.getBuilder(), loc, constant);
  operands.memrefs.push_back({int64_t(operands.arguments.size()), 1, 1});
  llvm::append_range(operands.arguments,
                     ValueRange{address, address, calls.createI64(0),
                                calls.createI64(int64_t(bytes.getFixedValue())),
                                calls.createI64(1)});
}

LogicalResult
attn::convertLaunch(gpu::LaunchFuncOp launch, LLVM::LLVMFuncOp kernel,
                    LLVM::LLVMFuncOp entry, const SharedLayout &layout,
                    ArrayRef<LLVM::GlobalOp> constants, EmulatorCalls &calls) {
  FailureOr<LaunchOperands> operands = LaunchOperands::compute(launch, kernel);
  if (failed(operands))
    return failure();
  calls.setInsertionPoint(launch);
  OpBuilder &builder = calls.getBuilder();
  for (LLVM::GlobalOp constant : constants)
    addConstant(constant, *operands, calls, launch.getLoc());
  operands->sizes.push_back(calls.createI64(int64_t(layout.getStaticBytes())));
  SmallVector<Value> memrefs;
  for (const LaunchOperands::MemRef &memref : operands->memrefs)
    for (int64_t number : {memref.firstArgument, memref.rank, memref.bytes})
      memrefs.push_back(calls.createI64(number));
  calls.call("launch",
             {LLVM::AddressOfOp::create(builder, launch.getLoc(), entry),
              calls.createText(kernel.getName()),
              createArray(builder, launch, operands->sizes),
              createArgumentArray(builder, launch, operands->arguments),
              createArray(builder, launch, memrefs),
              calls.createI64(int64_t(operands->memrefs.size()))});
  launch.erase();
  return success();
}
