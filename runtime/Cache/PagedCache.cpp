//===- PagedCache.cpp - Keys and values in pages --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/paged_cache.h"

#include "runtime/Cache/CacheState.h"

#include <atomic>

using namespace attn;
using namespace attn::cache;
using namespace attn::detail;
using Lock = std::lock_guard<std::mutex>;

/// Of all caches, so that none takes another's sequence for its own.
static std::atomic<std::int64_t> nextSequence = 0;

static Status checkOptions(const PagedCacheOptions &options) {
  using Member = std::pair<const char *, std::int64_t>;
  for (auto [member, size] :
       {Member("pages", options.pages), Member("pageSize", options.pageSize),
        Member("layers", options.layers),
        Member("keyValueHeads", options.keyValueHeads),
        Member("headSize", options.headSize),
        Member("valueHeadSize",
               options.valueHeadSize.value_or(options.headSize))})
    if (size < 1)
      return makeError(member, "at least 1", std::to_string(size));
  for (auto [member, size] :
       {Member("pages", options.pages), Member("pageSize", options.pageSize)})
    if (size > largest)
      return makeError(member, "at most " + std::to_string(largest),
                       std::to_string(size));
  switch (options.type) {
  case ElementType::f32:
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::i8:
  case ElementType::f8e4m3fn:
  case ElementType::f8e5m2:
    return {};
  default:
    return makeError("type", "f32, f16, bf16, f8E4M3FN, f8E5M2 or i8",
                     std::string(nameOf(options.type)));
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

PagedCache::PagedCache(std::shared_ptr<CacheState> state)
    : state(std::move(state)) {}

Expected<PagedCache> PagedCache::create(const PagedCacheOptions &options) {
  if (Status status = checkOptions(options); !status)
    return std::move(status).error();
  return catchNoMemory([&]() -> Expected<PagedCache> {
    Expected<PagePool> pool = PagePool::create(options);
    if (!pool)
      return std::move(pool).error();
    return PagedCache(std::make_shared<CacheState>(options, *std::move(pool)));
  });
}

const PagedCacheOptions &PagedCache::options() const { return state->options; }

TensorView PagedCache::keys(std::int64_t layer) const {
  return state->pool.view(Part::keys, layer);
}
TensorView PagedCache::values(std::int64_t layer) const {
  return state->pool.view(Part::values, layer);
}
TensorView PagedCache::keyScales(std::int64_t layer) const {
  return state->pool.view(Part::keyScales, layer);
}
TensorView PagedCache::valueScales(std::int64_t layer) const {
  return state->pool.view(Part::valueScales, layer);
}

std::int64_t PagedCache::freePages() const {
  Lock lock(state->mutex);
  return state->pool.countFree();
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static const char *const sequenceName = "argument 'sequence'";

static Status checkIdle(const Sequence &sequence, SequenceId id) {
  if (sequence.appending || sequence.readers > 0)
    return makeError(sequenceName, "one that no step uses",
                     std::to_string(std::int64_t(id)));
  return {};
}

static Status checkLength(const Sequence &sequence, std::int64_t length) {
  if (length < 0 || length > sequence.length)
    return makeError("argument 'length'",
                     "0 to " + std::to_string(sequence.length) +
                         ", the tokens of the sequence",
                     std::to_string(length));
  return {};
}

static std::size_t countPages(const CacheState &state, std::int64_t length) {
  std::int64_t pageSize = state.options.pageSize;
  return std::size_t(length / pageSize + (length % pageSize != 0));
}

Expected<SequenceId> PagedCache::createSequence() {
  return catchNoMemory([&]() -> Expected<SequenceId> {
    Lock lock(state->mutex);
    std::int64_t id = nextSequence++;
    state->sequences.try_emplace(id);
    return SequenceId(id);
  });
}

Expected<SequenceId> PagedCache::fork(SequenceId sequence,
                                      std::optional<std::int64_t> length) {
  return catchNoMemory([&]() -> Expected<SequenceId> {
    Lock lock(state->mutex);
    Expected<Sequence *> found = state->find(sequenceName, sequence);
    if (!found)
      return std::move(found).error();
    const Sequence &parent = **found;
    if (parent.appending)
      return makeError(sequenceName, "one that no step appends to",
                       std::to_string(std::int64_t(sequence)));
    std::int64_t tokens = length.value_or(parent.length);
    if (Status status = checkLength(parent, tokens); !status)
      return std::move(status).error();

    Sequence child;
    child.length = tokens;
    child.pages.assign(parent.pages.begin(),
                       parent.pages.begin() +
                           std::ptrdiff_t(countPages(*state, tokens)));
    std::int64_t id = nextSequence++;
    Sequence &inserted =
        state->sequences.try_emplace(id, std::move(child)).first->second;
    for (std::int32_t page : inserted.pages)
      state->pool.retain(page);
    return SequenceId(id);
  });
}

Status PagedCache::truncate(SequenceId sequence, std::int64_t length) {
  Lock lock(state->mutex);
  Expected<Sequence *> found = state->find(sequenceName, sequence);
  if (!found)
    return std::move(found).error();
  Sequence &truncated = **found;
  if (Status status = checkIdle(truncated, sequence); !status)
    return status;
  if (Status status = checkLength(truncated, length); !status)
    return status;
  truncated.length = length;
  for (std::size_t kept = countPages(*state, length);
       truncated.pages.size() > kept; truncated.pages.pop_back())
    state->pool.release(truncated.pages.back());
  return {};
}

Status PagedCache::free(SequenceId sequence) {
  Lock lock(state->mutex);
  Expected<Sequence *> found = state->find(sequenceName, sequence);
  if (!found)
    return std::move(found).error();
  if (Status status = checkIdle(**found, sequence); !status)
    return status;
  for (std::int32_t page : (*found)->pages)
    state->pool.release(page);
  state->sequences.erase(std::int64_t(sequence));
  return {};
}

Expected<std::int64_t> PagedCache::length(SequenceId sequence) const {
  Lock lock(state->mutex);
  Expected<Sequence *> found = state->find(sequenceName, sequence);
  if (!found)
    return std::move(found).error();
  return (*found)->length;
}
