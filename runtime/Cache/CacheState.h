//===- CacheState.h - Sequences and steps of a paged cache ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CACHE_CACHESTATE_H
#define ATTN_RUNTIME_CACHE_CACHESTATE_H

#include "runtime/Cache/PagePool.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace attn::cache {

struct Sequence {
  /// As few as hold its tokens.
  std::vector<std::int32_t> pages;
  std::int64_t length = 0;
  /// Steps that have it in use: one that appends to it, or any number that
  /// only read it.
  bool appending = false;
  std::int64_t readers = 0;
  /// The last batch that it was in.
  std::uint64_t batch = 0;
};

inline Error makeError(const std::string &argument, const std::string &expected,
                       const std::string &actual) {
  return {argument + ": expected " + expected + ", got " + actual, {}};
}

/// What `function` returns, or an error if there is no memory for it.
template <typename Function>
auto catchNoMemory(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception &) {
    return Error{"there is no memory for what the cache knows of its sequences",
                 {}};
  }
}

} // namespace attn::cache

namespace attn::detail {

/// Kept from step to step, so that most allocate nothing.
struct CacheStepState {
  /// A sequence of the batch. Its new pages are those in its row of the table
  /// from `keptPages` on; it has them once the step is committed.
  struct Entry {
    cache::Sequence *sequence;
    std::int64_t count;
    std::int64_t keptPages; ///< Of those that the sequence has.
    std::int64_t pages;     ///< After the step.
  };
  std::vector<Entry> entries;
  std::int64_t width = 0; ///< Of the table.
  std::vector<std::int32_t> table, lengths, counts, newLengths;
  std::unique_ptr<CacheStepState> next; ///< In the list of spare ones.

  std::int32_t *getRow(std::size_t entry) {
    return table.data() + entry * std::size_t(width);
  }
};

struct CacheState {
  CacheState(const PagedCacheOptions &options, cache::PagePool pool)
      : options(options), pool(std::move(pool)) {}

  /// The sequence, or an error that names the argument.
  Expected<cache::Sequence *> find(const char *argument, SequenceId id);

  /// Writes the batch's entries. Gives the number of new pages.
  Expected<std::int64_t> plan(std::span<const SequenceId> sequences,
                              std::span<const std::int64_t> counts,
                              std::vector<CacheStepState::Entry> &entries);
  /// Writes the tensors of a planned step and takes its pages, of which there
  /// are enough. Changes nothing if there is no memory.
  void begin(CacheStepState &step);
  /// Ends a step that has begun.
  void end(CacheStepState &step, bool commit) noexcept;

  const PagedCacheOptions options;
  /// Of everything below, but for what PagePool says.
  std::mutex mutex;
  cache::PagePool pool;
  std::unordered_map<std::int64_t, cache::Sequence> sequences;
  std::unique_ptr<CacheStepState> spareSteps;
  std::uint64_t batches = 0;
};

} // namespace attn::detail

#endif // ATTN_RUNTIME_CACHE_CACHESTATE_H
