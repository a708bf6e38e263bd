//===- ExternalizeSharedMemory.cpp - Dynamic shared memory is elsewhere ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::attn {
#define GEN_PASS_DEF_EXTERNALIZESHAREDMEMORY
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct ExternalizeSharedMemory
    : attn::impl::ExternalizeSharedMemoryBase<ExternalizeSharedMemory> {
  using ExternalizeSharedMemoryBase::ExternalizeSharedMemoryBase;

  void runOnOperation() override {
    // The most that something in it asks for: `attn.read_panels`.
    constexpr uint64_t kAlignment = 1024;
    constexpr auto shared = unsigned(NVVM::NVVMMemorySpace::Shared);
    for (auto global : getOperation().getOps<LLVM::GlobalOp>()) {
      auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
      if (array && array.getNumElements() == 0 &&
          global.getAddrSpace() == shared) {
        global.setLinkage(LLVM::Linkage::External);
        global.setAlignment(kAlignment);
      }
    }
  }
};
} // namespace
