//===- ParallelElements.h - Tensors element by element ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_PARALLELELEMENTS_H
#define ATTN_GPU_PARALLELELEMENTS_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// Emits a parallel loop over `sizes` that writes elements of `init`: `body`
/// gets the indices of an iteration, those of its element, and that element's
/// slice, to write into, and returns it. `place` gives the indices of the
/// element, which no other iteration may write. Returns `init` with all of
/// them.
Value emitEachElement(
    IndexBuilder &builder, ArrayRef<OpFoldResult> sizes, Value init,
    function_ref<SmallVector<Value>(ArrayRef<Value>)> place,
    function_ref<Value(ArrayRef<Value>, ArrayRef<Value>, Value)> body);

/// The same of all elements of `init`, each of which `element` emits of its
/// indices.
Value emitEachElement(IndexBuilder &builder, Value init,
                      function_ref<Value(ArrayRef<Value>)> element);

/// `slice`, of one element, with that.
Value insertElement(IndexBuilder &builder, Value element, Value slice);

} // namespace mlir::attn

#endif // ATTN_GPU_PARALLELELEMENTS_H
