//===- MemoryEffectModels.cpp - Effects of upstream's ops -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/ExternalModels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ModRef.h"

using namespace mlir;

namespace {
struct CallIntrinsicEffects
    : MemoryEffectOpInterface::ExternalModel<CallIntrinsicEffects,
                                             LLVM::CallIntrinsicOp> {
  void
  getEffects(Operation *op,
             SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
                 &effects) const {
    llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(
        cast<LLVM::CallIntrinsicOp>(op).getIntrin());
    llvm::LLVMContext context;
    if (id != llvm::Intrinsic::not_intrinsic &&
        llvm::Intrinsic::getFnAttributes(context, id)
            .getMemoryEffects()
            .doesNotAccessMemory())
      return;
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
};

struct InlineAsmEffects
    : MemoryEffectOpInterface::ExternalModel<InlineAsmEffects,
                                             LLVM::InlineAsmOp> {
  void
  getEffects(Operation *op,
             SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
                 &effects) const {
    // It may only touch memory through an operand.
    bool isPlain = !cast<LLVM::InlineAsmOp>(op).getHasSideEffects() &&
                   llvm::none_of(op->getOperandTypes(),
                                 llvm::IsaPred<LLVM::LLVMPointerType>);
    if (isPlain)
      return;
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
};
} // namespace

void attn::registerMemoryEffectModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LLVM::LLVMDialect *) {
    LLVM::CallIntrinsicOp::attachInterface<CallIntrinsicEffects>(*context);
    LLVM::InlineAsmOp::attachInterface<InlineAsmEffects>(*context);
  });
}
