//===- FirstBlock.h - The block that begins a tile's sums -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of a tile's first block begin at zero: nothing needs to write zeros for
// it, read them and multiply them by a correction.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_FIRSTBLOCK_H
#define ATTN_ONLINE_FIRSTBLOCK_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Has the sums of a tile, of which `block` is in the loops of attn-tile-keys,
/// not begin as zeros that are written before the first block, unless there is
/// none. Returns whether `block` is the first, an i1: then its accumulator
/// holds anything. Null, and nothing changes, where sums do not begin at zero.
Value beginSumsInFirstBlock(OpBuilder &b, OnlineAttentionOp block);

/// `tensor` filled with zeros if `isFirst`, else what `other` emits for it, as
/// always where `isFirst` is null.
Value emitZerosIf(OpBuilder &b, Location loc, Value isFirst, Value tensor,
                  function_ref<Value(OpBuilder &)> other);

/// `tensor` if `factors`, a vector of f32, are all 1, else what `other` emits
/// for it.
Value emitUnlessOnes(OpBuilder &b, Location loc, Value factors, Value tensor,
                     function_ref<Value(OpBuilder &)> other);

} // namespace mlir::attn

#endif // ATTN_ONLINE_FIRSTBLOCK_H
