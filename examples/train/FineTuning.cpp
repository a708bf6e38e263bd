//===- FineTuning.cpp - Trains the layers of a model ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/train/FineTuning.h"

#include "examples/gguf/Message.h"
#include "examples/gguf/Rows.h"
#include "examples/smollm2/Kernels.h"
#include "examples/smollm2/ModelWeights.h"
#include "examples/smollm2/Panels.h"
#include "examples/train/FineTuningText.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

using namespace finetune;
using attn::Argument;
using attn::Error;
using attn::Expected;
using attn::Kernel;
using attn::Parameter;
using attn::Status;
using attn::TensorView;

static std::size_t countOf(std::span<const std::int64_t> sizes) {
  return std::size_t(std::accumulate(sizes.begin(), sizes.end(),
                                     std::int64_t(1), std::multiplies<>()));
}

Tensor::Tensor(std::vector<std::int64_t> sizes)
    : sizes(std::move(sizes)), elements(countOf(this->sizes)) {}

static TensorView viewOf(std::vector<float> &list) {
  return {list.data(), std::array{std::int64_t(list.size())}};
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static std::string fillText(const smollm2::ModelShape &shape,
                            std::int64_t batch, std::int64_t length) {
  std::string text = smollm2::fillSizes(
      kernelsText, shape,
      {{"batch", batch}, {"length", length}, {"tokens", batch * length}});
  const std::string_view name = "{epsilon}";
  char epsilon[32];
  std::snprintf(epsilon, sizeof(epsilon), "%.9e", shape.epsilon);
  return text.replace(text.find(name), name.size(), epsilon);
}

Expected<FineTuning> FineTuning::create(const attn::Engine &engine,
                                        const smollm2::ModelShape &shape,
                                        std::int64_t batch,
                                        std::int64_t length) {
  if (!shape.isTied)
    return Error{"expected a model whose embeddings are the weight of its "
                 "logits, too",
                 {}};
  if (batch < 1 || length < 1 || length > shape.context)
    return Error{"expected 1 to " + std::to_string(shape.context) +
                     " tokens of at least 1 text, got " +
                     std::to_string(length) + " of " + std::to_string(batch),
                 {}};
  std::string text = fillText(shape, batch, length);
  auto compile = [&](const char *entry) {
    return engine.compile(text, {.entry = entry, .fileName = "finetune.mlir"});
  };
  auto compileGradient =
      [&](attn::GradientOptions options) -> Expected<Kernel> {
    options.fileName = "finetune.mlir";
    Expected<std::string> gradient = attn::differentiate(text, options);
    if (!gradient)
      return gradient.error();
    return engine.compile(*gradient, {.fileName = "finetune.mlir"});
  };
  Expected<Kernel> layer = compile("layer");
  if (!layer)
    return layer.error();
  // Of the tokens and all weights, which begin the arguments.
  std::vector<std::string> of = {"x"};
  for (const Parameter &argument : layer->signature().arguments)
    if (smollm2::findWeight(shape, argument.name).outputs > 0)
      of.push_back(argument.name);
  Expected<Kernel> ofLayer = compileGradient(
      {.of = of, .results = {0}, .saved = true, .entry = "layer"});
  if (!ofLayer)
    return ofLayer.error();
  Expected<Kernel> norm = compile("norm");
  if (!norm)
    return norm.error();
  Expected<Kernel> ofNorm = compileGradient({.of = {"x"}, .entry = "norm"});
  if (!ofNorm)
    return ofNorm.error();
  Expected<Kernel> loss = compile("loss");
  if (!loss)
    return loss.error();
  Expected<Kernel> update = compile("update");
  if (!update)
    return update.error();
  return FineTuning({*layer, *ofLayer, *norm, *ofNorm, *loss, *update}, shape);
}

/// Sizes of an argument, which are static.
static std::vector<std::int64_t> sizesOf(const Kernel &kernel,
                                         std::string_view name) {
  return std::ranges::find(kernel.signature().arguments, name, &Parameter::name)
      ->shape;
}

FineTuning::FineTuning(Kernels given, const smollm2::ModelShape &shape)
    : kernels(std::move(given)), shape(shape),
      layers(std::size_t(shape.layers)),
      embedding({shape.vocabulary, shape.width}), norm({shape.width}),
      cosine(sizesOf(kernels.layer, "cosine")), sine(cosine.sizes),
      tokens(sizesOf(kernels.layer, "x")),
      following(sizesOf(kernels.loss, "following")), normed(tokens.sizes),
      losses(kernels.loss.signature().results[0].shape), gradient(tokens.sizes),
      nextGradient(tokens.sizes) {
  std::size_t end = 0;
  for (const Parameter &argument : kernels.layer.signature().arguments)
    if (smollm2::findWeight(shape, argument.name).outputs > 0) {
      places.push_back(
          {argument.name, argument.shape, end, countOf(argument.shape)});
      end += places.back().count;
    }
  for (Layer &layer : layers) {
    for (std::vector<float> *list :
         {&layer.weights, &layer.gradients, &layer.means, &layer.squares})
      list->resize(end);
    for (const Parameter &result : kernels.layer.signature().results)
      layer.saved.emplace_back(result.shape);
  }
  std::int64_t pairs = cosine.sizes[1];
  for (std::size_t i = 0; i < cosine.elements.size(); ++i) {
    auto position = double(std::int64_t(i) / pairs),
         pair = double(std::int64_t(i) % pairs);
    double angle = position * std::pow(shape.rotaryBase, -pair / double(pairs));
    cosine.elements[i] = float(std::cos(angle));
    sine.elements[i] = float(std::sin(angle));
  }
}

/// Dequantises a weight, transposed where it is a matrix that is multiplied by.
static Status loadInto(const gguf::File &file, const smollm2::ModelShape &shape,
                       const std::string &prefix, std::string_view name,
                       bool isTransposed, std::span<float> result) {
  Expected<smollm2::WeightSource> source =
      smollm2::findSource(file, shape, prefix, std::string(name));
  if (!source)
    return source.error();
  const gguf::Tensor &tensor = *source->tensor;
  auto rows = std::size_t(tensor.sizes.size() > 1 ? tensor.sizes[0] : 1),
       columns = std::size_t(tensor.sizes.back());
  std::vector<float> row(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    gguf::dequantizeRow(tensor, std::int64_t(i), row);
    if (Status status = smollm2::checkFinite(row); !status)
      return Error{"tensor " +
                       gguf::quoted(prefix + std::string(name) + ".weight") +
                       ": " + status.error().message,
                   {}};
    for (std::size_t j = 0; j < columns; ++j)
      result[isTransposed ? j * rows + i : i * columns + j] = row[j];
  }
  return {};
}

Status FineTuning::load(const gguf::File &file) {
  for (std::int64_t layer = 0; layer < numLayers(); ++layer)
    for (const Place &place : places)
      if (Status status = loadInto(
              file, shape, "blk." + std::to_string(layer) + ".", place.name,
              place.sizes.size() > 1, weight(layer, place.name));
          !status)
        return status;
  if (Status status = loadInto(file, shape, "", "token_embd",
                               /*isTransposed=*/false, embedding.elements);
      !status)
    return status;
  return loadInto(file, shape, "", "output_norm", /*isTransposed=*/false,
                  norm.elements);
}

std::vector<std::string_view> FineTuning::weightNames() const {
  std::vector<std::string_view> names;
  for (const Place &place : places)
    names.push_back(place.name);
  return names;
}

const FineTuning::Place &FineTuning::find(std::string_view name) const {
  return *std::ranges::find(places, name, &Place::name);
}

std::span<float> FineTuning::weight(std::int64_t layer, std::string_view name) {
  const Place &place = find(name);
  return std::span(layers[std::size_t(layer)].weights)
      .subspan(place.begin, place.count);
}

std::span<const float> FineTuning::gradientOf(std::int64_t layer,
                                              std::string_view name) const {
  const Place &place = find(name);
  return std::span(layers[std::size_t(layer)].gradients)
      .subspan(place.begin, place.count);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status FineTuning::check(std::span<const std::int32_t> given) const {
  std::size_t expected =
      std::size_t(tokens.sizes[0]) * std::size_t(tokens.sizes[1] + 1);
  if (given.size() != expected)
    return Error{"expected " + std::to_string(expected) + " tokens, got " +
                     std::to_string(given.size()),
                 {}};
  for (std::int32_t token : given)
    if (token < 0 || token >= shape.vocabulary)
      return Error{"expected tokens from 0 to " +
                       std::to_string(shape.vocabulary - 1) + ", got " +
                       std::to_string(token),
                   {}};
  return {};
}

void FineTuning::embed(std::span<const std::int32_t> given) {
  auto width = std::size_t(shape.width), length = std::size_t(tokens.sizes[1]);
  float *read = tokens.elements.data(), *next = following.elements.data();
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto row = std::span(embedding.elements)
                   .subspan(std::size_t(given[i]) * width, width);
    std::size_t position = i % (length + 1);
    if (position < length)
      read = std::ranges::copy(row, read).out;
    if (position > 0)
      next = std::ranges::copy(row, next).out;
  }
}

std::vector<Argument> FineTuning::argumentsOf(std::size_t number) {
  Layer &layer = layers[number];
  Tensor &x = number == 0 ? tokens : layers[number - 1].saved[0];
  std::vector<Argument> arguments = {x.view()};
  for (const Place &place : places)
    arguments.emplace_back(
        TensorView(layer.weights.data() + place.begin, place.sizes));
  arguments.emplace_back(cosine.view());
  arguments.emplace_back(sine.view());
  return arguments;
}

Status FineTuning::runForward() {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::vector<TensorView> results;
    for (Tensor &tensor : layers[i].saved)
      results.push_back(tensor.view());
    if (Status status = kernels.layer.run(argumentsOf(i), results); !status)
      return status;
  }
  return {};
}

