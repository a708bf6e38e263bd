//===- LaneTransfers.h - What lanes read and write --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_VECTORTOLANES_LANETRANSFERS_H
#define ATTN_GPU_VECTORTOLANES_LANETRANSFERS_H

#include "lib/GPU/VectorToLanes/LaneValues.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {

inline bool isZero(ValueRange indices) {
  return llvm::all_of(
      indices, [](Value value) { return matchPattern(value, m_Zero()); });
}

inline bool isWorkgroup(Value memory) {
  auto type = dyn_cast<MemRefType>(memory.getType());
  return type && gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
}

/// No mask, and dimensions of memory in their order.
template <typename Transfer> bool isSimple(Transfer op) {
  return isa<MemRefType>(op.getBase().getType()) && !op.getMask() &&
         op.getPermutationMap().isMinorIdentity();
}

/// Stores the lane's elements of a fragment in the last two dimensions of
/// `memory`, of as many columns as that has, which are known. Of its rows, the
/// first `numRows` are stored, or all if that is null.
void emitFragmentStore(LaneValues &lanes, ArrayRef<Value> elements,
                       Value memory, ValueRange indices,
                       Value numRows = nullptr);

} // namespace mlir::attn

#endif // ATTN_GPU_VECTORTOLANES_LANETRANSFERS_H
