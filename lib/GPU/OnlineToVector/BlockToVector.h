//===- BlockToVector.h - Attention of a block as vectors --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_ONLINETOVECTOR_BLOCKTOVECTOR_H
#define ATTN_GPU_ONLINETOVECTOR_BLOCKTOVECTOR_H

#include "dialect/AttnOps.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::attn {

/// Rows and columns of what matrix units multiply.
inline constexpr int64_t kMatrixUnit = 16;

/// The columns of vectors of heads of `size` elements: those after the last
/// element are 0, which changes no score, or are not stored.
inline int64_t padHeadSize(int64_t size) {
  return llvm::alignTo(size, kMatrixUnit);
}

/// How many sums a loop over keys carries of each row: those of the columns of
/// a lane, which no other lane adds to. A power of 2.
inline constexpr int64_t kPartialSums = 8;

inline VectorType vectorOf(ArrayRef<int64_t> shape, Type element) {
  return VectorType::get(shape, element);
}

/// Emits the attention of one block of at most `keys` keys; query and state of
/// `op` are vectors, with heads of `padHeadSize`. Returns the state after it.
/// Sums are of rows, or of `kPartialSums` parts of each; maxima may be
/// exponents of `emitExponents`. Emits an error for regions that have no form
/// for vectors.
FailureOr<SmallVector<Value>> emitBlock(OpBuilder &builder,
                                        OnlineAttentionOp op, int64_t keys,
                                        bool hasExponents);

/// Whether the weights of a block are relative to a power of 2.
bool isRelativeToPower(OnlineAttentionOp op);

/// Exponents of the powers of 2 that weights relative to `maxima` are relative
/// to, the lowest number for a maximum of -inf; and the reverse.
Value emitExponents(OpBuilder &builder, Location loc, Value maxima);
Value emitMaxima(OpBuilder &builder, Location loc, Value exponents);

/// `weights`, a vector (queries, keys) of f32, of the block of `op` after its
/// dropout (A8), if it has one.
FailureOr<Value> emitDropout(OpBuilder &builder, OnlineAttentionOp op,
                             Value weights);

} // namespace mlir::attn

#endif // ATTN_GPU_ONLINETOVECTOR_BLOCKTOVECTOR_H
