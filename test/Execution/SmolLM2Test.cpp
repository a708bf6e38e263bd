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
#include "examples/smollm2/Scheduler.h"
#include "runtime/Npy/Npy.h"

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

/// A model that reads one sequence.
class Reader {
public:
  static Expected<Reader> create(const Kernels &kernels,
                                 std::shared_ptr<const ModelWeights> weights,
                                 std::int64_t tokens) {
    Expected<Model> model = Model::create(kernels, std::move(weights),
                                          {.sequences = 1, .tokens = tokens});
    if (!model)
      return model.error();
    Expected<SequenceId> sequence = model->cache().createSequence();
    if (!sequence)
      return sequence.error();
    return Reader{std::move(*model), *sequence};
  }

  Expected<std::span<const float>> read(std::span<const std::int32_t> tokens) {
    const Chunk chunk{sequence, tokens};
    return model.read({&chunk, 1});
  }

  Model model;
  SequenceId sequence;
};

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
    Expected<ModelShape> sizes = ModelShape::read(*file);
    ASSERT_TRUE(sizes) << sizes.error().message;
    shape = *sizes;
    Expected<Kernels> compiled = Kernels::compile(*engine, shape);
    ASSERT_TRUE(compiled) << compiled.error().message;
    kernels.emplace(*compiled);
    Expected<ModelWeights> loaded = ModelWeights::load(*file, shape, *kernels);
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
  static ModelShape shape;
  static std::optional<Kernels> kernels;
  static std::shared_ptr<const ModelWeights> weights;
};

std::optional<gguf::File> SmolLM2::file;
ModelShape SmolLM2::shape;
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
    Expected<Reader> model = Reader::create(*kernels, weights, 512);
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
  Expected<Reader> whole = Reader::create(kernels, weights, 40),
                   parts = Reader::create(kernels, weights, 40);
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
static void expectDifference(Reader &exact, Reader &rounded,
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
      Kernels::compile(*engine, shape, attn::ElementType::bf16);
  ASSERT_TRUE(rounding) << rounding.error().message;
  Expected<Reader> exact = Reader::create(*kernels, weights, 40),
                   rounded = Reader::create(*rounding, weights, 40);
  ASSERT_TRUE(exact && rounded);
  expectDifference(*exact, *rounded, references()[3].promptTokens, 1e-5, 0.01);
}

/// Weights of i8 give other logits, but the same in whatever parts they read.
TEST_F(SmolLM2, QuantizesWeights) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  Expected<Kernels> narrow = Kernels::compile(
      *engine, shape, attn::ElementType::f32, attn::ElementType::i8);
  ASSERT_TRUE(narrow) << narrow.error().message;
  Expected<ModelWeights> loaded = ModelWeights::load(*file, shape, *narrow);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto quantized = std::make_shared<const ModelWeights>(std::move(*loaded));
  std::vector<std::int32_t> tokens = references()[3].promptTokens;
  expectSameInParts(*narrow, quantized, tokens);
  Expected<Reader> exact = Reader::create(*kernels, weights, 40),
                   rounded = Reader::create(*narrow, quantized, 40);
  ASSERT_TRUE(exact && rounded);
  expectDifference(*exact, *rounded, tokens, 1e-4, 0.05);
}

