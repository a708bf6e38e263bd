//===- WarpgroupOps.cpp - Warpgroups as calls of the emulator -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/NVVMToEmulator/Conversions.h"

#include "dialect/AttnOps.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isWarpgroupOp(Operation *op) {
  return isa<WarpgroupMmaOp, WarpgroupWaitOp, TransposeInWarpOp>(op);
}

static Value createI1(EmulatorCalls &calls, Location loc, bool value) {
  OpBuilder &builder = calls.getBuilder();
  return LLVM::ConstantOp::create(builder, loc, builder.getI1Type(),
                                  builder.getBoolAttr(value));
}

/// Stores values of one type in memory, one after another.
static void store(EmulatorCalls &calls, Location loc, ValueRange values,
                  Value memory) {
  for (auto [index, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(
        calls.getBuilder(), loc, value,
        calls.getElement(memory, value.getType(), int64_t(index)));
}

/// Replaces the results of an operation by what the memory of sums holds.
static void replaceByLoads(Operation *op, Value sums, EmulatorCalls &calls) {
  OpBuilder &builder = calls.getBuilder();
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value element =
        calls.getElement(sums, result.getType(), result.getResultNumber());
    result.replaceAllUsesWith(
        LLVM::LoadOp::create(builder, op->getLoc(), result.getType(), element));
  }
  op->erase();
}

static void convert(WarpgroupMmaOp mma, Value sums, EmulatorCalls &calls) {
  calls.setInsertionPoint(mma);
  OpBuilder &builder = calls.getBuilder();
  Location loc = mma.getLoc();
  auto numSteps = int64_t(mma.getSteps().size());
  auto storeNumbers = [&](ArrayRef<int64_t> numbers) {
    Value memory =
        calls.createMemory(mma, builder.getI64Type(), int64_t(numbers.size()));
    store(calls, loc,
          llvm::map_to_vector(
              numbers, [&](int64_t number) { return calls.createI64(number); }),
          memory);
    return memory;
  };
  Value steps = storeNumbers(mma.getSteps());
  // Registers, or the descriptor of each step: less what it adds to the first.
  Value lhs;
  if (mma.readsBoth()) {
    lhs = calls.createMemory(mma, builder.getI64Type(), numSteps);
    store(calls, loc,
          llvm::map_to_vector(*mma.getLhsSteps(),
                              [&](int64_t step) -> Value {
                                return LLVM::AddOp::create(
                                    builder, loc, mma.getLhs().front(),
                                    calls.createI64(step));
                              }),
          lhs);
  } else {
    lhs = calls.createMemory(mma, builder.getI32Type(),
                             int64_t(mma.getLhs().size()));
    store(calls, loc, mma.getLhs(), lhs);
  }
  store(calls, loc, mma.getSums(), sums);
  calls.call("wgmma",
             {sums, lhs, mma.getRhs(), steps, calls.createI32(numSteps),
              calls.createI32(int64_t(mma.getColumns())),
              createI1(calls, loc, mma.readsBoth()),
              createI1(calls, loc, mma.getTransposed()),
              createI1(calls, loc, mma.getFactorType().isBF16()),
              createI1(calls, loc, !mma.getSums().empty()),
              calls.createSite(mma)});
  replaceByLoads(mma, sums, calls);
}

static void convert(TransposeInWarpOp op, EmulatorCalls &calls) {
  calls.setInsertionPoint(op);
  OpBuilder &builder = calls.getBuilder();
  Type word = builder.getI32Type();
  Value pair =
      LLVM::BitcastOp::create(builder, op.getLoc(), word, op.getPair());
  Value result = calls.call("movmatrix", {pair, calls.createSite(op)}, word);
  op.replaceAllUsesWith(Value(
      LLVM::BitcastOp::create(builder, op.getLoc(), op.getType(), result)));
  op.erase();
}

LogicalResult attn::convertWarpgroupOps(LLVM::LLVMFuncOp function,
                                        EmulatorCalls &calls) {
  SmallVector<std::pair<WarpgroupMmaOp, Value>> products;
  SmallVector<WarpgroupWaitOp> waits;
  Type f32 = calls.getBuilder().getF32Type();
  WalkResult result = function.walk([&](WarpgroupMmaOp mma) -> WalkResult {
    for (Value sum : mma.getSums())
      if (sum.getDefiningOp<WarpgroupMmaOp>())
        return mma.emitOpError("adds to sums that have not been waited for");
    calls.setInsertionPoint(mma);
    products.emplace_back(
        mma, calls.createMemory(mma, f32, int64_t(mma.getResults().size())));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  result = function.walk([&](WarpgroupWaitOp wait) -> WalkResult {
    for (OpOperand &sum : wait->getOpOperands())
      if (auto begun = dyn_cast<OpResult>(sum.get());
          begun && isa<WarpgroupMmaOp>(begun.getOwner()) &&
          begun.getResultNumber() != sum.getOperandNumber())
        return wait.emitOpError("is only emulated for the first results of a "
                                "product, in their order");
    waits.push_back(wait);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  function.walk([&](TransposeInWarpOp op) { convert(op, calls); });
  for (WarpgroupWaitOp wait : waits) {
    calls.setInsertionPoint(wait);
    OpBuilder &builder = calls.getBuilder();
    // Blocks may have been merged: what it waits for is seen when it runs.
    Value first = LLVM::BitcastOp::create(
        builder, wait.getLoc(), builder.getI32Type(), wait.getSums().front());
    Value sums = calls.call("wgmma_wait",
                            {calls.createI32(int64_t(wait.getPending())), first,
                             calls.createSite(wait)},
                            LLVM::LLVMPointerType::get(builder.getContext()));
    replaceByLoads(wait, sums, calls);
  }
  for (auto [mma, sums] : products)
    convert(mma, sums, calls);
  return success();
}
