//===- block_summary.h - What masks read, block by block --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BLOCK_SUMMARY_H
#define ATTN_BLOCK_SUMMARY_H

#include "attn/engine.h"
#include "attn/error.h"
#include "attn/export.h"
#include "attn/kernel.h"
#include "attn/tensor.h"

#include <cstddef>
#include <memory>
#include <utility>

namespace attn {

/// The smallest and the largest element of each block of a tensor that masks
/// read, by which kernels skip blocks of keys. A kernel computes it in every
/// call, unless the tensor is `summarized`; then it is computed here, once for
/// all layers, and passed after the tensor:
///
///     auto documents =
///         Tensor<std::int32_t, 2>("documents").summarized(1, 32);
///     Expected<Kernel> kernel = engine.compile(
///         Attention{.mask = document(documents, documents)});
///     Expected<BlockSummary> summary =
///         BlockSummary::create(engine, documents, ids);
///     for (Layer &layer : layers)
///       kernel->run({layer.query, layer.key, layer.value, ids, *summary},
///                   {layer.output});
///
/// It must be that of the elements which the tensor has in the call. Nobody
/// checks that: where elements changed since, results are wrong. A summary of
/// other blocks, or of a tensor with another number of them, is an error of the
/// call. Copies share their memory, which a call needs. Copied, never moved
/// from, so that every BlockSummary can be passed.
class BlockSummary {
public:
  BlockSummary(const BlockSummary &) = default;
  BlockSummary &operator=(const BlockSummary &) = default;

  /// Of `table`, which is passed for `tensor`. An error names the argument that
  /// is wrong, what was expected and what came.
  template <typename T, int Rank>
  static Expected<BlockSummary> create(const Engine &engine,
                                       const Tensor<T, Rank> &tensor,
                                       const TensorView &table) {
    return create(engine, tensor.declaration(), table);
  }

  /// The same of a tensor's declaration.
  ATTN_EXPORT static Expected<BlockSummary>
  create(const Engine &engine, const detail::DeclarationPtr &tensor,
         const TensorView &table);

  /// What a kernel takes: (2, blocks...), of the tensor's element type.
  operator Argument() const { return ranges; }

private:
  BlockSummary(std::shared_ptr<const std::byte[]> memory,
               const TensorView &ranges)
      : memory(std::move(memory)), ranges(ranges) {}

  std::shared_ptr<const std::byte[]> memory;
  TensorView ranges;
};

} // namespace attn

#endif // ATTN_BLOCK_SUMMARY_H
