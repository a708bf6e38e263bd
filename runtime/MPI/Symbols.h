//===- Symbols.h - What generated code says to other ranks ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MPI_SYMBOLS_H
#define ATTN_RUNTIME_MPI_SYMBOLS_H

#include <cstdint>

// What generated code calls, and only in a guarded call. Each ends the call
// where there are no ranks, or not as many as the group needs, and where
// another rank does not answer.
extern "C" {
/// The number of this rank among the `count` ranks of its group, which are
/// every `stride`-th.
std::int64_t attn_rt_rank_index(std::int64_t stride, std::int64_t count);
/// What attn.rank_block says. `spans`, `key` and `value` are descriptors of
/// buffers of rank 2 and 4, as are `keys` and `values`, which are written.
void attn_rt_rank_block(std::int64_t step, std::int64_t rows,
                        std::int64_t stride, std::int64_t count,
                        const void *spans, std::int64_t element_bytes,
                        const void *key, const void *value, void *keys,
                        void *values);
/// What attn.rank_sums says, of elements of f32, 4 bytes each, or of f64. All
/// others are descriptors of buffers; what `key_sums` and `value_sums` are of
/// is added to.
void attn_rt_rank_sums(std::int64_t step, std::int64_t stride,
                       std::int64_t count, const void *spans,
                       std::int64_t element_bytes, const void *key,
                       const void *value, const void *key_sums,
                       const void *value_sums);
/// What attn.reshard of that number says, of elements of so many bytes. The
/// others are descriptors of buffers, of which `result` is written, and lies
/// together.
void attn_rt_reshard(std::int64_t stride, std::int64_t count, std::int64_t kind,
                     std::int64_t element_bytes, const void *bounds,
                     const void *part, const void *result);
/// Writes the `bytes` of `part` of each rank of the group into `all`.
void attn_rt_all_gather(std::int64_t stride, std::int64_t count,
                        std::int64_t bytes, const void *part, void *all);
/// Writes the sum of `part` of each rank of the group into `sum`: so many
/// elements of f32, 4 bytes each, or of f64.
void attn_rt_all_reduce(std::int64_t stride, std::int64_t count,
                        std::int64_t elements, std::int64_t element_bytes,
                        const void *part, void *sum);
/// What attn.all_merge says, of so many rows of outputs of `size` elements, and
/// of their log-sum-exps, of f32, 4 bytes each, or of f64. `output` may be
/// `merged_output`, and `lse` `merged_lse`.
void attn_rt_all_merge(std::int64_t stride, std::int64_t count,
                       std::int64_t rows, std::int64_t size,
                       std::int64_t element_bytes, const void *output,
                       const void *lse, void *merged_output, void *merged_lse);
}

#endif // ATTN_RUNTIME_MPI_SYMBOLS_H
