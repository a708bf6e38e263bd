//===- MemoryOps.cpp - Kept packs -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What a thread keeps, which only ops that keep it read and write.
struct KeptResource : SideEffects::Resource::Base<KeptResource> {
  StringRef getName() final { return "attn.kept"; }
};

} // namespace

//===----------------------------------------------------------------------===//
// attn.kept_packs
//===----------------------------------------------------------------------===//

LogicalResult KeptPacksOp::verify() {
  auto packs = cast<ShapedType>(getPacks().getType());
  if (!packs.hasRank() || packs.getRank() < 2 ||
      llvm::is_contained(packs.getShape().drop_front(), ShapedType::kDynamic))
    return emitOpError() << "result 'packs': expected a number of packs of "
                            "static sizes, got "
                         << packs;
  if (packs.isDynamicDim(0) != static_cast<bool>(getMost()))
    return emitOpError() << "operand 'most': expected "
                         << (getMost() ? "a dynamic number of packs"
                                       : "it with a dynamic number of packs")
                         << ", got " << packs;
  auto overlap = int64_t(getOverlap());
  if (overlap < 0 || (overlap > 0 && !getMost()))
    return emitOpError() << "attribute 'overlap': expected 0"
                         << (getMost() ? " or more" : " without 'most'")
                         << ", got " << overlap;
  return success();
}

void KeptPacksOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), KeptResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), KeptResource::get());
}
