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

} // namespace mlir::attn

#endif // ATTN_PLAN_BLOCKKEYS_H
