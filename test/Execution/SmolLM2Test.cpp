//===- SmolLM2Test.cpp - A real model continues text ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// examples/smollm2 is held to the tokens that its reference.py stored, if the
// weights are there (scripts/fetch-model.sh). What one layer's attention read
// and returned is in the tree, and its attention always held to that.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "examples/bpe/Tokenizer.h"
#include "examples/smollm2/Model.h"
#include "examples/smollm2/Sampler.h"
#include "runtime/Npy/Npy.h"
#include "test/Unit/GgufTesting.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

using namespace smollm2;
using namespace attn;

static const std::string folder = ATTN_SOURCE_DIR "/examples/smollm2/";

static std::string readText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

namespace {

/// A prompt and what follows, of reference/tokens.json.
struct Reference {
  std::string prompt;
  std::vector<std::int32_t> promptTokens, tokens;
};

class SmolLM2 : public testing::Test {
protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(ATTN_SMOLLM2_MODEL))
      return;
    Expected<gguf::File> read = gguf::File::read(ATTN_SMOLLM2_MODEL);
    ASSERT_TRUE(read) << read.error().message;
    file.emplace(*read);
    Expected<Engine> engine = Engine::create();
    ASSERT_TRUE(engine) << engine.error().message;
    Expected<Kernels> compiled = Kernels::compile(*engine);
    ASSERT_TRUE(compiled) << compiled.error().message;
    kernels.emplace(*compiled);
    Expected<ModelWeights> loaded = ModelWeights::load(*file, *kernels);
    ASSERT_TRUE(loaded) << loaded.error().message;
    weights = std::make_shared<const ModelWeights>(std::move(*loaded));
  }
  static void TearDownTestSuite() {
    file.reset();
    kernels.reset();
    weights.reset();
  }

  void SetUp() override {
    if (!file)
      GTEST_SKIP() << "tokens are not compared: there is no "
                   << ATTN_SMOLLM2_MODEL
                   << "; scripts/fetch-model.sh fetches it";
    ASSERT_TRUE(weights);
  }

  static std::vector<Reference> references() {
    auto parsed = llvm::json::parse(readText(folder + "reference/tokens.json"));
    if (!parsed) {
      ADD_FAILURE() << llvm::toString(parsed.takeError());
      return {};
    }
    auto numbers = [](const llvm::json::Object &object, const char *key) {
      std::vector<std::int32_t> result;
      for (const llvm::json::Value &number : *object.getArray(key))
        result.push_back(std::int32_t(*number.getAsInteger()));
      return result;
    };
    std::vector<Reference> result;
    for (const llvm::json::Value &entry : *parsed->getAsArray()) {
      const llvm::json::Object &object = *entry.getAsObject();
      result.push_back({object.getString("prompt")->str(),
                        numbers(object, "prompt_tokens"),
                        numbers(object, "tokens")});
    }
    return result;
  }

  static std::optional<gguf::File> file;
  static std::optional<Kernels> kernels;
  static std::shared_ptr<const ModelWeights> weights;
};

std::optional<gguf::File> SmolLM2::file;
std::optional<Kernels> SmolLM2::kernels;
std::shared_ptr<const ModelWeights> SmolLM2::weights;

} // namespace

TEST_F(SmolLM2, Tokens) {
  Expected<bpe::Tokenizer> tokenizer = bpe::Tokenizer::create(*file);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (const Reference &reference : references()) {
    Expected<std::vector<std::int32_t>> tokens =
        tokenizer->encode(reference.prompt);
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ(*tokens, reference.promptTokens) << reference.prompt;
  }
}

/// 32 tokens of each prompt; ATTN_SMOLLM2_TOKENS says another number.
TEST_F(SmolLM2, Continues) {
  const char *given = std::getenv("ATTN_SMOLLM2_TOKENS");
  std::size_t most = given ? std::strtoul(given, nullptr, 10) : 32;
  std::vector<Reference> all = references();
  ASSERT_EQ(all.size(), 5u);
  for (const Reference &reference : all) {
    Expected<Model> model = Model::create(*kernels, weights, 512);
    ASSERT_TRUE(model) << model.error().message;
    Expected<std::span<const float>> logits =
        model->read(reference.promptTokens);
    std::size_t count = std::min(most, reference.tokens.size());
    ASSERT_GE(count, std::min<std::size_t>(most, 30));
    Sampler sampler(/*temperature=*/0, /*seed=*/0);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(logits) << logits.error().message;
      std::int32_t token = sampler.sample(*logits);
      ASSERT_EQ(token, reference.tokens[i])
          << "token " << i << " after " << reference.prompt;
      logits = model->read(std::span(&token, 1));
    }
  }
}

