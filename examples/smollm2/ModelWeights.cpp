//===- ModelWeights.cpp - A file's weights as arguments of kernels --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/ModelWeights.h"

#include "examples/gguf/Message.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using attn::Parameter;
using attn::Status;
using attn::TensorView;

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

/// The sizes of the tensor of a file that an argument is made of.
static std::vector<std::int64_t> fileSizes(const Parameter &argument) {
  std::vector<std::int64_t> sizes = argument.shape;
  if (sizes.size() > 1) // Of panels.
    sizes = {sizes[0] * sizes[2],
             sizes[1] * (sizes.size() == 4 ? sizes[3] : 1)};
  return sizes;
}

/// Memory for all panels of a kernel.
static Expected<PanelMemory> allocatePanels(const attn::Kernel &kernel) {
  std::size_t lines = 0;
  for (const Parameter &argument : kernel.signature().arguments)
    if (isWeight(argument) && argument.shape.size() > 1)
      lines += PanelMemory::linesOf(fileSizes(argument), argument.type);
  return PanelMemory::create(lines);
}

/// A kernel's weights from the tensors `prefix` + argument + ".weight".
static Expected<KernelWeights> loadKernel(const gguf::File &file,
                                          const attn::Kernel &kernel,
                                          const std::string &prefix) {
  KernelWeights weights;
  Expected<PanelMemory> memory = allocatePanels(kernel);
  if (!memory)
    return memory.error();
  weights.memory = std::move(*memory);
  std::span<PanelMemory::Line> free = weights.memory.lines();
  for (const Parameter &argument : kernel.signature().arguments) {
    if (!isWeight(argument))
      continue;
    if (argument.name.ends_with("_scales")) {
      weights.views.push_back(weights.panels.back().scalesView());
      continue;
    }
    std::string name = prefix + argument.name + ".weight";
    const gguf::Tensor *tensor = file.findTensor(name);
    if (!tensor)
      return Error{"expected a tensor " + gguf::quoted(name) + ", got none",
                   {}};
    std::vector<std::int64_t> sizes = fileSizes(argument);
    if (tensor->sizes != sizes)
      return Error{"tensor " + gguf::quoted(name) + ": expected sizes " +
                       textOf(sizes) + ", got " + textOf(tensor->sizes),
                   {}};
    if (sizes.size() == 1) {
      std::vector<float> &vector =
          weights.vectors.emplace_back(std::size_t(sizes[0]));
      dequantizeRow(*tensor, 0, vector);
      if (Status status = checkFinite(vector); !status)
        return Error{
            "tensor " + gguf::quoted(name) + ": " + status.error().message, {}};
      weights.views.emplace_back(static_cast<const float *>(vector.data()),
                                 argument.shape);
      continue;
    }
    bool isRotated = argument.name == "attn_q" || argument.name == "attn_k";
    std::size_t lines = PanelMemory::linesOf(sizes, argument.type);
    Expected<Panels> panels =
        Panels::create(*tensor, argument.type, free.first(lines),
                       isRotated ? RowOrder::pairs : RowOrder::plain);
    if (!panels)
      return Error{
          "tensor " + gguf::quoted(name) + ": " + panels.error().message, {}};
    free = free.subspan(lines);
    weights.views.push_back(panels->view());
    weights.panels.push_back(std::move(*panels));
  }
  return weights;
}

/// That an integer of the metadata is what the kernels were written for.
static Status expect(const gguf::File &file, const char *key,
                     std::int64_t expected) {
  Expected<std::int64_t> value = file.integer(key);
  if (!value)
    return value.error();
  if (*value != expected)
    return Error{gguf::quoted(key) + ": expected " + std::to_string(expected) +
                     ", got " + std::to_string(*value),
                 {}};
  return {};
}

/// A positive number of the metadata.
static Status readNumber(const gguf::File &file, const char *key,
                         double &number) {
  Expected<double> value = file.real(key);
  if (!value)
    return value.error();
  if (!std::isfinite(*value) || *value <= 0)
    return Error{gguf::quoted(key) + ": expected a number above 0, got " +
                     std::to_string(*value),
                 {}};
  number = *value;
  return {};
}

/// Heads of a projection of the layer.
static std::int64_t headsOf(const Kernels &kernels, std::string_view name) {
  auto &arguments = kernels.layer.signature().arguments;
  auto &shape = std::ranges::find(arguments, name, &Parameter::name)->shape;
  return shape[0] * shape[2] / headSize;
}

Expected<std::int64_t> smollm2::readContext(const gguf::File &file) {
  Expected<std::string_view> kind = file.text("general.architecture");
  if (!kind)
    return kind.error();
  if (*kind != "llama")
    return Error{"'general.architecture': expected 'llama', got " +
                     gguf::quoted(*kind),
                 {}};
  // Of each position, tables have two rows of 128 bytes.
  constexpr std::int64_t most = 1 << 20;
  Expected<std::int64_t> context = file.integer("llama.context_length");
  if (context && (*context < 1 || *context > most))
    return Error{"'llama.context_length': expected 1 to " +
                     std::to_string(most) + ", got " + std::to_string(*context),
                 {}};
  return context;
}

static Status readSettings(const gguf::File &file, const Kernels &kernels,
                           ModelWeights &weights) {
  Expected<std::int64_t> context = readContext(file);
  if (!context)
    return context.error();
  weights.context = *context;
  weights.keyValueHeads = headsOf(kernels, "attn_k");
  const std::pair<const char *, std::int64_t> expected[] = {
      {"llama.attention.head_count", headsOf(kernels, "attn_q")},
      {"llama.attention.head_count_kv", weights.keyValueHeads},
      {"llama.rope.dimension_count", headSize}};
  for (auto [key, value] : expected)
    if (Status status = expect(file, key, value); !status)
      return status;
  if (Status status = readNumber(file, "llama.attention.layer_norm_rms_epsilon",
                                 weights.epsilon);
      !status)
    return status;
  if (Status status =
          readNumber(file, "llama.rope.freq_base", weights.rotaryBase);
      !status)
    return status;
  return {};
}

Expected<ModelWeights> ModelWeights::load(const gguf::File &file,
                                          const Kernels &kernels) {
  ModelWeights weights;
  if (Status status = readSettings(file, kernels, weights); !status)
    return status.error();
  Expected<std::int64_t> layers = file.integer("llama.block_count");
  if (!layers)
    return layers.error();
  // Each has tensors of its own.
  if (*layers < 1 || std::uint64_t(*layers) > file.tensors().size())
    return Error{"'llama.block_count': expected 1 to " +
                     std::to_string(file.tensors().size()) + " layers, got " +
                     std::to_string(*layers),
                 {}};
  weights.layers.resize(std::size_t(*layers));

  // Layers, and the rest as one more, in any order.
  std::atomic<std::size_t> next = 0;
  std::mutex mutex; // Guards `failure`.
  std::optional<Error> failure;
  auto work = [&] {
    for (std::size_t i; (i = next++) <= weights.layers.size();) {
      bool isLayer = i > 0; // The rest takes longest.
      Expected<KernelWeights> loaded =
          isLayer ? loadKernel(file, kernels.layer,
                               "blk." + std::to_string(i - 1) + ".")
                  : loadKernel(file, kernels.logits, "");
      if (!loaded) {
        std::lock_guard lock(mutex);
        if (!failure)
          failure = loaded.error();
        return;
      }
      (isLayer ? weights.layers[i - 1] : weights.logits) = std::move(*loaded);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
      threads.emplace_back(work);
    work();
  }
  if (failure)
    return *failure;
  return weights;
}
