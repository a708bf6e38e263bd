//===- LaneContractions.cpp - Contractions of matrices by lanes -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/VectorToLanes/Conversions.h"
#include "lib/Conversion/VectorToLanes/LaneProducts.h"
#include "lib/Conversion/VectorToLanes/LaneTransfers.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isShared(vector::TransferReadOp read) {
  return !read->use_empty() &&
         llvm::all_of(read->getUses(), [](OpOperand &use) {
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() == 1;
         });
}

/// Rows of whole 16 bytes, 16 more apart, are in different banks.
static Value allocateFactor(VectorType type, LaneValues &lanes) {
  Type element = type.getElementType();
  return lanes.memory.allocate(
      type.getShape(),
      type.getDimSize(1) + 128 / int64_t(element.getIntOrFloatBitWidth()),
      element);
}

LogicalResult attn::convertSharedRead(vector::TransferReadOp read,
                                      LaneValues &lanes) {
  ImplicitLocOpBuilder &b = lanes.b;
  VectorType type = read.getVectorType();
  if (type.getRank() != 2 || type.getDimSize(0) % 16 != 0 ||
      type.getDimSize(1) % 16 != 0 || !isZero(read.getIndices()) ||
      !isSimple(read) || read.getBase().getType().getRank() != 2 ||
      !(type.getElementType().isF16() || type.getElementType().isBF16() ||
        type.getElementType().isF32()))
    return rejectForLanes(read);
  Value memory = allocateFactor(type, lanes);
  gpu::BarrierOp::create(b);
  emitSharedCopy(b, lanes.index, lanes.numThreads, read.getBase(), memory);
  gpu::BarrierOp::create(b);
  lanes.shared[read.getResult()] = memory;
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

bool attn::isFirstFactor(vector::TransferReadOp read) {
  return read.getVectorType().getElementType().isF32() &&
         llvm::any_of(read->getUses(), [](OpOperand &use) {
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() == 0;
         });
}

Value attn::storeFirstFactor(Value vector, LaneValues &lanes) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto type = cast<VectorType>(vector.getType());
  Value memory = allocateFactor(type, lanes);
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
  if (getElementTypeOrSelf(op.getLhs()).isF32()) {
    Value first = lanes.shared.lookup(op.getLhs());
    if (!first)
      first = storeFirstFactor(op.getLhs(), lanes);
    lanes.set(op, emitScalarProduct(lanes, first, memory,
                                    lanes.get(op.getAcc()), *isTransposed));
    return success();
  }
  lanes.set(op, emitProduct(lanes.b, lanes.index, lanes.get(op.getLhs()),
                            memory, lanes.get(op.getAcc()), *isTransposed));
  return success();
}
