//===- AttentionEmission.h - The op that an attention is --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_ATTENTIONEMISSION_H
#define ATTN_RAISE_ATTENTIONEMISSION_H

#include "lib/Raise/AttentionMatch.h"

namespace mlir::attn {

/// Emits attn.attention for what was matched, and returns its result with the
/// dimensions and the type of `match.result`. Fails if a region would have to
/// compute the index of an element from sizes that are not known; what was
/// emitted until then is among the operations that were visited.
FailureOr<Value> emitAttention(OpBuilder &builder, Terms &terms,
                               const AttentionMatch &match);

} // namespace mlir::attn

#endif // ATTN_RAISE_ATTENTIONEMISSION_H
