//===- SharedPacks.cpp - Packs that tiles read ranges of ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/SharedPacks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether `view` has unit strides, and all of the dimensions from `dim` on.
static bool isWholeFrom(memref::SubViewOp view, unsigned dim) {
  ArrayRef<int64_t> shape = view.getSourceType().getShape();
  for (unsigned i = 0; i < shape.size(); ++i) {
    if (!isOneInteger(view.getMixedStrides()[i]))
      return false;
    if (i >= dim && (!isZeroInteger(view.getMixedOffsets()[i]) ||
                     getConstantIntValue(view.getMixedSizes()[i]) != shape[i]))
      return false;
  }
  return true;
}

std::optional<SharedPacks> SharedPacks::match(memref::AllocOp buffer) {
  SharedPacks packs;
  packs.buffer = buffer;
  if (buffer.getType().getRank() < 4 || !packs.matchBuffer() ||
      !packs.matchHead() || !packs.matchRange())
    return std::nullopt;
  return packs;
}

/// Whether `offset` is 0 in the first iterations of the loops around it.
static bool beginsAtZero(OpFoldResult offset) {
  auto value = dyn_cast<Value>(offset);
  if (!value)
    return isZeroInteger(offset);
  if (scf::ForOp loop = scf::getForInductionVarOwner(value))
    return isZeroInteger(getAsOpFoldResult(loop.getLowerBound()));
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  if (!apply || !llvm::all_of(apply.getMapOperands(), beginsAtZero))
    return false;
  Builder b(value.getContext());
  SmallVector<Attribute> first(apply.getMapOperands().size(),
                               b.getIndexAttr(0)),
      results;
  return succeeded(apply.getAffineMap().constantFold(first, results)) &&
         isZeroInteger(OpFoldResult(results.front()));
}

bool SharedPacks::areReadOtherwise(memref::AllocOp buffer) {
  int64_t rank = buffer.getType().getRank();
  bool isPacked = false, isRead = false;
  for (Operation *user : buffer->getUsers()) {
    auto view = dyn_cast<memref::SubViewOp>(user);
    auto loop = user->getParentOfType<scf::ForallOp>();
    if (!view || !loop || rank < 4)
      continue;
    if (view.getType().getRank() == 2)
      isPacked |=
          llvm::any_of(view->getUsers(), llvm::IsaPred<linalg::TransposeOp>);
    else if (view->getBlock() != loop.getBody())
      isRead |= !beginsAtZero(view.getMixedOffsets()[rank - 3]);
  }
  return isPacked && isRead;
}

/// The view of a loop that is not in another one, if it is the only use there
/// besides prefetching.
bool SharedPacks::matchBuffer() {
  for (Operation *user : buffer->getUsers()) {
    auto loop = user->getParentOfType<scf::ForallOp>();
    if (!loop || loop->getParentOfType<scf::ForallOp>() ||
        loop->getBlock() != buffer->getBlock())
      return false;
    auto view = dyn_cast<memref::SubViewOp>(user);
    if (!view && isa<memref::PrefetchOp>(user))
      continue;
    if (!view || view->getBlock() != loop.getBody())
      return false;
    bool isPack = view.getType().getRank() == 2;
    memref::SubViewOp &found = isPack ? destination : head;
    if (found)
      return false;
    found = view;
    (isPack ? packing : tiles) = loop;
  }
  if (!packing || !tiles || packing == tiles || packing->getNumResults() != 0)
    return false;
  // A pack for every iteration, which numbers it.
  unsigned rank = buffer.getType().getRank();
  if (!isWholeFrom(destination, rank - 2) ||
      !llvm::all_of(packing.getMixedLowerBound(), isZeroInteger) ||
      !llvm::all_of(packing.getMixedStep(), isOneInteger))
    return false;
  SmallVector<OpFoldResult> offsets = destination.getMixedOffsets();
  offsets.resize(rank - 2);
  return llvm::all_of(packing.getInductionVars(),
                      [&](Value iv) {
                        return llvm::is_contained(offsets, OpFoldResult(iv));
                      }) &&
         isa<Value>(offsets.back());
}

bool SharedPacks::matchHead() {
  unsigned rank = buffer.getType().getRank();
  if (head.getType().getRank() != 3 || !isWholeFrom(head, rank - 2) ||
      !isZeroInteger(head.getMixedOffsets()[rank - 3]))
    return false;
  for (Operation *user : head->getUsers()) {
    if (auto view = dyn_cast<memref::SubViewOp>(user)) {
      if (range)
        return false;
      range = view;
    } else if (auto prefetch = dyn_cast<memref::PrefetchOp>(user)) {
      prefetches.push_back(prefetch);
    } else if (auto dim = dyn_cast<memref::DimOp>(user);
               dim && dim.getConstantIndex() == 0) {
      lengths.push_back(dim);
    } else {
      return false;
    }
  }
  return range != nullptr;
}

bool SharedPacks::matchRange() {
  if (!isa<Value>(range.getMixedOffsets()[0]) ||
      range.getType().getRank() != 3 || !isWholeFrom(range, 1))
    return false;
  for (Operation *user : range->getUsers()) {
    auto block = dyn_cast<memref::SubViewOp>(user);
    if (!block || block.getType().getRank() != 3 || !isWholeFrom(block, 1))
      return false;
    FailureOr<int64_t> size = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, block.getMixedSizes()[0],
        /*stopCondition=*/nullptr, /*closedUB=*/true);
    if (failed(size))
      return false;
    packsPerBlock = std::max(packsPerBlock, *size);
    blocks.push_back(block);
  }
  return !blocks.empty();
}
