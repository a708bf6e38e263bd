//===- ModelShape.cpp - The sizes of a model ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/ModelShape.h"

#include "examples/gguf/Message.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using attn::Status;
using gguf::quoted;

WeightShape smollm2::findWeight(const ModelShape &shape,
                                std::string_view name) {
  std::int64_t width = shape.width, hidden = shape.hidden,
               queries = shape.heads * shape.headSize,
               keys = shape.keyHeads * shape.headSize;
  const std::pair<std::string_view, WeightShape> weights[] = {
      {"attn_norm", {width}},
      {"attn_q", {queries, width, true}},
      {"attn_k", {keys, width, true}},
      {"attn_v", {keys, width}},
      {"attn_output", {width, queries}},
      {"ffn_norm", {width}},
      {"ffn_gate", {hidden, width}},
      {"ffn_up", {hidden, width}},
      {"ffn_down", {width, hidden}},
      {"output_norm", {width}},
      {"output", {shape.vocabulary, width}},
      {"token_embd", {shape.vocabulary, width}}};
  const auto *found = std::ranges::find(
      weights, name, &std::pair<std::string_view, WeightShape>::first);
  return found == std::end(weights) ? WeightShape() : found->second;
}

namespace {
/// Reads the metadata of one file. The first error stays.
class Reader {
public:
  explicit Reader(const gguf::File &file) : file(file) {}

  /// An integer from 1 to `most`; `otherwise` if it is not there, where that is
  /// a number.
  std::int64_t size(const char *key, std::int64_t most,
                    std::optional<std::int64_t> otherwise = {}) {
    if (otherwise && !file.has(key))
      return *otherwise;
    Expected<std::int64_t> value = file.integer(key);
    if (!value)
      return fail(value.error());
    if (*value < 1 || *value > most)
      return fail({quoted(key) + ": expected 1 to " + std::to_string(most) +
                       ", got " + std::to_string(*value),
                   {}});
    return *value;
  }

  /// A positive number.
  double number(const char *key, std::optional<double> otherwise = {}) {
    if (otherwise && !file.has(key))
      return *otherwise;
    Expected<double> value = file.real(key);
    if (!value)
      return double(fail(value.error()));
    if (!std::isfinite(*value) || *value <= 0)
      return double(fail({quoted(key) + ": expected a number above 0, got " +
                              std::to_string(*value),
                          {}}));
    return *value;
  }

  /// Returns 1, which is a size.
  std::int64_t fail(Error error) {
    if (!failure)
      failure = std::move(error);
    return 1;
  }

  std::optional<Error> failure;

private:
  const gguf::File &file;
};
} // namespace

/// That the metadata says nothing that the kernels do not do.
static void checkKeys(const gguf::File &file, Reader &reader) {
  static const std::string_view known[] = {"attention.head_count",
                                           "attention.head_count_kv",
                                           "attention.key_length",
                                           "attention.layer_norm_rms_epsilon",
                                           "attention.value_length",
                                           "block_count",
                                           "context_length",
                                           "embedding_length",
                                           "expert_count",
                                           "expert_used_count",
                                           "feed_forward_length",
                                           "rope.dimension_count",
                                           "rope.freq_base",
                                           "rope.scaling.type",
                                           "vocab_size"};
  constexpr std::string_view prefix = "llama.";
  for (std::string_view key : file.keys())
    if (key.starts_with(prefix) &&
        std::ranges::find(known, key.substr(prefix.size())) == std::end(known))
      reader.fail({quoted(key) + " is not supported", {}});
  for (const char *key : {"llama.expert_count", "llama.expert_used_count"})
    if (Expected<std::int64_t> count = file.integer(key);
        file.has(key) && (!count || *count != 0))
      reader.fail({quoted(key) + ": experts are not supported", {}});
  const char *scaling = "llama.rope.scaling.type";
  if (Expected<std::string_view> type = file.text(scaling);
      file.has(scaling) && (!type || *type != "none"))
    reader.fail({quoted(scaling) + ": expected 'none', got " +
                     (type ? quoted(*type) : "no text"),
                 {}});
}

