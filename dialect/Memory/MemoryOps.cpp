//===- MemoryOps.cpp - Kept packs, dense rows and prefetches --------------===//
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
// attn.dense_rows
//===----------------------------------------------------------------------===//

LogicalResult DenseRowsOp::verify() {
  if (getSources().empty() || getSources().size() != getRows().size())
    return emitOpError() << "expected as many results as sources, at least 1, "
                            "got "
                         << getRows().size() << " and " << getSources().size();
  ArrayRef<int64_t> first;
  for (auto [number, pair] :
       llvm::enumerate(llvm::zip_equal(getSources(), getRows()))) {
    auto source = cast<ShapedType>(std::get<0>(pair).getType());
    auto rows = cast<ShapedType>(std::get<1>(pair).getType());
    if (!source.hasRank() || source.getRank() < 2 ||
        source.isDynamicDim(source.getRank() - 1))
      return emitOpError() << "source " << number
                           << ": expected rows of a static size, got "
                           << source;
    if (isa<TensorType>(source) != isa<TensorType>(rows) || !rows.hasRank() ||
        source.getShape() != rows.getShape() ||
        source.getElementType() != rows.getElementType())
      return emitOpError() << "result " << number
                           << ": expected the shape and the elements of "
                           << source << ", got " << rows;
    ArrayRef<int64_t> numbers = source.getShape().drop_back();
    if (number == 0)
      first = numbers;
    if (failed(verifyCompatibleShape(first, numbers)))
      return emitOpError() << "source " << number
                           << ": expected as many rows as of source 0, got "
                           << source << " and " << getSources()[0].getType();
  }
  return success();
}

void DenseRowsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &source : getSourcesMutable())
    if (isa<BaseMemRefType>(source.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &source);
  for (OpResult rows : getOperation()->getResults())
    if (isa<BaseMemRefType>(rows.getType()))
      effects.emplace_back(MemoryEffects::Allocate::get(), rows);
}

//===----------------------------------------------------------------------===//
// attn.prefetch
//===----------------------------------------------------------------------===//

LogicalResult PrefetchOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  if (!source.hasRank() || source.getRank() < 2 ||
      !source.getElementType().isIntOrFloat())
    return emitOpError() << "operand 'source': expected rows of integers or "
                            "floats, got "
                         << source;
  if (getIndices().empty() || int64_t(getIndices().size()) >= source.getRank())
    return emitOpError() << "expected 1 to " << source.getRank() - 1
                         << " operands 'indices', got " << getIndices().size();
  if (llvm::any_of(getRowShape(), ShapedType::isDynamic))
    return emitOpError() << "operand 'source': expected rows of static sizes, "
                            "got "
                         << source;
  if (getNumShares() < 1 || (getNumShares() > 1 && !getShare()))
    return emitOpError() << "attribute 'num_shares': expected "
                         << (getShare() ? "1 or more" : "1 without 'share'")
                         << ", got " << getNumShares();
  if (getStream() && (getSpread() || getForWrite()))
    return emitOpError() << "attribute 'stream': expected it alone, got "
                         << (getSpread() ? "'spread'" : "'for_write'")
                         << " as well";
  if (std::optional<uint64_t> ahead = getStream(); ahead && int64_t(*ahead) < 1)
    return emitOpError() << "attribute 'stream': expected 1 or more bytes, got "
                         << int64_t(*ahead);
  return success();
}

void PrefetchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), CacheResource::get());
}
