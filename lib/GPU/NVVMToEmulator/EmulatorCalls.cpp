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

Value EmulatorCalls::getScratch(Operation *op) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  Value &result = scratch[function];
  if (!result) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    result =
        LLVM::AllocaOp::create(builder, function.getLoc(), getPtrType(),
                               builder.getI32Type(), createI32(scratchWords));
  }
  return result;
}

Value EmulatorCalls::getWord(Value scratch, unsigned index) {
  return LLVM::GEPOp::create(builder, loc, getPtrType(), builder.getI32Type(),
                             scratch, ArrayRef<LLVM::GEPArg>{int32_t(index)});
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