/// From the gradient of what the last layer gave to that of the first one's
/// weights.
Status FineTuning::runBackward() {
  for (std::size_t i = layers.size(); i-- > 0;) {
    std::vector<Argument> arguments = argumentsOf(i);
    for (Tensor &tensor : layers[i].saved)
      arguments.emplace_back(tensor.view());
    arguments.emplace_back(gradient.view());
    std::vector<TensorView> results = {nextGradient.view()};
    for (const Place &place : places)
      results.emplace_back(layers[i].gradients.data() + place.begin,
                           place.sizes);
    if (Status status = kernels.ofLayer.run(arguments, results); !status)
      return status;
    std::swap(gradient.elements, nextGradient.elements);
  }
  return {};
}

Expected<double>
FineTuning::computeGradients(std::span<const std::int32_t> given) {
  if (Status status = check(given); !status)
    return status.error();
  embed(given);
  if (Status status = runForward(); !status)
    return status.error();
  TensorView x = layers.back().saved[0].view();
  const Argument ofNorm[] = {x, norm.view()};
  const TensorView ofNormResults[] = {normed.view()};
  if (Status status = kernels.norm.run(ofNorm, ofNormResults); !status)
    return status.error();
  const std::int64_t sizes[] = {1, 1, shape.vocabulary, shape.width};
  const Argument ofLoss[] = {normed.view(),
                             TensorView(embedding.elements.data(), sizes),
                             following.view()};
  const TensorView ofLossResults[] = {losses.view(), nextGradient.view()};
  if (Status status = kernels.loss.run(ofLoss, ofLossResults); !status)
    return status.error();
  const Argument backward[] = {x, norm.view(), nextGradient.view()};
  const TensorView backwardResults[] = {gradient.view()};
  if (Status status = kernels.ofNorm.run(backward, backwardResults); !status)
    return status.error();
  if (Status status = runBackward(); !status)
    return status.error();
  return std::accumulate(losses.elements.begin(), losses.elements.end(), 0.0) /
         double(losses.elements.size());
}

Status FineTuning::update(double rate) {
  ++step;
  double ofMean = 1 - std::pow(0.9, step), ofSquare = 1 - std::pow(0.999, step);
  for (Layer &layer : layers) {
    TensorView weights = viewOf(layer.weights), means = viewOf(layer.means),
               squares = viewOf(layer.squares);
    const Argument arguments[] = {
        weights, means,  squares, viewOf(layer.gradients),
        rate,    ofMean, ofSquare};
    const TensorView results[] = {weights, means, squares};
    if (Status status = kernels.update.run(arguments, results); !status)
      return status;
  }
  return {};
}
