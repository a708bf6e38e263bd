//===- Model.h - A language model that reads tokens -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_MODEL_H
#define ATTN_EXAMPLES_SMOLLM2_MODEL_H

#include "attn/paged_cache.h"
#include "examples/smollm2/Kernels.h"
#include "examples/smollm2/ModelWeights.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace smollm2 {

/// Tokens that a sequence goes on with.
struct Chunk {
  attn::SequenceId sequence{};
  std::span<const std::int32_t> tokens;
  /// After how many of them, the last ones, logits are wanted.
  std::int64_t numLogits = 1;
};

/// How much a model's cache has room for.
struct CacheRoom {
  std::int64_t sequences = 1;
  std::int64_t tokens = 0; ///< Of each, in whole pages.
};

/// A model, and the keys and values of sequences of tokens that it has read.
class Model {
public:
  /// Tokens in a page of the cache, as in model.mlir.
  static constexpr std::int64_t pageSize = 16;

  /// Errors: no sequence, fewer than 1 token, more than the model was made for,
  /// no memory.
  static attn::Expected<Model>
  create(Kernels kernels, std::shared_ptr<const ModelWeights> weights,
         const CacheRoom &room);

  /// Where sequences are created, forked, shortened and freed.
  attn::PagedCache &cache() { return pages; }

  /// One step: reads the tokens of several sequences, of any numbers. Gives
  /// rows of logits, (vocabulary) each, chunk after chunk, which live until the
  /// next call. Errors: no chunk, one without tokens or with more logits than
  /// tokens, a token that is not in the vocabulary, more of a sequence than
  /// there is room for, and those of PagedCache::append; then nothing was read.
  attn::Expected<std::span<const float>> read(std::span<const Chunk> chunks);

  std::int64_t vocabulary() const { return weights->shape.vocabulary; }

private:
  Model(Kernels kernels, std::shared_ptr<const ModelWeights> weights,
        const attn::PagedCache &pages, std::int64_t capacity);

  attn::Status check(std::span<const Chunk> chunks) const;
  void embed(std::span<const Chunk> chunks, const attn::CacheStep &step);
  attn::Status runLayers(const attn::CacheStep &step);
  attn::Status computeLogits(std::span<const Chunk> chunks);

  Kernels kernels;
  std::shared_ptr<const ModelWeights> weights;
  attn::PagedCache pages;
  std::int64_t capacity; ///< Of a sequence.
  /// (capacity, rotary size / 2): the angles of the rotary embedding.
  std::vector<float> cosines, sines;
  std::vector<float> rows, results; ///< (tokens, width) of a step.
  /// Of those tokens: where each sequence's begin, and the end; and which they
  /// are in it.
  std::vector<std::int32_t> sequences, positions;
  std::vector<float> logits;
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_MODEL_H
