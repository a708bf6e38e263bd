//===- RowGroups.h - Rows of queries that are multiplied together -*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_ROWGROUPS_H
#define ATTN_ONLINE_ROWGROUPS_H

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// In `layout<rows>`, the rows of queries that products take at a time: those
/// of one position, over all heads that share its keys and values, if only a
/// call knows how many positions there are. Rows of none cost nothing then.
class RowGroups {
public:
  explicit RowGroups(OnlineAttentionOp op);

  /// Emits a part of a result.
  using Body = function_ref<Value(OpFoldResult first, Value part)>;
  /// Emits `body` for each group that has queries, on the rows of `init` along
  /// its dimension `dim` that are those of the group, from `first` on.
  Value forEach(IndexBuilder &b, Value init, unsigned dim, Body body) const;

  /// The rows of a group from `first` on along dimension `dim` of `all`.
  Value take(IndexBuilder &b, Value all, unsigned dim,
             OpFoldResult first) const;

private:
  int64_t numRows, size;
  Value count; ///< Of queries.
};

} // namespace mlir::attn

#endif // ATTN_ONLINE_ROWGROUPS_H
