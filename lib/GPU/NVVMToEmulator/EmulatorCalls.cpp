//===- EmulatorCalls.cpp - Calls of the emulator's functions --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/NVVMToEmulator/Conversions.h"

using namespace mlir;
using namespace mlir::attn;

void EmulatorCalls::setInsertionPoint(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
}

Value EmulatorCalls::createInteger(unsigned width, int64_t value) {
  Type type = builder.getIntegerType(width);
  return LLVM::ConstantOp::create(builder, loc, type,
                                  builder.getIntegerAttr(type, value));
}

Value EmulatorCalls::call(StringRef name, ValueRange operands, Type result) {
  SmallVector<Value> passed;
  for (Value operand : operands) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(operand.getType());
    passed.push_back(
        pointer && pointer.getAddressSpace() != genericSpace
            ? LLVM::AddrSpaceCastOp::create(builder, loc, getPtrType(), operand)
            : operand);
  }
  FailureOr<LLVM::LLVMFuncOp> function = symbols.getFunction(
      builder, ("attn_emu_" + name).str(),
      llvm::to_vector(ValueRange(passed).getTypes()),
      result ? result : LLVM::LLVMVoidType::get(builder.getContext()));
  // Nothing else has these names: the pass checks that first.
  assert(succeeded(function) &&
         "function of the emulator is defined otherwise");
  auto call = LLVM::CallOp::create(builder, loc, *function, passed);
  return result ? call.getResult() : Value();
}

Value EmulatorCalls::createSite(Operation *op) {
  return createText(withLocation(op->getName().getStringRef(), op->getLoc()));
}

Value EmulatorCalls::createText(StringRef text) {
  return LLVM::AddressOfOp::create(builder, loc, symbols.getMessage(text));
}

Value EmulatorCalls::createMemory(Operation *op, Type type, int64_t count) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AllocaOp::create(builder, function.getLoc(), getPtrType(), type,
                                createI32(count));
}

Value EmulatorCalls::getElement(Value memory, Type type, int64_t index) {
  return LLVM::GEPOp::create(builder, loc, getPtrType(), type, memory,
                             ArrayRef<LLVM::GEPArg>{int32_t(index)});
}

Value EmulatorCalls::getScratch(Operation *op) {
  Value &result = scratch[op->getParentOfType<LLVM::LLVMFuncOp>()];
  if (!result)
    result = createMemory(op, builder.getI32Type(), scratchWords);
  return result;
}

Value EmulatorCalls::getWord(Value scratch, unsigned index) {
  return getElement(scratch, builder.getI32Type(), index);
}

Value EmulatorCalls::storeWords(Operation *op, ValueRange values) {
  assert(values.size() <= scratchWords);
  Value words = getScratch(op);
  for (auto [index, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(builder, loc, value, getWord(words, index));
  return words;
}

Value EmulatorCalls::loadWord(Value scratch, unsigned index, Type type) {
  return LLVM::LoadOp::create(builder, loc, type, getWord(scratch, index));
}
