//===- LaneProducts.h - Products of matrices by warps -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_VECTORTOLANES_LANEPRODUCTS_H
#define ATTN_GPU_VECTORTOLANES_LANEPRODUCTS_H

#include "lib/GPU/VectorToLanes/LaneValues.h"

namespace mlir::attn {

/// Factors of f16 or bf16. N and K are multiples of 16.
struct ProductFactors {
  /// (M, K) as a fragment, or in workgroup memory.
  SmallVector<Value> lhsElements;
  Value lhs;
  /// In workgroup memory: (N, K) if it is transposed, else (K, N).
  Value rhs;
  bool isTransposed = false;
};

/// Adds the product to `sums`, a fragment (M, N) of f32.
SmallVector<Value> emitProduct(ImplicitLocOpBuilder &builder,
                               const LaneIndex &index,
                               const ProductFactors &factors,
                               ArrayRef<Value> sums);

/// The same of f32, without matrix units: `lhs` (M, K) is in workgroup memory,
/// too, and each lane adds up its own elements.
SmallVector<Value> emitScalarProduct(LaneValues &lanes, Value lhs, Value rhs,
                                     ArrayRef<Value> sums, bool isTransposed);

} // namespace mlir::attn

#endif // ATTN_GPU_VECTORTOLANES_LANEPRODUCTS_H
