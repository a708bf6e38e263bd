//===- OnlineInPairs.h - Products of a block of keys in pairs ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attn.online_attention computes in pairs of bf16 beside the softmax. T
// packs hold the values of a block of keys, the last of which may be followed
// by others in its pack.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_ONLINEINPAIRS_H
#define ATTN_ONLINE_ONLINEINPAIRS_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// A tensor with several dimensions instead of `dim`, of which the inner ones
/// have the sizes `inner`.
Value expandDim(IndexBuilder &b, Value tensor, int64_t dim,
                ArrayRef<int64_t> inner);

/// Adds the products of key `(n, Dk)` and query `(Dk/2, L, 2)` to f32 scores
/// `(n, L)`.
Value emitScoresInPairs(IndexBuilder &b, Value key, Value query, Value scores);

/// Weights `(K, L)` of `numValues` values with hidden positions in the first
/// `lead` rows, if that is not null, and after the last to the end of its pack.
Value emitHiddenRows(IndexBuilder &b, Value weights, Value lead,
                     OpFoldResult numValues);

/// Room for T packs `(T, Dv, 32)` of rows of `size` elements, in a buffer for
/// `maximumPacks`.
Value emitEmptyPacks(IndexBuilder &b, Type elementType, int64_t size,
                     int64_t maximumPacks, OpFoldResult numPacks);

/// The packs `(T, Dv, 32)` of a block's values `(n, Dv)`, in a buffer for
/// `maximumPacks`.
Value emitPacks(IndexBuilder &b, Value value, int64_t maximumPacks,
                OpFoldResult numPacks);

/// The first rows of weights `(K, L)` as those of T packs, `(T, 32, L)`.
Value emitPackedRows(IndexBuilder &b, Value weights, OpFoldResult numPacks);

/// The same rounded to bf16 and in pairs, `(T, 16, L, 2)`.
Value emitWeightsInPairs(IndexBuilder &b, Value weights, OpFoldResult numPacks);

/// Room for weights `(keys, lanes)` that are rounded and in pairs,
/// `(keys/2, L, 2)`.
Value emitEmptyPairs(IndexBuilder &b, int64_t keys, int64_t lanes);

/// The first rows of such pairs as those of T packs, `(T, 16, L, 2)`.
Value emitPackedPairs(IndexBuilder &b, Value pairs, OpFoldResult numPacks);

/// Adds the products of packs of values `(T, Dv, 32)` and weights in pairs to
/// an f32 accumulator `(Dv, L)`.
Value emitOutputInPairs(IndexBuilder &b, Value packs, Value weights,
                        Value accumulator);

} // namespace mlir::attn

#endif // ATTN_ONLINE_ONLINEINPAIRS_H
