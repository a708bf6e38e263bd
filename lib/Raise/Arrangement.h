//===- Arrangement.h - Tensors with other dimensions ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_ARRANGEMENT_H
#define ATTN_RAISE_ARRANGEMENT_H

#include "lib/Raise/Axes.h"

namespace mlir::attn {

/// Reshapes and transposes `tensor`, of which dimension `d` runs over
/// `from[d]`, so that its dimensions run over `to`, which has the same axes.
/// Its type has all sizes that are known.
Value arrange(OpBuilder &builder, Location loc, const Axes &axes, Value tensor,
              const AxisLists &from, const AxisLists &to);

} // namespace mlir::attn

#endif // ATTN_RAISE_ARRANGEMENT_H
