//===- ModelShape.h - The sizes of a model ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_MODELSHAPE_H
#define ATTN_EXAMPLES_SMOLLM2_MODELSHAPE_H

#include "attn/error.h"
#include "examples/gguf/File.h"

#include <cstdint>
#include <string_view>

namespace smollm2 {

/// What a file says of a model of the llama kind, but for its weights.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;  ///< Of activations.
  std::int64_t hidden = 0; ///< Width within the feed-forward network.
  std::int64_t heads = 0;  ///< Of queries.
  std::int64_t keyHeads = 0;
  std::int64_t headSize = 0;
  std::int64_t rotarySize = 0; ///< Of what is rotated of a head.
  std::int64_t vocabulary = 0;
  std::int64_t context = 0; ///< Tokens that the model was made for.
  double epsilon = 0;       ///< Of root mean squares.
  double rotaryBase = 0;    ///< Of the rotary embedding's frequencies.
  /// The embedding of tokens is the weight of the logits, too.
  bool isTied = false;

  /// Errors: a model of another kind, a size that is missing or out of bounds,
  /// and what the kernels do not compute, by the name that it has in the file:
  /// biases, experts, scaled positions, heads of several sizes.
  static attn::Expected<ModelShape> read(const gguf::File &file);

  /// With heads that so many ranks share evenly: others, whose weights are
  /// zeros, follow those of the model.
  ModelShape padHeads(std::int64_t ranks) const {
    ModelShape padded = *this;
    padded.keyHeads = (keyHeads + ranks - 1) / ranks * ranks;
    padded.heads = padded.keyHeads * (heads / keyHeads);
    return padded;
  }
};

/// The sizes of a weight in a file.
struct WeightShape {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0; ///< 0: a vector.
  bool isRotated = false;  ///< Its outputs are heads that are rotated.
};

/// The weight of a layer, or of the logits, of this name; nothing of the sort:
/// no outputs.
WeightShape findWeight(const ModelShape &shape, std::string_view name);

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_MODELSHAPE_H
