//===- LaneContractions.cpp - Contractions of matrices by lanes -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/Conversions.h"
#include "lib/GPU/VectorToLanes/LaneProducts.h"
#include "lib/GPU/VectorToLanes/LaneTransfers.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isShared(vector::TransferReadOp read) {
  return isWorkgroup(read.getBase()) && !read->use_empty() &&
         llvm::all_of(read->getUses(), [](OpOperand &use) {
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() < 2;
         });
}

LogicalResult attn::convertSharedRead(vector::TransferReadOp read,
                                      LaneValues &lanes) {
  VectorType type = read.getVectorType();
  if (type.getRank() != 2 || type.getDimSize(0) % 16 != 0 ||
      type.getDimSize(1) % 16 != 0 || !isZero(read.getIndices()) ||
      !isSimple(read) || read.getBase().getType().getRank() != 2 ||
      !read.isDimInBounds(0) || !read.isDimInBounds(1) ||
      !(type.getElementType().isF16() || type.getElementType().isBF16() ||
        type.getElementType().isF32()))
    return rejectForLanes(read);
  lanes.shared[read.getResult()] = read.getBase();
  return success();
}

/// Whether the second factor is (columns, contracted); nothing for another
/// contraction.
static std::optional<bool> findTranspose(vector::ContractionOp op) {
  AffineExpr m, n, k;
  bindDims(op.getContext(), m, n, k);
  auto maps = [&](ArrayRef<ArrayRef<AffineExpr>> indices) {
    return AffineMap::inferFromExprList(indices, op.getContext());
  };
  SmallVector<AffineMap> own = op.getIndexingMapsArray();
  if (own == maps({{m, k}, {n, k}, {m, n}}))
    return true;
  if (own == maps({{m, k}, {k, n}, {m, n}}))
    return false;
  return std::nullopt;
}

/// Writes a fragment of f32 to workgroup memory, where products read it. Rows
/// are 16 bytes longer than their elements, so that lanes read different banks.
static Value storeFirstFactor(Value vector, LaneValues &lanes) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto type = cast<VectorType>(vector.getType());
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  Value buffer = lanes.memory.allocate(MemRefType::get(
      {type.getDimSize(0), type.getDimSize(1) + 4}, type.getElementType(),
      MemRefLayoutAttrInterface{}, space));
  SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0)),
      strides(2, b.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(b.getContext(), type.getShape());
  Value memory = memref::SubViewOp::create(b, buffer, offsets, sizes, strides);
  // What it held before may still be read.
  gpu::BarrierOp::create(b);
  Value zeros[] = {lanes.constant(0), lanes.constant(0)};
  for (int64_t half : {0, 1})
    emitFragmentStore(lanes, lanes.get(vector), half, memory, zeros);
  gpu::BarrierOp::create(b);
  return memory;
}

LogicalResult attn::convertProduct(vector::ContractionOp op,
                                   LaneValues &lanes) {
  auto type = dyn_cast<VectorType>(op.getResultType());
  Value memory = lanes.shared.lookup(op.getRhs());
  std::optional<bool> isTransposed = findTranspose(op);
  if (!memory || !isTransposed || !type || !type.getElementType().isF32() ||
      op.getKind() != vector::CombiningKind::ADD ||
      getElementTypeOrSelf(op.getLhs()) != getElementTypeOrSelf(op.getRhs()))
    return rejectForLanes(op);
  Value first = lanes.shared.lookup(op.getLhs());
  if (getElementTypeOrSelf(op.getLhs()).isF32()) {
    if (!first)
      first = storeFirstFactor(op.getLhs(), lanes);
    lanes.set(op, emitScalarProduct(lanes, first, memory,
                                    lanes.get(op.getAcc()), *isTransposed));
    return success();
  }
  ProductFactors factors;
  factors.rhs = memory;
  factors.isTransposed = *isTransposed;
  factors.lhs = first;
  if (!first)
    factors.lhsElements = lanes.get(op.getLhs());
  lanes.set(op,
            emitProduct(lanes.b, lanes.index, factors, lanes.get(op.getAcc())));
  return success();
}
