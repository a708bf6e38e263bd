//===- FirstBlock.h - The block that begins a tile's sums -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of a tile's first block begin at zero: nothing needs to write zeros for
// it, read them and rescale them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_FIRSTBLOCK_H
#define ATTN_ONLINE_FIRSTBLOCK_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

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