/// Reads `tokens` in parts of any sizes, which gives what reading them at once
/// does.
static void expectSameInParts(const Kernels &kernels,
                              std::shared_ptr<const ModelWeights> weights,
                              std::span<const std::int32_t> tokens) {
  Expected<Model> whole = Model::create(kernels, weights, 40),
                  parts = Model::create(kernels, weights, 40);
  ASSERT_TRUE(whole && parts);
  Expected<std::span<const float>> expected = whole->read(tokens);
  ASSERT_TRUE(expected) << expected.error().message;
  for (std::size_t size : {1, 7, 2, 0}) {
    std::size_t count = size ? size : tokens.size();
    Expected<std::span<const float>> got = parts->read(tokens.first(count));
    ASSERT_TRUE(got) << got.error().message;
    tokens = tokens.subspan(count);
    if (!tokens.empty())
      continue;
    float most = *std::ranges::max_element(*expected);
    for (std::size_t i = 0; i < got->size(); ++i)
      ASSERT_NEAR((*got)[i], (*expected)[i], 1e-4f * most) << i;
  }
}

/// Reads `tokens`, all but the last and then that one, with both models. The
/// logits differ, in root mean square, by a share of their range from `least`
/// to `most`.
static void expectDifference(Model &exact, Model &rounded,
                             std::span<const std::int32_t> tokens, double least,
                             double most) {
  for (auto part : {tokens.first(tokens.size() - 1), tokens.last(1)}) {
    Expected<std::span<const float>> expected = exact.read(part),
                                     got = rounded.read(part);
    ASSERT_TRUE(expected) << expected.error().message;
    ASSERT_TRUE(got) << got.error().message;
    auto [low, high] = std::ranges::minmax(*expected);
    double sum = 0;
    for (std::size_t i = 0; i < got->size(); ++i)
      sum += std::pow(double((*got)[i]) - (*expected)[i], 2);
    double error = std::sqrt(sum / double(got->size())) / double(high - low);
    EXPECT_LT(error, most);
    EXPECT_GT(error, least);
  }
}

TEST_F(SmolLM2, ReadsInParts) {
  expectSameInParts(*kernels, weights, references()[3].promptTokens);
}

/// Activations rounded to bf16 change logits a little, in prompts and in steps.
TEST_F(SmolLM2, RoundsActivations) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  Expected<Kernels> rounding =
      Kernels::compile(*engine, attn::ElementType::bf16);
  ASSERT_TRUE(rounding) << rounding.error().message;
  Expected<Model> exact = Model::create(*kernels, weights, 40),
                  rounded = Model::create(*rounding, weights, 40);
  ASSERT_TRUE(exact && rounded);
  expectDifference(*exact, *rounded, references()[3].promptTokens, 1e-5, 0.01);
}

/// Weights of i8 give other logits, but the same in whatever parts they read.
TEST_F(SmolLM2, QuantizesWeights) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  Expected<Kernels> narrow =
      Kernels::compile(*engine, attn::ElementType::f32, attn::ElementType::i8);
  ASSERT_TRUE(narrow) << narrow.error().message;
  Expected<ModelWeights> loaded = ModelWeights::load(*file, *narrow);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto quantized = std::make_shared<const ModelWeights>(std::move(*loaded));
  std::vector<std::int32_t> tokens = references()[3].promptTokens;
  expectSameInParts(*narrow, quantized, tokens);
  Expected<Model> exact = Model::create(*kernels, weights, 40),
                  rounded = Model::create(*narrow, quantized, 40);
  ASSERT_TRUE(exact && rounded);
  expectDifference(*exact, *rounded, tokens, 1e-4, 0.05);
}

TEST_F(SmolLM2, CallsThatAreRefused) {
  auto message = [](const auto &result) {
    return result ? "no error" : result.error().message;
  };
  EXPECT_EQ(message(Model::create(*kernels, weights, 8193)),
            "expected room for 1 to 8192 tokens, for which the model was made, "
            "got 8193");
  EXPECT_EQ(message(Model::create(*kernels, weights, 0)),
            "expected room for 1 to 8192 tokens, for which the model was made, "
            "got 0");
  Expected<Model> model = Model::create(*kernels, weights, 3);
  ASSERT_TRUE(model) << model.error().message;
  auto read = [&](const std::vector<std::int32_t> &tokens) {
    return message(model->read(tokens));
  };
  EXPECT_EQ(read({}), "expected a token, got none");
  EXPECT_EQ(read({1, 49152}), "expected tokens from 0 to 49151, got 49152");
  EXPECT_EQ(read({-1}), "expected tokens from 0 to 49151, got -1");
  EXPECT_EQ(read({1, 2, 3, 4}),
            "expected at most 3 tokens, for which there is room, got 4");
  EXPECT_EQ(read({1, 2}), "no error");
  EXPECT_EQ(read({1, 2}),
            "expected at most 1 tokens, for which there is room, got 2");
  EXPECT_EQ(read({1}), "no error");
}

//===----------------------------------------------------------------------===//
// Without the weights
//===----------------------------------------------------------------------===//