TEST_F(SmolLM2, CallsThatAreRefused) {
  auto message = [](const auto &result) {
    return result ? "no error" : result.error().message;
  };
  for (std::int64_t tokens : {0, 8193})
    EXPECT_EQ(message(Reader::create(*kernels, weights, tokens)),
              "expected room for 1 to 8192 tokens, for which the model was "
              "made, got " +
                  std::to_string(tokens));
  EXPECT_EQ(
      message(Model::create(*kernels, weights, {.sequences = 0, .tokens = 1})),
      "expected room for 1 to 1024 sequences, got 0");
  Expected<Reader> reader = Reader::create(*kernels, weights, 3);
  ASSERT_TRUE(reader) << reader.error().message;
  auto read = [&](const std::vector<std::int32_t> &tokens,
                  std::int64_t numLogits = 1) {
    const Chunk chunk{reader->sequence, tokens, numLogits};
    return message(reader->model.read({&chunk, 1}));
  };
  EXPECT_EQ(message(reader->model.read({})),
            "expected tokens of a sequence, got none");
  EXPECT_EQ(read({}), "expected a token, got none");
  EXPECT_EQ(read({1}, 2), "expected logits after 0 to 1 tokens, got 2");
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
// Several sequences
//===----------------------------------------------------------------------===//

/// What is written after each of some prompts, which run at the same time.
static std::vector<std::vector<std::int32_t>>
continueAll(Model &model, const std::vector<std::vector<std::int32_t>> &prompts,
            std::int64_t tokens, const SchedulerOptions &options,
            std::vector<TextStatistics> *statistics = nullptr) {
  Scheduler scheduler(model.cache(), options);
  for (const std::vector<std::int32_t> &prompt : prompts)
    EXPECT_TRUE(scheduler.add({prompt, tokens, Sampler(0, 0)}));
  std::vector<std::vector<std::int32_t>> result(prompts.size());
  while (true) {
    Expected<std::span<const Chunk>> chunks = scheduler.plan();
    EXPECT_TRUE(chunks) << chunks.error().message;
    if (!chunks || chunks->empty())
      break;
    Expected<std::span<const float>> logits = model.read(*chunks);
    EXPECT_TRUE(logits) << logits.error().message;
    if (!logits)
      break;
    Expected<std::vector<Progress>> progress =
        scheduler.advance(*logits, model.vocabulary());
    EXPECT_TRUE(progress) << progress.error().message;
    for (const Progress &step : *progress)
      result[step.text].insert(result[step.text].end(), step.tokens.begin(),
                               step.tokens.end());
  }
  if (statistics)
    for (std::size_t i = 0; i < prompts.size(); ++i)
      statistics->push_back(scheduler.statistics(i));
  return result;
}

/// Eight sequences of any lengths, three of which go on where others do, give
/// what the reference gives, as each does alone; with chunks of prompts, and
/// with guesses, too.
TEST_F(SmolLM2, Batch) {
  constexpr std::int64_t count = 24, later = 12;
  std::vector<std::vector<std::int32_t>> prompts, expected;
  std::vector<Reference> all = references();
  ASSERT_EQ(all.size(), 5u);
  auto add = [&](const Reference &reference, std::int64_t begin) {
    auto from = reference.tokens.begin();
    prompts.push_back(reference.promptTokens);
    prompts.back().insert(prompts.back().end(), from, from + begin);
    expected.emplace_back(from + begin, from + begin + count);
  };
  for (const Reference &reference : all)
    add(reference, 0);
  for (std::size_t i : {1, 3, 4})
    add(all[i], later);
  Expected<Model> model =
      Model::create(*kernels, weights, {.sequences = 8, .tokens = 512});
  ASSERT_TRUE(model) << model.error().message;
  for (SchedulerOptions options :
       {SchedulerOptions{}, SchedulerOptions{.stepTokens = 40},
        SchedulerOptions{.sequences = 3, .draftTokens = 5}}) {
    std::vector<TextStatistics> statistics;
    EXPECT_EQ(continueAll(*model, prompts, count, options, &statistics),
              expected)
        << options.sequences << ", " << options.stepTokens;
    std::int64_t shared = 0, accepted = 0;
    for (const TextStatistics &text : statistics) {
      shared += text.shared;
      accepted += text.accepted;
    }
    EXPECT_GT(shared, 0);
    EXPECT_EQ(accepted > 0, options.draftTokens > 0);
  }
  // Nothing is left behind.
  EXPECT_EQ(model->cache().freePages(), 8 * 512 / Model::pageSize);
}

//===----------------------------------------------------------------------===//
// Without the weights
//===----------------------------------------------------------------------===//

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
