//===- LocalCaches.h - Caches of which a rank has some positions -*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_LOCALCACHES_H
#define ATTN_SHARDING_LOCALCACHES_H

#include "lib/Sharding/LocalSizes.h"

namespace mlir::attn {

/// Which of the rows of a read of a cache whose positions are split are those
/// of a rank: they are keys. Before the read becomes that of the rank.
Extent createLocalKeys(IndexBuilder &b, CacheReadOp read, const Splits &splits,
                       LocalSizes &sizes);

/// Makes an append to a cache whose positions are split that of a rank, which
/// skips what others have, or a read of one. Batch entries are those of the
/// rank by now.
void makePositionsLocal(CacheAppendOp op, IndexBuilder &b, const Splits &splits,
                        LocalSizes &sizes);
void makePositionsLocal(CacheReadOp op, IndexBuilder &b, const Splits &splits,
                        LocalSizes &sizes);

} // namespace mlir::attn

#endif // ATTN_SHARDING_LOCALCACHES_H
