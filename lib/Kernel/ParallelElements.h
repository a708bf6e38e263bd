//===- ParallelElements.h - Tensors element by element ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_PARALLELELEMENTS_H
#define ATTN_KERNEL_PARALLELELEMENTS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Emits a parallel loop over the elements of `init`, each of which `element`
/// emits of its indices. Returns the tensor of them.
Value emitElements(ImplicitLocOpBuilder &builder, Value init,
                   function_ref<Value(ArrayRef<Value>)> element);

/// `exp(part - whole)` of two maxima, 1 where they are equal: the difference of
/// infinities would be NaN.
Value emitCorrection(ImplicitLocOpBuilder &builder, Value part, Value whole);

} // namespace mlir::attn

#endif // ATTN_KERNEL_PARALLELELEMENTS_H
