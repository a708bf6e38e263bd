//===- Model.cpp - A language model that continues a text -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Model.h"

#include <array>
#include <cmath>
#include <utility>

using namespace smollm2;
using attn::Argument;
using attn::CacheStep;
using attn::Error;
using attn::Expected;
using attn::PagedCache;
using attn::SequenceId;
using attn::Status;
using attn::TensorView;

/// Tokens in a page of the cache, as in model.mlir.
static constexpr std::int64_t pageSize = 16;

/// Activations (1, tokens, width).
template <typename Elements>
static TensorView rowsOf(Elements &elements, std::int64_t width) {
  return {elements.data(),
          std::array<std::int64_t, 3>{1, std::int64_t(elements.size()) / width,
                                      width}};
}

/// Angles (positions, pairs of a head).
static TensorView anglesOf(const std::vector<float> &elements) {
  constexpr std::int64_t pairs = headSize / 2;
  return {elements.data(), std::array<std::int64_t, 2>{
                               std::int64_t(elements.size()) / pairs, pairs}};
}

Expected<Model> Model::create(Kernels kernels,
                              std::shared_ptr<const ModelWeights> weights,
                              std::int64_t capacity) {
  if (capacity < 1 || capacity > weights->context)
    return Error{"expected room for 1 to " + std::to_string(weights->context) +
                     " tokens, for which the model was made, got " +
                     std::to_string(capacity),
                 {}};
  Expected<PagedCache> cache =
      PagedCache::create({.pages = (capacity + pageSize - 1) / pageSize,
                          .pageSize = pageSize,
                          .layers = std::int64_t(weights->layers.size()),
                          .keyValueHeads = weights->keyValueHeads,
                          .headSize = headSize,
                          .type = kernels.factors});
  if (!cache)
    return cache.error();
  Expected<SequenceId> sequence = cache->createSequence();
  if (!sequence)
    return sequence.error();
  return Model(std::move(kernels), std::move(weights), *cache, *sequence,
               capacity);
}

Model::Model(Kernels kernels, std::shared_ptr<const ModelWeights> weights,
             const PagedCache &cache, SequenceId sequence,
             std::int64_t capacity)
    : kernels(std::move(kernels)), weights(std::move(weights)), cache(cache),
      sequence(sequence), capacity(capacity) {
  const Panels &embeddings = this->weights->logits.panels[0];
  width = embeddings.inputs();
  vocabulary = embeddings.outputs();
  logits.resize(std::size_t(vocabulary));
  for (std::int64_t position = 0; position < capacity; ++position)
    for (std::int64_t pair = 0; pair < headSize / 2; ++pair) {
      double angle =
          double(position) *
          std::pow(this->weights->rotaryBase, -2.0 * double(pair) / headSize);
      cosines.push_back(float(std::cos(angle)));
      sines.push_back(float(std::sin(angle)));
    }
}

Status Model::check(std::span<const std::int32_t> tokens) const {
  if (tokens.empty())
    return Error{"expected a token, got none", {}};
  for (std::int32_t token : tokens)
    if (token < 0 || token >= vocabulary)
      return Error{"expected tokens from 0 to " +
                       std::to_string(vocabulary - 1) + ", got " +
                       std::to_string(token),
                   {}};
  Expected<std::int64_t> length = cache.length(sequence);
  if (!length)
    return length.error();
  if (std::int64_t(tokens.size()) > capacity - *length)
    return Error{"expected at most " + std::to_string(capacity - *length) +
                     " tokens, for which there is room, got " +
                     std::to_string(tokens.size()),
                 {}};
  return {};
}

/// All layers, on (tokens, width) activations.
Status Model::runLayers(const CacheStep &step, std::vector<float> &rows) const {
  std::vector<float> results(rows.size());
  for (std::size_t i = 0; i < weights->layers.size(); ++i) {
    TensorView keys = cache.keys(std::int64_t(i)),
               values = cache.values(std::int64_t(i));
    std::vector<Argument> arguments = {rowsOf(std::as_const(rows), width)};
    for (const TensorView &view : weights->layers[i].views)
      arguments.emplace_back(view);
    for (const Argument &argument : std::initializer_list<Argument>{
             weights->epsilon, anglesOf(cosines), anglesOf(sines), keys, values,
             step.table(), step.lengths(), step.newLengths()})
      arguments.push_back(argument);
    const TensorView outputs[] = {rowsOf(results, width), keys, values};
    if (Status status = kernels.layer.run(arguments, outputs); !status)
      return status;
    std::swap(rows, results);
  }
  return {};
}

Expected<std::span<const float>>
Model::read(std::span<const std::int32_t> tokens) {
  if (Status status = check(tokens); !status)
    return status.error();
  auto count = std::int64_t(tokens.size());
  Expected<CacheStep> step = cache.append({sequence}, {count});
  if (!step)
    return step.error();
  std::vector<float> rows(std::size_t(count * width));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    weights->logits.panels[0].copyRow(
        tokens[i],
        std::span(rows).subspan(i * std::size_t(width), std::size_t(width)));
  if (Status status = runLayers(*step, rows); !status)
    return status.error();
  rows.erase(rows.begin(), rows.end() - width);
  std::vector<Argument> arguments = {rowsOf(std::as_const(rows), width)};
  for (const TensorView &view : weights->logits.views)
    arguments.emplace_back(view);
  arguments.emplace_back(weights->epsilon);
  const TensorView outputs[] = {
      {logits.data(), std::array<std::int64_t, 3>{1, 1, vocabulary}}};
  if (Status status = kernels.logits.run(arguments, outputs); !status)
    return status.error();
  step->commit();
  return std::span<const float>(logits);
}
