//===- cached_attention.h - Attention on a cache, in C++ --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CACHED_ATTENTION_H
#define ATTN_CACHED_ATTENTION_H

#include "attn/attention.h"

namespace attn {

/// Caches to which the keys and values of a layer are appended, and all of
/// which its queries attend to.
struct LayerCache {
  /// A float no wider than the attention's, whose type it is if absent;
  /// f8e4m3fn or f8e5m2, to whose largest number rows are rounded that are
  /// beyond it; or i8, with a scale for each row.
  std::optional<ElementType> type = {};
  /// Row p mod capacity has position p, and `size` positions are looked at.
  bool isRing = false;
  /// Pages of so many rows, or `dynamic`, which a table gives to sequences
  /// (Kwon et al., arXiv:2309.06180).
  std::optional<std::int64_t> pageSize = {};
  /// How many of its tokens are new is said for each sequence.
  bool hasCounts = false;
};

/// A step of attention on caches: appends new keys and values, which come as
/// the queries do, and attends to all that is stored. Its kernel takes, as far
/// as there are:
///
///   query                    (B, Hq, S, Dk)
///   key, value               (B, Hkv, S, Dk) and (B, Hkv, S, Dv), the new ones
///   key_cache, value_cache   (B, Hkv, capacity, D), updated in place, or
///                            (pages, Hkv, pageSize, D)
///   key_scales, value_scales the same without D, f32
///   lengths                  (B), i32: the rows that are in them
///   counts                   (B), i32: the tokens of each sequence
///   sequences                (B + 1), i32: where those of each begin in packed
///                            queries, and the end
///   size                     i64
///   table                    (B, pages of a sequence), i32
///
/// and after them what `attention` mentions. It gives the output (B, Hq, S,
/// Dv), the log-sum-exp if `attention` asks for it, and the caches with their
/// scales. Positions count from `lengths`. Those behind the last token of a
/// sequence are hidden, whatever the mask keeps; a ring has to hold all others
/// that it keeps. Output rows of tokens that `counts` leaves out have no
/// meaning.
///
/// A step of a continuous batch, in which some sequences read a prompt and
/// others a token, is packed: query, key, value and output have a batch of 1
/// and the rows of all sequences, one after the other.
///
///     CachedAttention step{.attention = {.queryHeads = 32,
///                                        .keyValueHeads = 8,
///                                        .headSize = 128,
///                                        .mask = causal()},
///                          .cache = {.pageSize = 16}};
///     Expected<Kernel> kernel = engine.compile(*step.text());
///
/// On the pages of a PagedCache, with the `lengths` before the step:
///
///     kernel->run({query, key, value, pages.keys(), pages.values(),
///                  step->lengths(), step->table()},
///                 {output, pages.keys(), pages.values()});
struct CachedAttention {
  /// Types, heads, sizes, score, mask and the rest of the attention itself. The
  /// key length is dynamic, and there are neither an offset nor sequences. Its
  /// tensors and scalars do not have the names above.
  Attention attention = {};
  LayerCache cache = {};
  /// Queries and new keys and values are packed. `attention.batch` is the
  /// number of sequences; the cache has no counts.
  bool isPacked = false;

  /// The kernel as IR: a function of the name "attention". An error names the
  /// member that is wrong.
  ATTN_EXPORT Expected<std::string> text() const;
};

} // namespace attn

#endif // ATTN_CACHED_ATTENTION_H
