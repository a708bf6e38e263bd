//===- RowOrder.h - In which order rows are split ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_ROWORDER_H
#define ATTN_SHARDING_ROWORDER_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Whether attentions, or gradients of them, whose rows so many ranks share
/// should be split in zig-zag order: where, by what is known of their masks,
/// the work of the ranks differs in the order of the rows, two pieces for each
/// rank balance it, and the most rows that a rank receives are no more than
/// before. Not where a mask captures tables, which may hide other keys of each
/// row. Changes nothing.
bool isBalancedByZigzag(ArrayRef<Operation *> ops, int64_t ranks);

} // namespace mlir::attn

#endif // ATTN_SHARDING_ROWORDER_H
