//===- MemoryOps.cpp - Kept packs and prefetches --------------------------===//
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

/// What is on its way into a cache, which no op reads.
struct CacheResource : SideEffects::Resource::Base<CacheResource> {
  StringRef getName() final { return "attn.cache"; }
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

//===----------------------------------------------------------------------===//
// attn.prefetch
//===----------------------------------------------------------------------===//

LogicalResult PrefetchOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  if (!source.hasRank() || source.getRank() < 2 ||
      source.isDynamicDim(source.getRank() - 1) ||
      !source.getElementType().isIntOrFloat())
    return emitOpError()
           << "operand 'source': expected rows of a static number "
              "of integers or floats, got "
           << source;
  if (int64_t(getIndices().size()) != source.getRank())
    return emitOpError() << "expected " << source.getRank()
                         << " operands 'indices', got " << getIndices().size();
  auto dim = int64_t(getDim());
  if (dim < 0 || dim + 1 >= source.getRank())
    return emitOpError() << "attribute 'dim': expected a dimension before the "
                            "last of "
                         << source.getRank() << ", got " << dim;
  return success();
}

void PrefetchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), CacheResource::get());
}
