//===- Model.h - A language model that continues a text ---------*- C++ -*-===//
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

/// A model and the text that it has read, whose keys and values it keeps.
class Model {
public:
  /// A model that has read nothing yet, and has room for `capacity` tokens.
  /// Errors: fewer than 1, more than the model was made for, no memory.
  static attn::Expected<Model>
  create(Kernels kernels, std::shared_ptr<const ModelWeights> weights,
         std::int64_t capacity);

  /// Reads tokens after those read so far. Gives the logits of the token that
  /// comes next, (vocabulary), which live until the next call. Errors: no
  /// token, one that is not in the vocabulary, or more than there is room for;
  /// then nothing was read.
  attn::Expected<std::span<const float>>
  read(std::span<const std::int32_t> tokens);

private:
  Model(Kernels kernels, std::shared_ptr<const ModelWeights> weights,
        const attn::PagedCache &cache, attn::SequenceId sequence,
        std::int64_t capacity);

  attn::Status check(std::span<const std::int32_t> tokens) const;
  attn::Status runLayers(const attn::CacheStep &step,
                         std::vector<float> &rows) const;

  Kernels kernels;
  std::shared_ptr<const ModelWeights> weights;
  attn::PagedCache cache;
  attn::SequenceId sequence;
  std::int64_t capacity, width, vocabulary;
  /// (capacity, head size / 2): the angles of the rotary embedding.
  std::vector<float> cosines, sines;
  std::vector<float> logits;
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_MODEL_H
