//===- MemoryEffectModels.cpp - Effects of upstream's ops -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/DestinationStyle.h"
#include "lib/Kernel/ExternalModels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ModRef.h"

using namespace mlir;

namespace {
bool isPlain(LLVM::CallIntrinsicOp op) {
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(op.getIntrin());
  llvm::LLVMContext context;
  return id != llvm::Intrinsic::not_intrinsic &&
         llvm::Intrinsic::getFnAttributes(context, id)
             .getMemoryEffects()
             .doesNotAccessMemory();
}

/// It may only touch memory through an operand.
bool isPlain(LLVM::InlineAsmOp op) {
  return !op.getHasSideEffects() &&
         llvm::none_of(op->getOperandTypes(),
                       llvm::IsaPred<LLVM::LLVMPointerType>);
}

/// Reads and writes any memory, unless it is plain.
template <typename Op>
struct EffectsUnlessPlain
    : MemoryEffectOpInterface::ExternalModel<EffectsUnlessPlain<Op>, Op> {
  void getEffects(Operation *op, attn::MemoryEffectList &effects) const {
    if (isPlain(cast<Op>(op)))
      return;
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
};
} // namespace

void attn::registerMemoryEffectModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LLVM::LLVMDialect *) {
    LLVM::CallIntrinsicOp::attachInterface<
        EffectsUnlessPlain<LLVM::CallIntrinsicOp>>(*context);
    LLVM::InlineAsmOp::attachInterface<EffectsUnlessPlain<LLVM::InlineAsmOp>>(
        *context);
  });
}
