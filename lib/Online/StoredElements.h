//===- StoredElements.h - Stored keys and values as floats ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_STOREDELEMENTS_H
#define ATTN_ONLINE_STOREDELEMENTS_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// A stored element as one of the float type `type`: an i8 times the scale of
/// its row, which is of f32 and null for floats, rounded.
Value emitElement(IndexBuilder &b, Value element, Value scale, Type type);

/// The scale of a row whose largest magnitude is `largest`, a number of f32
/// (C7).
Value emitRowScale(IndexBuilder &b, Value largest);

/// A number of f32 in units of the scale of its row, as an i8 (C7).
Value emitQuantized(IndexBuilder &b, Value number, Value scale);

/// The matrix `elements` in those of `to`, another float type; `scales` has one
/// for each row if they are of i8, and is null if not.
Value emitElements(IndexBuilder &b, Value elements, Value scales, Value to);

} // namespace mlir::attn

#endif // ATTN_ONLINE_STOREDELEMENTS_H
