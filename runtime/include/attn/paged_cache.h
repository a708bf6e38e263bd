//===- paged_cache.h - Keys and values in pages -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory for the keys and values of many sequences, in pages that they share
// where they have tokens in common, after Kwon et al., "Efficient Memory
// Management for Large Language Model Serving with PagedAttention" (2023). The
// cache says where rows are; kernels write and read them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PAGED_CACHE_H
#define ATTN_PAGED_CACHE_H

#include "attn/element_type.h"
#include "attn/error.h"
#include "attn/export.h"
#include "attn/tensor_view.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

namespace attn {

namespace detail {
struct CacheState;
struct CacheStepState;
} // namespace detail

struct PagedCacheOptions {
  /// How many there are, for all sequences together; at most 2^31 - 1.
  std::int64_t pages = 0;
  /// Tokens in a page; at most 2^31 - 1.
  std::int64_t pageSize = 16;
  /// Layers of the model, which have the same tokens in the same pages.
  std::int64_t layers = 1;
  std::int64_t keyValueHeads = 1;
  /// Elements of a key, and of a value unless `valueHeadSize` says otherwise.
  std::int64_t headSize = 0;
  std::optional<std::int64_t> valueHeadSize;
  /// f32, f16, bf16, f8e4m3fn, f8e5m2, or i8 with an f32 scale for each row.
  ElementType type = ElementType::f32;
};

/// One sequence of tokens. No two have the same number, also in two caches and
/// after one of them was freed.
enum class SequenceId : std::int64_t {};

/// What one call of the kernels needs to know of its B sequences, and what it
/// changes. Where the step is destroyed without `commit`, nothing changed.
///
/// While it lives, its sequences can be neither appended to nor truncated nor
/// freed, nor forked if it appends to them. Steps that append nothing to a
/// sequence read it at the same time. A step may be used by one thread at a
/// time, and outlive its cache.
///
/// Once committed or moved from, it is empty: its tensors have rank -1, and
/// every kernel refuses them.
class ATTN_EXPORT CacheStep {
public:
  CacheStep(CacheStep &&other) noexcept;
  CacheStep &operator=(CacheStep &&other) noexcept;
  ~CacheStep();

  /// (B, pages of the longest) i32: the pages of each sequence in the order of
  /// its tokens, those for the new tokens included; -1 after the last. No page
  /// that is written is in the table twice, or of a sequence outside of it.
  TensorView table() const;
  /// (B) i32: tokens before the call.
  TensorView lengths() const;
  /// (B) i32: tokens that the call appends.
  TensorView counts() const;
  /// (B) i32: tokens after the call, `lengths` and `counts` added.
  TensorView newLengths() const;

  /// Makes the new tokens part of their sequences, after the kernels wrote
  /// their rows. Does nothing if the step is empty.
  void commit() noexcept;

private:
  friend class PagedCache;
  explicit CacheStep(std::shared_ptr<detail::CacheState> cache);
  std::shared_ptr<detail::CacheState> cache;
  std::unique_ptr<detail::CacheStepState> state;
};

/// Keys and values of many sequences. For tokens that are decoded together, in
/// sequences of any lengths:
///
///     Expected<CacheStep> step = cache.append(sequences, counts);
///     if (!step)
///       return report(step.error()); // No sequence changed.
///     for (Layer &layer : layers)
///       if (Status status = kernel.run(
///               {..., cache.keys(layer.index), cache.values(layer.index),
///                step->table(), step->lengths(), step->newLengths()},
///               {...});
///           !status)
///         return report(status.error()); // Nor here.
///     step->commit();
///
/// The kernel gives keys and values as results too, which are the same views:
/// they are updated. One for a cache of i8 takes `keyScales` and `valueScales`
/// after them, and gives them after them. cached_attention.h writes such
/// kernels, and multi_head_attention.h from the input of a layer on.
///
/// Fresh pages hold zeros, others what they held last. Memory is used as pages
/// are. Errors name the argument, what was expected and what came, or the
/// memory that there is not, and leave everything as it was.
///
/// Copies share one cache. All members may be called from several threads at
/// once, and while kernels run: a kernel writes only the new rows of its own
/// step, in pages that no other sequence has, and reads only rows that nothing
/// changes while the step lives. Copied, never moved from, so that every
/// PagedCache can be called.
class ATTN_EXPORT PagedCache {
public:
  PagedCache(const PagedCache &) = default;
  PagedCache &operator=(const PagedCache &) = default;

  /// Errors: a size below 1, too many pages, another element type, no memory.
  static Expected<PagedCache> create(const PagedCacheOptions &options);

  const PagedCacheOptions &options() const;

  /// (pages, key/value heads, page size, head size): the keys of a layer, and
  /// its values, of the cache's element type, at a multiple of 64 bytes. For a
  /// layer that is not there, a view of rank -1, which every kernel refuses.
  TensorView keys(std::int64_t layer = 0) const;
  TensorView values(std::int64_t layer = 0) const;
  /// (pages, key/value heads, page size) f32: what each key, and value, of type
  /// i8 is to be multiplied by. Of rank -1 for other types.
  TensorView keyScales(std::int64_t layer = 0) const;
  TensorView valueScales(std::int64_t layer = 0) const;

  /// A sequence without tokens.
  Expected<SequenceId> createSequence();

  /// A sequence that starts with the first `length` tokens of another; all, if
  /// not given. Both have the same pages until one appends to a page in which
  /// the other has tokens; then it gets a copy of its own.
  Expected<SequenceId> fork(SequenceId sequence,
                            std::optional<std::int64_t> length = {});

  /// Drops all tokens of a sequence but the first `length`. Length 0 evicts it:
  /// pages that no other has are free, and the sequence stays, without tokens,
  /// until they are computed anew.
  Status truncate(SequenceId sequence, std::int64_t length);

  /// Drops a sequence. Pages that no other has are free.
  Status free(SequenceId sequence);

  /// Tokens of a sequence, without those of a step under way.
  Expected<std::int64_t> length(SequenceId sequence) const;

  /// Makes room for `counts[i]` more tokens in each `sequences[i]`, to be
  /// written and committed by the step; 0 only reads. Errors: a sequence that
  /// is not there, comes twice or is in use by another step; a negative count;
  /// more than 2^31 - 1 tokens in a sequence; too few free pages.
  Expected<CacheStep> append(std::span<const SequenceId> sequences,
                             std::span<const std::int64_t> counts);
  Expected<CacheStep> append(std::initializer_list<SequenceId> sequences,
                             std::initializer_list<std::int64_t> counts) {
    return append(std::span(sequences.begin(), sequences.size()),
                  std::span(counts.begin(), counts.size()));
  }

  /// Free pages that such a step takes: whether it fits in `freePages` is known
  /// before some other sequence has to go. Errors as for `append`, but for that
  /// of too few.
  Expected<std::int64_t>
  countNewPages(std::span<const SequenceId> sequences,
                std::span<const std::int64_t> counts) const;

  /// Pages that neither a sequence nor a step has.
  std::int64_t freePages() const;

private:
  explicit PagedCache(std::shared_ptr<detail::CacheState> state);
  std::shared_ptr<detail::CacheState> state;
};

} // namespace attn

#endif // ATTN_PAGED_CACHE_H
