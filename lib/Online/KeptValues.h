//===- KeptValues.h - Values that tiles pack and keep -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_KEPTVALUES_H
#define ATTN_ONLINE_KEPTVALUES_H

#include "dialect/AttnOps.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace mlir::attn {

/// The values of the keys that a tile sees in packs, those that tiles before it
/// on the same thread have not packed by itself.
class KeptValues {
public:
  /// Emits the packs of keys [low, low + count) of `op`, of which `low` is a
  /// multiple of those of a pack, before it. Blocks have at most `block` keys.
  /// Nothing if it is not known of which head the values are.
  static std::optional<KeptValues> emit(OpBuilder &b, OnlineAttentionOp op,
                                        OpFoldResult low, OpFoldResult count,
                                        int64_t block);

  /// Makes the values of `block`, a tile of that op, packs.
  void assignTo(RewriterBase &rewriter, OnlineAttentionOp block) const;

private:
  Value packs, capacity;
  Value start;    ///< The place of the first pack.
  Value firstKey; ///< The first key of that.
};

} // namespace mlir::attn

#endif // ATTN_ONLINE_KEPTVALUES_H
