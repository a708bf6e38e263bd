//===- BlockRanges.h - What summaries of tensors are made of ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_BLOCKRANGES_H
#define ATTN_RUNTIME_BUILDER_BLOCKRANGES_H

#include "attn/block_summary.h"

#include <cstddef>
#include <memory>

namespace attn::builder {

/// The smallest and the largest element of each block of a tensor, (2,
/// blocks...), in memory of their own.
struct BlockRanges {
  std::shared_ptr<const std::byte[]> memory;
  TensorView ranges;
};

/// Of `table`, which is passed for `tensor`.
Expected<BlockRanges> computeBlockRanges(const Engine &engine,
                                         const detail::DeclarationPtr &tensor,
                                         const TensorView &table);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_BLOCKRANGES_H
