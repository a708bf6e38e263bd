//===- Conversions.h - Parts of the conversion for emulation - -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_NVVMTOEMULATOR_CONVERSIONS_H
#define ATTN_GPU_NVVMTOEMULATOR_CONVERSIONS_H

#include "lib/Kernel/RuntimeSymbols.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

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

  /// Memory of the operation's function for values of `type`, of its own.
  Value createMemory(Operation *op, Type type, int64_t count);
  /// The address of the element at `index` of it.
  Value getElement(Value memory, Type type, int64_t index);

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

/// The text of a constant string; nothing for another variable.
std::optional<StringRef> getText(LLVM::GlobalOp variable);

/// Whether a variable is a constant in global memory, which is the host's.
bool isConstantData(LLVM::GlobalOp variable);

/// Where variables in shared memory lie.
class SharedLayout {
public:
  /// Lays out the module's variables but for constants: those of
  /// constant size one after another, then, all at one place, those of dynamic
  /// size. Fails, with a diagnostic, where a variable is in another kind of
  /// memory or has an initial value.
  static FailureOr<SharedLayout> compute(ModuleOp module);

  uint64_t getStaticBytes() const { return staticBytes; }
  /// From the begin of shared memory, in bytes.
  uint64_t getOffset(StringRef variable) const {
    return offsets.lookup(variable);
  }
  bool contains(StringRef variable) const { return offsets.contains(variable); }

private:
  llvm::StringMap<uint64_t> offsets;
  uint64_t staticBytes = 0;
};

/// Replaces an operation of the NVVM dialect, or an intrinsic of NVVM's, by a
/// call. Fails, with a diagnostic, if it is not emulated.
LogicalResult convertNVVMOp(Operation *op, EmulatorCalls &calls);

/// Whether `op` is one of a warpgroup.
bool isWarpgroupOp(Operation *op);

/// Replaces all operations of warpgroups in `function` by calls. Fails, with a
/// diagnostic, where sums are used otherwise than through a wait for them.
LogicalResult convertWarpgroupOps(LLVM::LLVMFuncOp function,
                                  EmulatorCalls &calls);

/// Creates a check of what an operation of the LLVM dialect loads or stores,
/// and replaces addresses of shared memory. Fails, with a diagnostic, if `op`
/// uses memory in another way, or leaves the kernel.
LogicalResult convertMemoryAccess(Operation *op, const SharedLayout &layout,
                                  EmulatorCalls &calls);

} // namespace mlir::attn

#endif // ATTN_GPU_NVVMTOEMULATOR_CONVERSIONS_H
