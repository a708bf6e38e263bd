//===- BlockKeys.h - Keys of a block of attention ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_BLOCKKEYS_H
#define ATTN_PLAN_BLOCKKEYS_H

#include "dialect/AttnOps.h"
#include "lib/Plan/CacheModel.h"

namespace mlir::attn {

/// Keys of a block that are read as `stored`, of attention on `type`, for
/// `rows` queries, which count in the layout `rows` alone. The longer row of a
/// key and a value has `size` elements.
int64_t chooseKeysOfBlock(OnlineLayout layout, Type type, Type stored,
                          int64_t rows, int64_t size, const CacheModel &model);

/// Products of each byte of keys, or of values, that are stored so, for `rows`
/// queries, rounded down. Converting 8 bits takes longer than reading them:
/// they count as 16.
int64_t countProducts(Type stored, int64_t rows);

/// Bytes of keys, and of values, of one head in the layout `rows` that are
/// fetched ahead: of rows that are read in turn, those of a block of `keys`,
/// and of one more if each byte has a product; 0 is what the memory needs.
int64_t chooseBytesAhead(Type stored, int64_t rows, int64_t size, int64_t keys,
                         const CacheModel &model);

} // namespace mlir::attn

#endif // ATTN_PLAN_BLOCKKEYS_H
