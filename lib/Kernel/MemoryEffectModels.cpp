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
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ModRef.h"

#include <mutex>

using namespace mlir;

namespace {
/// Asked for every call by every pass, and answered by way of a context of
/// LLVM's, which takes long to make.
bool isPlain(llvm::Intrinsic::ID id) {
  static std::mutex mutex;
  static llvm::DenseMap<llvm::Intrinsic::ID, bool> known;
  std::scoped_lock lock(mutex);
  auto [answer, isNew] = known.try_emplace(id);
  if (isNew) {
    llvm::LLVMContext context;
    answer->second = llvm::Intrinsic::getFnAttributes(context, id)
                         .getMemoryEffects()
                         .doesNotAccessMemory();
  }
  return answer->second;
}

bool isPlain(LLVM::CallIntrinsicOp op) {
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(op.getIntrin());
  return id != llvm::Intrinsic::not_intrinsic && isPlain(id);
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
