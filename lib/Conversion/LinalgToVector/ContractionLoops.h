//===- ContractionLoops.h - Loops around vector.contract --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_LINALGTOVECTOR_CONTRACTIONLOOPS_H
#define ATTN_CONVERSION_LINALGTOVECTOR_CONTRACTIONLOOPS_H

#include "lib/Conversion/LinalgToVector/RegisterBlocking.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::attn {

/// C[m,n] += A[m,k] * B[k,n], with A in either order.
struct Contraction {
  TypedValue<MemRefType> a, b, c;
  bool isATransposed = false;
  /// What C was computed by immediately before, elementwise; or null.
  linalg::LinalgOp producer;

  int64_t getNumRows() const { return c.getType().getDimSize(0); }
  int64_t getNumLanes() const { return c.getType().getDimSize(1); }
  Type getElementType() const { return c.getType().getElementType(); }
};

/// Emits loops that compute `contraction`, and its producer, by blocks in
/// registers of `width` elements.
void emitContractionLoops(OpBuilder &b, Location loc,
                          const Contraction &contraction, RegisterBlock block,
                          int64_t width);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_LINALGTOVECTOR_CONTRACTIONLOOPS_H