/// That the file has no tensors but those of the model, such as biases.
static void checkTensors(const gguf::File &file, Reader &reader) {
  using Names = std::vector<std::string_view>;
  static const Names ofLayers = {"attn_norm", "attn_q",      "attn_k",
                                 "attn_v",    "attn_output", "ffn_norm",
                                 "ffn_gate",  "ffn_up",      "ffn_down"},
                     others = {"token_embd", "output_norm", "output"};
  constexpr std::string_view suffix = ".weight", layer = "blk.";
  for (const auto &[full, tensor] : file.tensors()) {
    std::string_view name = full;
    bool isOfLayer = name.starts_with(layer);
    if (isOfLayer) // "blk.12.attn_q.weight"
      name.remove_prefix(
          std::min(name.find('.', layer.size()), name.size() - 1) + 1);
    bool isWeight = name.ends_with(suffix);
    if (isWeight)
      name.remove_suffix(suffix.size());
    const Names &names = isOfLayer ? ofLayers : others;
    if (!isWeight || std::ranges::find(names, name) == names.end())
      reader.fail({"tensor " + quoted(full) + " is not supported", {}});
  }
}

Expected<ModelShape> ModelShape::read(const gguf::File &file) {
  Expected<std::string_view> kind = file.text("general.architecture");
  if (!kind)
    return kind.error();
  if (*kind != "llama")
    return Error{
        "'general.architecture': expected 'llama', got " + quoted(*kind), {}};
  Reader reader(file);
  checkKeys(file, reader);
  checkTensors(file, reader);
  // Beyond what models of this kind have, and small enough for every product.
  constexpr std::int64_t most = 1 << 20, mostHeads = 1 << 12;
  ModelShape shape;
  shape.context = reader.size("llama.context_length", most);
  shape.layers =
      reader.size("llama.block_count", std::int64_t(file.tensors().size()));
  shape.width = reader.size("llama.embedding_length", most);
  shape.hidden = reader.size("llama.feed_forward_length", most);
  shape.heads = reader.size("llama.attention.head_count", mostHeads);
  shape.keyHeads =
      reader.size("llama.attention.head_count_kv", mostHeads, shape.heads);
  shape.headSize =
      reader.size("llama.attention.key_length", mostHeads,
                  std::max<std::int64_t>(1, shape.width / shape.heads));
  std::int64_t valueSize =
      reader.size("llama.attention.value_length", mostHeads, shape.headSize);
  shape.rotarySize =
      reader.size("llama.rope.dimension_count", mostHeads, shape.headSize);
  shape.epsilon = reader.number("llama.attention.layer_norm_rms_epsilon");
  shape.rotaryBase = reader.number("llama.rope.freq_base", 10000.0);
  shape.isTied = !file.findTensor("output.weight");
  const gguf::Tensor *embeddings = file.findTensor("token_embd.weight");
  if (!embeddings || embeddings->sizes.size() != 2)
    reader.fail({"expected a matrix 'token_embd.weight', got none", {}});
  else
    shape.vocabulary = embeddings->sizes[0];
  if (reader.failure)
    return std::move(*reader.failure);

  auto expect = [&](bool holds, const char *key, const std::string &expected,
                    std::int64_t got) {
    if (!holds)
      reader.fail({quoted(key) + ": expected " + expected + ", got " +
                       std::to_string(got),
                   {}});
  };
  expect(shape.heads % shape.keyHeads == 0, "llama.attention.head_count_kv",
         "a divisor of " + std::to_string(shape.heads), shape.keyHeads);
  expect(valueSize == shape.headSize, "llama.attention.value_length",
         std::to_string(shape.headSize) + ", as keys have", valueSize);
  expect(shape.rotarySize % 2 == 0 && shape.rotarySize <= shape.headSize,
         "llama.rope.dimension_count",
         "an even number up to " + std::to_string(shape.headSize),
         shape.rotarySize);
  // Weights are read in pairs of inputs.
  expect(shape.width % 2 == 0, "llama.embedding_length", "an even number",
         shape.width);
  expect(shape.hidden % 2 == 0, "llama.feed_forward_length", "an even number",
         shape.hidden);
  expect(shape.heads * shape.headSize % 2 == 0, "llama.attention.head_count",
         "heads of an even number of elements", shape.heads);
  if (reader.failure)
    return std::move(*reader.failure);
  return shape;
}
