//===- FineTuning.h - Trains the layers of a model --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_TRAIN_FINETUNING_H
#define ATTN_EXAMPLES_TRAIN_FINETUNING_H

#include "attn/engine.h"
#include "examples/gguf/File.h"
#include "examples/smollm2/ModelShape.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace finetune {

/// A dense tensor of f32.
struct Tensor {
  explicit Tensor(std::vector<std::int64_t> sizes);
  attn::TensorView view() { return {elements.data(), sizes}; }

  std::vector<std::int64_t> sizes;
  std::vector<float> elements;
};

/// The weights of a layer, one after the other, with their gradients and the
/// averages that AdamW keeps of these.
struct Layer {
  std::vector<float> weights, gradients, means, squares;
  /// What the forward pass leaves for the gradient: the results of @layer.
  std::vector<Tensor> saved;
};

/// A model of the llama kind in f32 whose layers are trained to say the next
/// token. The embeddings, which are the weight of the logits, too, and the last
/// norm stay what they are.
class FineTuning {
public:
  /// For batches of `batch` times `length` tokens that another one follows; all
  /// weights are 0. Errors: a model whose embeddings are not the weight of its
  /// logits, sizes below 1, more tokens than the model was made for, and those
  /// of `Engine::compile`.
  static attn::Expected<FineTuning> create(const attn::Engine &engine,
                                           const smollm2::ModelShape &shape,
                                           std::int64_t batch,
                                           std::int64_t length);

  /// Dequantises the weights of a file. Errors: a tensor that is missing, of
  /// other sizes or not finite.
  attn::Status load(const gguf::File &file);

  /// The mean cross entropy of a batch, (batch, length + 1) tokens, of which
  /// each row's are read but for the last, and sets the gradients. Errors: of
  /// tokens another number, or one that is not in the vocabulary.
  attn::Expected<double> computeGradients(std::span<const std::int32_t> tokens);

  /// One step of AdamW, by the gradients.
  attn::Status update(double rate);

  std::int64_t numLayers() const { return std::int64_t(layers.size()); }
  /// As they are called in files, such as "attn_q".
  std::vector<std::string_view> weightNames() const;
  // A weight of a layer, (inputs, outputs) or a vector, and its gradient. The
  // layer and the name exist.
  std::span<float> weight(std::int64_t layer, std::string_view name);
  std::span<const float> gradientOf(std::int64_t layer,
                                    std::string_view name) const;
  /// (vocabulary, width).
  std::span<float> embeddings() { return embedding.elements; }
  std::span<float> outputNorm() { return norm.elements; }

private:
  /// Where a weight lies among those of its layer.
  struct Place {
    std::string_view name;
    std::vector<std::int64_t> sizes;
    std::size_t begin = 0, count = 0;
  };
  struct Kernels {
    attn::Kernel layer, ofLayer, norm, ofNorm, loss, update;
  };

  FineTuning(Kernels kernels, const smollm2::ModelShape &shape);
  const Place &find(std::string_view name) const;
  attn::Status check(std::span<const std::int32_t> tokens) const;
  void embed(std::span<const std::int32_t> tokens);
  /// What @layer and its gradient take first.
  std::vector<attn::Argument> argumentsOf(std::size_t layer);
  attn::Status runForward();
  attn::Status runBackward();

  Kernels kernels;
  smollm2::ModelShape shape;
  std::vector<Place> places;
  std::vector<Layer> layers;
  Tensor embedding, norm; ///< What is not trained.
  Tensor cosine, sine;
  Tensor tokens;    ///< The embeddings of a batch: (batch, length, width).
  Tensor following; ///< Those of the tokens that follow.
  Tensor normed, losses;
  Tensor gradient, nextGradient; ///< Of a layer's result, and its tokens.
  int step = 0;
};

} // namespace finetune

#endif // ATTN_EXAMPLES_TRAIN_FINETUNING_H
