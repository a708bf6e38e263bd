//===- IntegerScores.h - Keys of i8 times queries of i8 ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_INTEGERSCORES_H
#define ATTN_ONLINE_INTEGERSCORES_H

#include "lib/Online/RowGroups.h"

namespace mlir::attn {

class OnlineAttentionOp;

/// Whether keys of a block can be multiplied as integers, by dot products of
/// `multiple` numbers of i8 (0: the target has none). Remarks why, if only that
/// keeps keys of i8 from it.
bool hasIntegerScores(OnlineAttentionOp op, int64_t multiple);

/// The products of the keys of `op` (n, Dk), of i8 with a scale for each, and
/// its queries (r, Dk), which are rounded to i8 row by row, as keys are in a
/// cache (C7): sums of integers in i32, times both scales. They are in the
/// first n rows and r columns of the result, which has the shape of `init`, (m,
/// L) of f32. Columns that no query has are 0 times the scale of the key.
///
/// Queries are rounded where they are computed, once for all blocks of keys.
/// `fetch` emits what the product of a group of rows fetches.
Value emitIntegerScores(IndexBuilder &b, OnlineAttentionOp op, Value init,
                        const RowGroups &groups, function_ref<void()> fetch);

} // namespace mlir::attn

#endif // ATTN_ONLINE_INTEGERSCORES_H
