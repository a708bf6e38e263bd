//===- Model.cpp - A language model that reads tokens ---------------------===//
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

/// Rows (1, tokens, width).
template <typename Elements>
static TensorView rowsOf(Elements &elements, std::int64_t width) {
  return {elements.data(),
          std::array<std::int64_t, 3>{1, std::int64_t(elements.size()) / width,
                                      width}};
}

/// Angles (positions, pairs of a head).
static TensorView anglesOf(const std::vector<float> &elements,
                           std::int64_t pairs) {
  return {elements.data(), std::array<std::int64_t, 2>{
                               std::int64_t(elements.size()) / pairs, pairs}};
}

Expected<Model> Model::create(Kernels kernels,
                              std::shared_ptr<const ModelWeights> weights,
                              const CacheRoom &room) {
  const ModelShape &shape = weights->shape;
  if (room.tokens < 1 || room.tokens > shape.context)
    return Error{"expected room for 1 to " + std::to_string(shape.context) +
                     " tokens, for which the model was made, got " +
                     std::to_string(room.tokens),
                 {}};
  constexpr std::int64_t mostSequences = 1 << 10;
  if (room.sequences < 1 || room.sequences > mostSequences)
    return Error{"expected room for 1 to " + std::to_string(mostSequences) +
                     " sequences, got " + std::to_string(room.sequences),
                 {}};
  std::int64_t ofOne = (room.tokens + pageSize - 1) / pageSize;
  Expected<PagedCache> cache =
      PagedCache::create({.pages = room.sequences * ofOne,
                          .pageSize = pageSize,
                          .layers = shape.layers,
                          .keyValueHeads = kernels.countKeyHeads(),
                          .headSize = shape.headSize,
                          .type = kernels.factors});
  if (!cache)
    return cache.error();
  return Model(std::move(kernels), std::move(weights), *cache, room.tokens);
}

Model::Model(Kernels kernels, std::shared_ptr<const ModelWeights> weights,
             const PagedCache &pages, std::int64_t capacity)
    : kernels(std::move(kernels)), weights(std::move(weights)), pages(pages),
      capacity(capacity) {
  const ModelShape &shape = this->weights->shape;
  for (std::int64_t position = 0; position < capacity; ++position)
    for (std::int64_t pair = 0; pair < shape.rotarySize / 2; ++pair) {
      double angle = double(position) *
                     std::pow(shape.rotaryBase,
                              -2.0 * double(pair) / double(shape.rotarySize));
      cosines.push_back(float(std::cos(angle)));
      sines.push_back(float(std::sin(angle)));
    }
}

Status Model::check(std::span<const Chunk> chunks) const {
  if (chunks.empty())
    return Error{"expected tokens of a sequence, got none", {}};
  for (const Chunk &chunk : chunks) {
    auto count = std::int64_t(chunk.tokens.size());
    if (count == 0)
      return Error{"expected a token, got none", {}};
    if (chunk.numLogits < 0 || chunk.numLogits > count)
      return Error{"expected logits after 0 to " + std::to_string(count) +
                       " tokens, got " + std::to_string(chunk.numLogits),
                   {}};
    for (std::int32_t token : chunk.tokens)
      if (token < 0 || token >= vocabulary())
        return Error{"expected tokens from 0 to " +
                         std::to_string(vocabulary() - 1) + ", got " +
                         std::to_string(token),
                     {}};
    Expected<std::int64_t> length = pages.length(chunk.sequence);
    if (!length)
      return length.error();
    if (count > capacity - *length)
      return Error{"expected at most " + std::to_string(capacity - *length) +
                       " tokens, for which there is room, got " +
                       std::to_string(count),
                   {}};
  }
  return {};
}

/// The rows of the tokens that are read, and where they are.
void Model::embed(std::span<const Chunk> chunks, const CacheStep &step) {
  auto width = std::size_t(weights->shape.width);
  const auto *position =
      static_cast<const std::int32_t *>(step.lengths().data());
  rows.clear();
  positions.clear();
  sequences = {0};
  for (const Chunk &chunk : chunks) {
    std::int32_t next = *position++;
    for (std::int32_t token : chunk.tokens) {
      rows.resize(rows.size() + width);
      weights->embeddings().copyRow(token, std::span(rows).last(width));
      positions.push_back(next++);
    }
    sequences.push_back(std::int32_t(positions.size()));
  }
}

/// All layers, on the rows.
Status Model::runLayers(const CacheStep &step) {
  const ModelShape &shape = weights->shape;
  results.resize(rows.size());
  std::int64_t pairs = shape.rotarySize / 2;
  const TensorView sequencesView = {std::as_const(sequences).data(),
                                    std::array{std::int64_t(sequences.size())}},
                   positionsView = {std::as_const(positions).data(),
                                    std::array{std::int64_t(1),
                                               std::int64_t(positions.size())}};
  for (std::size_t i = 0; i < weights->layers.size(); ++i) {
    TensorView keys = pages.keys(std::int64_t(i)),
               values = pages.values(std::int64_t(i));
    std::vector<Argument> arguments = {
        rowsOf(std::as_const(rows), shape.width)};
    for (const TensorView &view : weights->layers[i].views)
      arguments.emplace_back(view);
    for (const Argument &argument : std::initializer_list<Argument>{
             shape.epsilon, anglesOf(cosines, pairs), anglesOf(sines, pairs),
             keys, values, step.table(), step.lengths(), step.newLengths(),
             sequencesView, positionsView})
      arguments.push_back(argument);
    const TensorView outputs[] = {rowsOf(results, shape.width), keys, values};
    if (Status status = kernels.layer.run(arguments, outputs); !status)
      return status;
    std::swap(rows, results);
  }
  return {};
}

/// Of the rows after which they are wanted.
Status Model::computeLogits(std::span<const Chunk> chunks) {
  const ModelShape &shape = weights->shape;
  std::vector<float> wanted;
  auto end = rows.begin(); // Of the chunk's rows.
  for (const Chunk &chunk : chunks) {
    end += std::ptrdiff_t(chunk.tokens.size()) * shape.width;
    wanted.insert(wanted.end(), end - chunk.numLogits * shape.width, end);
  }
  logits.resize(wanted.size() / std::size_t(shape.width) *
                std::size_t(shape.vocabulary));
  if (wanted.empty())
    return {};
  std::vector<Argument> arguments = {
      rowsOf(std::as_const(wanted), shape.width)};
  for (const TensorView &view : weights->logits.views)
    arguments.emplace_back(view);
  arguments.emplace_back(shape.epsilon);
  const TensorView outputs[] = {rowsOf(logits, shape.vocabulary)};
  return kernels.logits.run(arguments, outputs);
}

Expected<std::span<const float>> Model::read(std::span<const Chunk> chunks) {
  if (Status status = check(chunks); !status)
    return status.error();
  std::vector<SequenceId> ids;
  std::vector<std::int64_t> counts;
  for (const Chunk &chunk : chunks) {
    ids.push_back(chunk.sequence);
    counts.push_back(std::int64_t(chunk.tokens.size()));
  }
  Expected<CacheStep> step = pages.append(ids, counts);
  if (!step)
    return step.error();
  embed(chunks, *step);
  if (Status status = runLayers(*step); !status)
    return status.error();
  if (Status status = computeLogits(chunks); !status)
    return status.error();
  step->commit();
  return std::span<const float>(logits);
}
