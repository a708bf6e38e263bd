//===- BlockStreams.h - Keys and values from memory -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What products of a block of keys fetch of keys and values that come from
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_BLOCKSTREAMS_H
#define ATTN_ONLINE_BLOCKSTREAMS_H

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// Where no other iteration of a parallel loop reads the same keys and values,
/// products of queries and keys and products of weights and values take turns
/// with the memory: each fetches what the other reads next, the values of the
/// block and the keys of the next. So they do where a head is known to have
/// more of them than the second-level cache holds, and the third is far
/// (`l3_ns`). If they are read again otherwise, those of a block have left the
/// caches by then, but only a product of many rows has the time to fetch:
/// values, of the next block.
class BlockStreams {
public:
  /// Of `block` in a loop over blocks of keys.
  static BlockStreams emit(OpBuilder &b, OnlineAttentionOp block,
                           scf::ForOp loop);

  /// Fetches `numRows` rows while the operation that follows computes: the
  /// product of queries and keys.
  void fetchWithScores(IndexBuilder &b, int64_t numRows) const {
    values.fetch(b, numRows);
  }
  /// The same, of weights and values.
  void fetchWithOutput(IndexBuilder &b, int64_t numRows) const {
    next.fetch(b, numRows);
  }

private:
  struct Rows {
    Value rows = nullptr; ///< Null: nothing is fetched.
    int64_t ahead = 0;    ///< By how many of them the first one is further on.
    void fetch(IndexBuilder &b, int64_t numRows) const;
  };
  static Rows getLater(OpBuilder &b, tensor::ExtractSliceOp rows,
                       scf::ForOp loop, int64_t blocks, PlanAttr plan);

  Rows values, next;
};

} // namespace mlir::attn

#endif // ATTN_ONLINE_BLOCKSTREAMS_H
