//===- CInterface.cpp - Paged caches for C --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/paged_cache.h"
#include "attn/paged_cache_c.h"
#include "runtime/Support/MessageForC.h"

#include <array>
#include <vector>

using namespace attn;
using support::copyForC;
using support::failNull;

/// With what tensors in C point to.
struct attn_paged_cache {
  PagedCache cache;
  std::vector<std::array<TensorView, 4>> layers;
};
struct attn_cache_step {
  CacheStep step;
  std::array<TensorView, 4> tensors;
};

void attn_free(char *text) { delete[] text; }

/// One of four tensors; of rank -1 if there is none.
static char *getTensor(const std::array<TensorView, 4> &tensors, int which,
                       const char *expected, attn_tensor *tensor) {
  if (which < 0 || which >= int(tensors.size()) ||
      tensors[std::size_t(which)].rank() < 0)
    return copyForC(std::string("which: expected ") + expected + ", got " +
                    std::to_string(which));
  const TensorView &view = tensors[std::size_t(which)];
  *tensor = {view.data(), attn_element_type(view.type()), view.rank(),
             view.sizes().data(), view.strides().data()};
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

char *attn_paged_cache_create(const attn_paged_cache_options *options,
                              attn_paged_cache **cache) {
  if (!cache)
    return failNull("cache");
  *cache = nullptr;
  if (!options)
    return failNull("options");
  if (options->type < ATTN_F64 || options->type > int(lastElementType))
    return copyForC("type: there is no element type " +
                    std::to_string(options->type));
  Expected<PagedCache> created =
      PagedCache::create({.pages = options->pages,
                          .pageSize = options->page_size,
                          .layers = options->layers,
                          .keyValueHeads = options->key_value_heads,
                          .headSize = options->head_size,
                          .valueHeadSize = options->value_head_size,
                          .type = ElementType(options->type)});
  if (!created)
    return copyForC(created.error().message);
  auto *result = new attn_paged_cache{*created, {}};
  for (std::int64_t layer = 0; layer < options->layers; ++layer)
    result->layers.push_back({created->keys(layer), created->values(layer),
                              created->keyScales(layer),
                              created->valueScales(layer)});
  *cache = result;
  return nullptr;
}

void attn_paged_cache_destroy(attn_paged_cache *cache) { delete cache; }

char *attn_paged_cache_tensor(const attn_paged_cache *cache,
                              attn_cache_tensor which, std::int64_t layer,
                              attn_tensor *tensor) {
  if (!tensor)
    return failNull("tensor");
  *tensor = {};
  if (!cache)
    return failNull("cache");
  std::size_t layers = cache->layers.size();
  if (layer < 0 || std::uint64_t(layer) >= layers)
    return copyForC("layer: expected 0 to " + std::to_string(layers - 1) +
                    ", got " + std::to_string(layer));
  return getTensor(cache->layers[std::size_t(layer)], which,
                   "keys or values, or scales of a cache of i8", tensor);
}

std::int64_t attn_paged_cache_free_pages(const attn_paged_cache *cache) {
  return cache ? cache->cache.freePages() : 0;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// Stores what was expected, or gives the message.
template <typename T, typename Result>
static char *store(const Expected<T> &from, Result *to) {
  if (!from)
    return copyForC(from.error().message);
  *to = Result(*from);
  return nullptr;
}

static char *toMessage(const Status &status) {
  return status ? nullptr : copyForC(status.error().message);
}

char *attn_paged_cache_create_sequence(attn_paged_cache *cache,
                                       attn_sequence *sequence) {
  if (!cache)
    return failNull("cache");
  if (!sequence)
    return failNull("sequence");
  return store(cache->cache.createSequence(), sequence);
}

char *attn_paged_cache_fork(attn_paged_cache *cache, attn_sequence sequence,
                            std::int64_t length, attn_sequence *forked) {
  if (!cache)
    return failNull("cache");
  if (!forked)
    return failNull("forked");
  return store(cache->cache.fork(SequenceId(sequence), length), forked);
}

char *attn_paged_cache_truncate(attn_paged_cache *cache, attn_sequence sequence,
                                std::int64_t length) {
  if (!cache)
    return failNull("cache");
  return toMessage(cache->cache.truncate(SequenceId(sequence), length));
}

char *attn_paged_cache_free_sequence(attn_paged_cache *cache,
                                     attn_sequence sequence) {
  if (!cache)
    return failNull("cache");
  return toMessage(cache->cache.free(SequenceId(sequence)));
}

char *attn_paged_cache_length(const attn_paged_cache *cache,
                              attn_sequence sequence, std::int64_t *length) {
  if (!cache)
    return failNull("cache");
  if (!length)
    return failNull("length");
  return store(cache->cache.length(SequenceId(sequence)), length);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Why there is no batch; null if there is one.
static char *checkBatch(const attn_paged_cache *cache,
                        const attn_sequence *sequences,
                        const std::int64_t *counts, std::size_t size) {
  if (!cache)
    return failNull("cache");
  if (size && !sequences)
    return failNull("sequences");
  if (size && !counts)
    return failNull("counts");
  return nullptr;
}

static std::vector<SequenceId> toIds(const attn_sequence *sequences,
                                     std::size_t size) {
  std::vector<SequenceId> ids;
  for (std::size_t i = 0; i < size; ++i)
    ids.push_back(SequenceId(sequences[i]));
  return ids;
}

char *attn_paged_cache_append(attn_paged_cache *cache,
                              const attn_sequence *sequences,
                              const std::int64_t *counts, std::size_t size,
                              attn_cache_step **step) {
  if (!step)
    return failNull("step");
  *step = nullptr;
  if (char *message = checkBatch(cache, sequences, counts, size))
    return message;
  Expected<CacheStep> appended =
      cache->cache.append(toIds(sequences, size), std::span(counts, size));
  if (!appended)
    return copyForC(appended.error().message);
  *step = new attn_cache_step{std::move(*appended), {}};
  const CacheStep &from = (*step)->step;
  (*step)->tensors = {from.table(), from.lengths(), from.counts(),
                      from.newLengths()};
  return nullptr;
}

char *attn_paged_cache_count_new_pages(const attn_paged_cache *cache,
                                       const attn_sequence *sequences,
                                       const std::int64_t *counts,
                                       std::size_t size, std::int64_t *pages) {
  if (!pages)
    return failNull("pages");
  if (char *message = checkBatch(cache, sequences, counts, size))
    return message;
  return store(cache->cache.countNewPages(toIds(sequences, size),
                                          std::span(counts, size)),
               pages);
}

char *attn_cache_step_tensor(const attn_cache_step *step,
                             attn_step_tensor which, attn_tensor *tensor) {
  if (!tensor)
    return failNull("tensor");
  *tensor = {};
  if (!step)
    return failNull("step");
  if (step->step.table().rank() < 0)
    return copyForC("step: expected one that is not committed, got one that "
                    "is");
  return getTensor(step->tensors, which,
                   "the table, lengths, counts or new lengths", tensor);
}

void attn_cache_step_commit(attn_cache_step *step) {
  if (step)
    step->step.commit();
}

void attn_cache_step_destroy(attn_cache_step *step) { delete step; }
