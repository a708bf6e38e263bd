//===- EmulatorCalls.h - Calls of the emulator's functions --- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_NVVMTOEMULATOR_EMULATORCALLS_H
#define ATTN_GPU_NVVMTOEMULATOR_EMULATORCALLS_H

#include "lib/Kernel/RuntimeSymbols.h"

namespace mlir::attn {

/// Address spaces of NVVM.
enum AddressSpace : unsigned {
  genericSpace = 0,
  globalSpace = 1,
  sharedSpace = 3,
  localSpace = 5
};

/// Creates calls of the functions in runtime/Emulator/Functions.h.
class EmulatorCalls {
public:
  explicit EmulatorCalls(ModuleOp module)
      : module(module), symbols(module), builder(module.getContext()) {}

  /// What follows is created before `op`, with its place.
  void setInsertionPoint(Operation *op);
  OpBuilder &getBuilder() { return builder; }

  /// Calls `attn_emu_<name>`. Pointers are passed as generic ones. Null if the
  /// function has no result.
  Value call(StringRef name, ValueRange operands, Type result = {});

  Value createI32(int64_t value) { return createInteger(32, value); }
  Value createI64(int64_t value) { return createInteger(64, value); }

  /// A pointer to the operation's name with its place in the source.
  Value createSite(Operation *op);

  /// A pointer to a zero-terminated constant string.
  Value createText(StringRef text);

  /// Memory of the operation's function for words that are passed to a call and
  /// back: valid until the next call.
  Value getScratch(Operation *op);
  static constexpr unsigned scratchWords = 16;

  /// Stores values of 32 bits in scratch memory, one after another.
  Value storeWords(Operation *op, ValueRange values);
  /// Loads the word at `index`, as a value of `type`.
  Value loadWord(Value scratch, unsigned index, Type type);

private:
  Value createInteger(unsigned width, int64_t value);
  Value getWord(Value scratch, unsigned index);
  Type getPtrType() { return LLVM::LLVMPointerType::get(module.getContext()); }

  ModuleOp module;
  RuntimeSymbols symbols;
  OpBuilder builder;
  Location loc = UnknownLoc::get(module.getContext());
  llvm::DenseMap<Operation *, Value> scratch; ///< By function.
};

} // namespace mlir::attn

#endif // ATTN_GPU_NVVMTOEMULATOR_EMULATORCALLS_H
