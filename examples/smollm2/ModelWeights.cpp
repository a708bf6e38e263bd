//===- ModelWeights.cpp - A file's weights as arguments of kernels --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/ModelWeights.h"

#include "examples/gguf/Message.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using attn::Parameter;
using attn::Status;
using gguf::quoted;

static std::string textOf(std::span<const std::int64_t> sizes) {
  std::string text;
  for (std::int64_t size : sizes)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

static bool isWeight(const Parameter &parameter) {
  return parameter.isTensor &&
         std::ranges::find(parameter.shape, Parameter::dynamic) ==
             parameter.shape.end();
}

Expected<WeightSource> smollm2::findSource(const gguf::File &file,
                                           const ModelShape &shape,
                                           const std::string &prefix,
                                           const std::string &weight) {
  WeightSource source{nullptr, findWeight(shape, weight)};
  std::string name = prefix + weight + ".weight";
  source.tensor = file.findTensor(name);
  if (!source.tensor)
    return Error{"expected a tensor " + quoted(name) + ", got none", {}};
  std::vector<std::int64_t> sizes = {source.shape.outputs};
  if (source.shape.inputs > 0)
    sizes.push_back(source.shape.inputs);
  if (source.tensor->sizes != sizes)
    return Error{"tensor " + quoted(name) + ": expected sizes " +
                     textOf(sizes) + ", got " + textOf(source.tensor->sizes),
                 {}};
  return source;
}

/// Adds a vector to the weights of a kernel.
static Status addVector(const WeightSource &source, KernelWeights &weights) {
  std::vector<float> &vector =
      weights.vectors.emplace_back(std::size_t(source.shape.outputs));
  gguf::dequantizeRow(*source.tensor, 0, vector);
  weights.views.emplace_back(static_cast<const float *>(vector.data()),
                             source.tensor->sizes);
  return checkFinite(vector);
}

static std::size_t linesOf(const Panels::Sizes &sizes, attn::ElementType type) {
  return PanelMemory::linesOf(std::array{sizes.outputs, sizes.inputs}, type);
}

/// Adds a matrix and its scales, in the next lines of memory.
static Status addMatrix(const WeightSource &source, const ModelShape &shape,
                        const Panels::Sizes &padded, attn::ElementType type,
                        std::span<PanelMemory::Line> &free,
                        KernelWeights &weights) {
  std::optional<RotaryPairs> pairs;
  if (source.shape.isRotated)
    pairs = {.headSize = shape.headSize, .rotarySize = shape.rotarySize};
  std::size_t lines = linesOf(padded, type);
  Expected<Panels> panels =
      Panels::create(*source.tensor, type, free.first(lines), pairs, padded);
  if (!panels)
    return panels.error();
  free = free.subspan(lines);
  weights.panels.push_back(std::move(*panels));
  weights.views.push_back(weights.panels.back().view());
  weights.views.push_back(weights.panels.back().scalesView());
  return {};
}

/// The weights of these names, and matrices as panels of a type, of the sizes
/// that they have in a model of the shape `padded`.
static Expected<KernelWeights>
loadWeights(const gguf::File &file, const ModelShape &shape,
            const ModelShape &padded, const std::string &prefix,
            const std::vector<std::string> &names, attn::ElementType type) {
  std::vector<WeightSource> sources;
  std::vector<Panels::Sizes> sizes;
  std::size_t lines = 0;
  for (const std::string &name : names) {
    Expected<WeightSource> source = findSource(file, shape, prefix, name);
    if (!source)
      return source.error();
    WeightShape ofKernel = findWeight(padded, name);
    sizes.push_back({ofKernel.outputs, ofKernel.inputs});
    if (source->shape.inputs > 0)
      lines += linesOf(sizes.back(), type);
    sources.push_back(*source);
  }
  KernelWeights weights;
  Expected<PanelMemory> memory = PanelMemory::create(lines);
  if (!memory)
    return memory.error();
  weights.memory = std::move(*memory);
  std::span<PanelMemory::Line> free = weights.memory.lines();
  for (std::size_t i = 0; i < names.size(); ++i) {
    bool isMatrix = sources[i].shape.inputs > 0;
    Status status =
        isMatrix ? addMatrix(sources[i], shape, sizes[i], type, free, weights)
                 : addVector(sources[i], weights);
    if (!status)
      return Error{"tensor " + quoted(prefix + names[i] + ".weight") + ": " +
                       status.error().message,
                   {}};
  }
  return weights;
}

/// Keeps what a rank has of a layer's weights.
static Status keepPart(const Kernels &kernels, KernelWeights &weights) {
  // Rows come first.
  auto shardOf = [&](std::size_t view) -> const attn::Shard & {
    return kernels.ofRank->arguments[view + 1];
  };
  auto describe = [&](std::size_t view, void *data) {
    const attn::TensorView &whole = weights.views[view];
    return attn::TensorView(
        data, whole.type(),
        kernels.ofRank->partSizes(shardOf(view), whole, kernels.rank),
        /*readOnly=*/false);
  };
  auto linesOfPart = [&](std::size_t view) {
    std::size_t bytes = attn::sizeOf(weights.views[view].type());
    for (std::int64_t size : describe(view, nullptr).sizes())
      bytes *= std::size_t(size);
    return (bytes + sizeof(PanelMemory::Line) - 1) / sizeof(PanelMemory::Line);
  };
  std::size_t lines = 0;
  for (std::size_t i = 0; i < weights.views.size(); ++i)
    lines += linesOfPart(i);
  Expected<PanelMemory> memory = PanelMemory::create(lines);
  if (!memory)
    return memory.error();
  std::span<PanelMemory::Line> free = memory->lines();
  std::vector<attn::TensorView> parts;
  for (std::size_t i = 0; i < weights.views.size(); ++i) {
    attn::TensorView part = describe(i, free.data());
    kernels.ofRank->copyPart(shardOf(i), weights.views[i], kernels.rank, part);
    free = free.subspan(linesOfPart(i));
    parts.emplace_back(part.data(), part.type(), part.sizes(),
                       /*readOnly=*/true);
  }
  weights = {std::move(*memory), {}, {}, std::move(parts)};
  return {};
}

/// The names of a kernel's weights, in the order of its arguments, and the type
/// of its matrices.
static std::pair<std::vector<std::string>, attn::ElementType>
listWeights(const attn::Kernel &kernel) {
  std::pair<std::vector<std::string>, attn::ElementType> result;
  for (const Parameter &argument : kernel.signature().arguments)
    if (isWeight(argument) && !argument.name.ends_with("_scales")) {
      result.first.push_back(argument.name);
      if (argument.shape.size() > 1)
        result.second = argument.type;
    }
  return result;
}

namespace {
/// Weights that are loaded by themselves.
struct Part {
  KernelWeights *weights;
  std::string prefix;
  const std::vector<std::string> *names;
  bool isOfLayer = false;
};
} // namespace

/// Loads parts, in any order, with all processors.
static Status loadParts(const gguf::File &file, const ModelShape &shape,
                        const Kernels &kernels, const std::vector<Part> &parts,
                        attn::ElementType type) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex; // Guards `failure`.
  Status failure;
  auto work = [&] {
    for (std::size_t i; (i = next++) < parts.size();) {
      const Part &part = parts[i];
      Expected<KernelWeights> loaded = loadWeights(
          file, shape, kernels.shape, part.prefix, *part.names, type);
      if (loaded && part.isOfLayer && kernels.ofRank)
        if (Status status = keepPart(kernels, *loaded); !status)
          loaded = status.error();
      if (!loaded) {
        std::lock_guard lock(mutex);
        if (failure)
          failure = loaded.error();
        return;
      }
      *part.weights = std::move(*loaded);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
      threads.emplace_back(work);
    work();
  }
  return failure;
}

Expected<ModelWeights> ModelWeights::load(const gguf::File &file,
                                          const ModelShape &shape,
                                          const Kernels &kernels) {
  ModelWeights weights;
  weights.shape = shape;
  weights.layers.resize(std::size_t(shape.layers));
  auto [ofLayer, type] = listWeights(kernels.layer);
  std::vector<std::string> ofLogits = listWeights(kernels.logits).first,
                           ofTokens = {"token_embd"};
  // What is not of a layer comes first, as it takes longest.
  std::vector<Part> parts = {{&weights.logits, "", &ofLogits}};
  if (shape.isTied)
    std::ranges::replace(ofLogits, std::string("output"), ofTokens[0]);
  else
    parts.push_back({&weights.untied.emplace(), "", &ofTokens});
  for (std::size_t i = 0; i < weights.layers.size(); ++i)
    parts.push_back(
        {&weights.layers[i], "blk." + std::to_string(i) + ".", &ofLayer, true});
  if (Status status = loadParts(file, shape, kernels, parts, type); !status)
    return status.error();
  return weights;
}