/// Metadata of the model, with one entry changed.
static GgufWriter metadata(std::string_view changed = "",
                           std::uint32_t integer = 0, float real = 0) {
  GgufWriter writer;
  writer.addText("general.architecture",
                 changed == "general.architecture" ? "bert" : "llama");
  for (auto [key, value] : {std::pair("llama.attention.head_count", 9u),
                            std::pair("llama.attention.head_count_kv", 3u),
                            std::pair("llama.rope.dimension_count", 64u),
                            std::pair("llama.context_length", 8192u),
                            std::pair("llama.block_count", 1u)})
    writer.addInteger(key, key == changed ? integer : value);
  for (auto [key, value] :
       {std::pair("llama.attention.layer_norm_rms_epsilon", 1e-5f),
        std::pair("llama.rope.freq_base", 1e5f)})
    writer.add(key, 6, bytesOf(key == changed ? real : value));
  writer.addTensor("output_norm.weight", {576}, 0, std::string(2304, '\0'));
  return writer;
}

TEST(SmolLM2Weights, Errors) {
  Expected<Engine> engine = Engine::create({.threads = 1});
  ASSERT_TRUE(engine) << engine.error().message;
  Expected<Kernels> kernels = Kernels::compile(*engine);
  ASSERT_TRUE(kernels) << kernels.error().message;
  auto message = [&](const GgufWriter &writer) {
    Expected<gguf::File> file = parseGguf(writer.file());
    EXPECT_TRUE(file) << file.error().message;
    Expected<ModelWeights> weights = ModelWeights::load(*file, *kernels);
    return weights ? "no error" : weights.error().message;
  };
  EXPECT_EQ(message(GgufWriter()),
            "'general.architecture' is not in the metadata");
  EXPECT_EQ(message(metadata("general.architecture")),
            "'general.architecture': expected 'llama', got 'bert'");
  EXPECT_EQ(message(metadata("llama.attention.head_count", 8)),
            "'llama.attention.head_count': expected 9, got 8");
  EXPECT_EQ(message(metadata("llama.attention.head_count_kv", 9)),
            "'llama.attention.head_count_kv': expected 3, got 9");
  EXPECT_EQ(message(metadata("llama.rope.dimension_count", 32)),
            "'llama.rope.dimension_count': expected 64, got 32");
  EXPECT_EQ(message(metadata("llama.rope.freq_base", 0, -1)),
            "'llama.rope.freq_base': expected a number above 0, got "
            "-1.000000");
  for (std::uint32_t context : {0u, 1048577u})
    EXPECT_EQ(message(metadata("llama.context_length", context)),
              "'llama.context_length': expected 1 to 1048576, got " +
                  std::to_string(context));
  for (std::uint32_t layers : {0u, 2u, ~0u})
    EXPECT_EQ(message(metadata("llama.block_count", layers)),
              "'llama.block_count': expected 1 to 1 layers, got " +
                  std::to_string(layers));
  // One of two threads comes first.
  GgufWriter writer = metadata();
  std::string missing = message(writer);
  EXPECT_TRUE(missing == "expected a tensor 'token_embd.weight', got none" ||
              missing == "expected a tensor 'blk.0.attn_norm.weight', got none")
      << missing;
  writer.addTensor("token_embd.weight", {64, 64}, 30, std::string(8192, '\0'));
  writer.addTensor("blk.0.attn_norm.weight", {576}, 0, std::string(2304, '\0'));
  writer.addTensor("blk.0.attn_q.weight", {64}, 30, std::string(128, '\0'));
  std::string shape = message(writer);
  EXPECT_TRUE(shape == "tensor 'token_embd.weight': expected sizes 49152 x "
                       "576, got 64 x 64" ||
              shape == "tensor 'blk.0.attn_q.weight': expected sizes 576 x "
                       "576, got 64")
      << shape;
}

/// The attention of one layer, on what it read of a sentence.
TEST(SmolLM2Capture, Attention) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  Expected<Kernel> kernel =
      engine->compile(readText(folder + "attention.mlir"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  auto read = [](const char *name) {
    Expected<NpyArray> array = readNpy(folder + "capture/" + name + ".npy");
    EXPECT_TRUE(array) << array.error().message;
    return array;
  };
  Expected<NpyArray> query = read("query"), key = read("key"),
                     value = read("value"), expected = read("output");
  ASSERT_TRUE(query && key && value && expected);
  std::vector<float> output(expected->bytes().size() / sizeof(float));
  TensorView view(output.data(), expected->shape());
  Status status =
      kernel->run({std::as_const(*query).view(), std::as_const(*key).view(),
                   std::as_const(*value).view()},
                  {view});
  ASSERT_TRUE(status) << status.error().message;
  auto *reference = reinterpret_cast<const float *>(expected->bytes().data());
  float most = 0;
  for (std::size_t i = 0; i < output.size(); ++i)
    most = std::max(most, std::abs(reference[i]));
  for (std::size_t i = 0; i < output.size(); ++i)
    ASSERT_NEAR(output[i], reference[i], 2e-6f * most) << i;
}
