//===- Sequences.h - Where the rows of sequences are ------------*- C++ -*===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_SEQUENCES_H
#define ATTN_REFERENCE_SEQUENCES_H

#include "runtime/Reference/Attention.h"

namespace attn::reference {

/// One sequence: where its rows lie in the buffers, and what regions see of it.
struct Sequence {
  std::int64_t queryBatch, keyBatch; ///< Indices into dimension 0.
  std::int64_t regionBatch;          ///< What regions and dropout see as b.
  std::int64_t queryBegin, queryEnd; ///< Rows of query.
  std::int64_t keyBegin, keyEnd;     ///< Rows of key and value.
  std::int64_t offset;               ///< Position of row queryBegin.
};

/// Those of a batch, an entry each, or of a packed one.
std::vector<Sequence> getSequences(const AttentionProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_SEQUENCES_H
