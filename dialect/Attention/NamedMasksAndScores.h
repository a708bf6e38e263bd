//===- NamedMasksAndScores.h - The named masks and scores -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function appends the ops of one named mask or score to a region and
// returns its value. The assembly's short spellings and builders in C++ share
// them, so that a name has one meaning. Tensors may be memrefs.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_NAMEDMASKSANDSCORES_H
#define ATTN_DIALECT_ATTENTION_NAMEDMASKSANDSCORES_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// The index arguments of a score or mask region: batch (or sequence), query
/// head, query position, key column. Tensors that are read by rows get the row
/// of the query for its position.
struct Position {
  Value b, h, p, j;
};

/// Where a score or mask is appended.
struct RegionBuilder {
  OpBuilder &builder;
  Location loc;
};

/// `integer` as an index, or an element of a tensor of integers.
Value buildIndex(RegionBuilder at, Value integer, ValueRange element = {});

//===----------------------------------------------------------------------===//
// Scores: from the score so far to the new one
//===----------------------------------------------------------------------===//

/// The attribute of the tangent of a captured cap, which has to be positive;
/// one that a region writes out may have any divisor.
inline constexpr llvm::StringLiteral kCapMark = "attn.cap";
/// `cap * tanh(s / cap)`; `cap` is a float scalar.
Value buildSoftcap(RegionBuilder at, Value s, Value cap);
/// The captures of a score region that `buildSoftcap` has bounded scores by.
SmallVector<BlockArgument> findCapturedCaps(Region &score);
/// `s - slopes[h] * abs(p - j)`; `slopes` is `(Hq)` (Press et al.,
/// arXiv:2108.12409).
Value buildAlibi(RegionBuilder at, Value s, const Position &pos, Value slopes);
/// `s + bias[b, h, p, j]`, broadcast.
Value buildBias(RegionBuilder at, Value s, const Position &pos, Value bias);

//===----------------------------------------------------------------------===//
// Masks: i1, true to attend
//===----------------------------------------------------------------------===//

/// `j <= p`.
Value buildCausal(RegionBuilder at, const Position &pos);
/// `p - left <= j <= p + right`; -1 is unbounded on that side, other sizes are
/// at most AttentionOp::kMaxOffset.
Value buildSlidingWindow(RegionBuilder at, const Position &pos, int64_t left,
                         int64_t right);
/// `j < lengths[b]` or `j <= p`; `lengths` is `(B)` of integers.
Value buildPrefixLM(RegionBuilder at, const Position &pos, Value lengths);
/// `j < padding[b]` for `(B)` integers; `padding[b, j]` for `(B, Skv)` i1.
Value buildKeyPadding(RegionBuilder at, const Position &pos, Value padding);
/// `queryDocument[b, p] == keyDocument[b, j]`; both of one integer type.
Value buildDocument(RegionBuilder at, const Position &pos, Value queryDocument,
                    Value keyDocument);
/// `mask[b, h, p, j]` of i1, broadcast.
Value buildBoolean(RegionBuilder at, const Position &pos, Value mask);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_NAMEDMASKSANDSCORES_H
