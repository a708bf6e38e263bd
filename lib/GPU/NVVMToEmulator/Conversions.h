//===- Conversions.h - Parts of the conversion for emulation - -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_NVVMTOEMULATOR_CONVERSIONS_H
#define ATTN_GPU_NVVMTOEMULATOR_CONVERSIONS_H

#include "lib/GPU/NVVMToEmulator/EmulatorCalls.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::attn {

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

/// Creates a check of what an operation of the LLVM dialect loads or stores,
/// and replaces addresses of shared memory. Fails, with a diagnostic, if `op`
/// uses memory in another way, or leaves the kernel.
LogicalResult convertMemoryAccess(Operation *op, const SharedLayout &layout,
                                  EmulatorCalls &calls);

/// Replaces a launch of `kernel`, which `entry` calls with arguments from
/// memory, by a call that also passes where `constants` are. Fails, with a
/// diagnostic, if it is not emulated.
LogicalResult convertLaunch(gpu::LaunchFuncOp launch, LLVM::LLVMFuncOp kernel,
                            LLVM::LLVMFuncOp entry, const SharedLayout &layout,
                            ArrayRef<LLVM::GlobalOp> constants,
                            EmulatorCalls &calls);

} // namespace mlir::attn

#endif // ATTN_GPU_NVVMTOEMULATOR_CONVERSIONS_H
