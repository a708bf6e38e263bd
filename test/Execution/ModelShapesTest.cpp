//===- ModelShapesTest.cpp - Small models of other sizes ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// examples/smollm2 with model files that the tests write: their logits are held
// to the formulas in double, on the weights as the program rounds them.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "examples/gguf/Rows.h"
#include "examples/smollm2/Model.h"
#include "test/Execution/Random.h"
#include "test/Unit/GgufTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace smollm2;
using namespace attn;
using attn::test::Random;

namespace {

/// A model of one layer, with what a file says of it.
struct Sizes {
  std::int64_t width = 96, hidden = 160, heads = 6, keyHeads = 2, headSize = 20,
               rotarySize = 12, vocabulary = 77;
  double epsilon = 3e-4, rotaryBase = 500;
  bool isTied = false;
};

/// A file whose matrices are of F16, or of Q8_0 where that fits.
class ModelFile {
public:
  explicit ModelFile(const Sizes &sizes) : sizes(sizes) {
    writer.addText("general.architecture", "llama");
    for (auto [key, value] :
         {std::pair("context_length", std::int64_t(64)),
          std::pair("block_count", std::int64_t(1)),
          std::pair("embedding_length", sizes.width),
          std::pair("feed_forward_length", sizes.hidden),
          std::pair("attention.head_count", sizes.heads),
          std::pair("attention.head_count_kv", sizes.keyHeads),
          std::pair("attention.key_length", sizes.headSize),
          std::pair("attention.value_length", sizes.headSize),
          std::pair("rope.dimension_count", sizes.rotarySize)})
      writer.addInteger(std::string("llama.") + key, std::uint32_t(value));
    for (auto [key, value] :
         {std::pair("attention.layer_norm_rms_epsilon", sizes.epsilon),
          std::pair("rope.freq_base", sizes.rotaryBase)})
      writer.add(std::string("llama.") + key, 6, bytesOf(float(value)));
    std::int64_t queries = sizes.heads * sizes.headSize,
                 keys = sizes.keyHeads * sizes.headSize;
    addMatrix("token_embd", sizes.vocabulary, sizes.width);
    if (!sizes.isTied)
      addMatrix("output", sizes.vocabulary, sizes.width);
    addVector("output_norm", sizes.width);
    addVector("blk.0.attn_norm", sizes.width);
    addMatrix("blk.0.attn_q", queries, sizes.width);
    addMatrix("blk.0.attn_k", keys, sizes.width);
    addMatrix("blk.0.attn_v", keys, sizes.width);
    addMatrix("blk.0.attn_output", sizes.width, queries);
    addVector("blk.0.ffn_norm", sizes.width);
    addMatrix("blk.0.ffn_gate", sizes.hidden, sizes.width);
    addMatrix("blk.0.ffn_up", sizes.hidden, sizes.width);
    addMatrix("blk.0.ffn_down", sizes.width, sizes.hidden);
  }

  gguf::File parse() const {
    Expected<gguf::File> file = parseGguf(writer.file());
    EXPECT_TRUE(file) << file.error().message;
    return *file;
  }

private:
  void addVector(const std::string &name, std::int64_t size) {
    std::string bytes;
    for (std::int64_t i = 0; i < size; ++i)
      bytes += bytesOf(float(1 + 0.2 * random.normal()));
    writer.addTensor(name + ".weight", {std::uint64_t(size)}, 0, bytes);
  }
  void addMatrix(const std::string &name, std::int64_t outputs,
                 std::int64_t inputs) {
    double deviation = 1 / std::sqrt(double(inputs));
    bool isQuantized = inputs % 32 == 0;
    std::string bytes;
    for (std::int64_t i = 0; i < outputs * inputs; ++i) {
      if (!isQuantized) {
        bytes += bytesOf(f16(float(deviation * random.normal())).bits);
        continue;
      }
      if (i % 32 == 0)
        bytes += bytesOf(f16(float(deviation / 60)).bits);
      bytes += char(random.between(-127, 127));
    }
    writer.addTensor(name + ".weight",
                     {std::uint64_t(inputs), std::uint64_t(outputs)},
                     isQuantized ? 8 : 1, bytes);
  }

  Sizes sizes;
  GgufWriter writer;
  Random random{5};
};

using Vector = std::vector<double>;

/// The model in double.
class Oracle {
public:
  Oracle(const gguf::File &file, const Sizes &sizes)
      : file(file), sizes(sizes) {}

  /// The logits after the last of some tokens.
  Vector read(const std::vector<std::int32_t> &tokens) const {
    std::vector<Vector> x, keys, values;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      x.push_back(row("token_embd.weight", tokens[i]));
      Vector normed = norm(x[i], "blk.0.attn_norm.weight");
      Vector query = multiply("blk.0.attn_q.weight", normed);
      keys.push_back(multiply("blk.0.attn_k.weight", normed));
      values.push_back(multiply("blk.0.attn_v.weight", normed));
      rotate(query, i);
      rotate(keys.back(), i);
      add(x[i],
          multiply("blk.0.attn_output.weight", attend(query, keys, values)));
      normed = norm(x[i], "blk.0.ffn_norm.weight");
      Vector gate = multiply("blk.0.ffn_gate.weight", normed),
             up = multiply("blk.0.ffn_up.weight", normed);
      for (std::size_t j = 0; j < gate.size(); ++j)
        gate[j] *= up[j] / (1 + std::exp(-gate[j]));
      add(x[i], multiply("blk.0.ffn_down.weight", gate));
    }
    return multiply(sizes.isTied ? "token_embd.weight" : "output.weight",
                    norm(x.back(), "output_norm.weight"));
  }

private:
  static void add(Vector &x, const Vector &y) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += y[i];
  }
  /// Of a matrix, rounded to bf16.
  Vector row(const char *name, std::int64_t index) const {
    const gguf::Tensor *tensor = file.findTensor(name);
    std::vector<float> numbers(std::size_t(tensor->sizes.back()));
    gguf::dequantizeRow(*tensor, index, numbers);
    Vector result;
    for (float number : numbers)
      result.push_back(tensor->sizes.size() == 1 ? number
                                                 : float(bf16(number)));
    return result;
  }
  Vector multiply(const char *name, const Vector &x) const {
    Vector y(std::size_t(file.findTensor(name)->sizes[0]));
    for (std::size_t i = 0; i < y.size(); ++i) {
      Vector weights = row(name, std::int64_t(i));
      for (std::size_t j = 0; j < x.size(); ++j)
        y[i] += weights[j] * x[j];
    }
    return y;
  }
  Vector norm(const Vector &x, const char *name) const {
    double sum = 0;
    for (double element : x)
      sum += element * element;
    Vector weight = row(name, 0), y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(weight[i] * x[i] /
                  std::sqrt(sum / double(x.size()) + sizes.epsilon));
    return y;
  }
  /// Neighbours, as files have them.
  void rotate(Vector &heads, std::size_t position) const {
    auto size = std::size_t(sizes.headSize),
         rotated = std::size_t(sizes.rotarySize);
    for (std::size_t head = 0; head < heads.size(); head += size)
      for (std::size_t i = 0; i < rotated; i += 2) {
        double angle = double(position) *
                       std::pow(sizes.rotaryBase, -double(i) / double(rotated)),
               a = heads[head + i], b = heads[head + i + 1];
        heads[head + i] = a * std::cos(angle) - b * std::sin(angle);
        heads[head + i + 1] = b * std::cos(angle) + a * std::sin(angle);
      }
  }
  Vector attend(const Vector &query, const std::vector<Vector> &keys,
                const std::vector<Vector> &values) const {
    auto size = std::size_t(sizes.headSize),
         group = std::size_t(sizes.heads / sizes.keyHeads);
    Vector output(query.size());
    for (std::size_t head = 0; head < std::size_t(sizes.heads); ++head) {
      std::size_t from = head * size, stored = head / group * size;
      Vector weights;
      double sum = 0;
      for (const Vector &key : keys) {
        double dot = 0;
        for (std::size_t d = 0; d < size; ++d)
          dot += query[from + d] * key[stored + d];
        sum += weights.emplace_back(std::exp(dot / std::sqrt(double(size))));
      }
      for (std::size_t j = 0; j < keys.size(); ++j)
        for (std::size_t d = 0; d < size; ++d)
          output[from + d] += weights[j] / sum * values[j][stored + d];
    }
    return output;
  }

  const gguf::File &file;
  const Sizes &sizes;
};

/// The kernels of a shape, which are compiled once.
Expected<Kernels> compile(const ModelShape &shape) {
  static const Expected<Engine> engine = Engine::create();
  return engine ? Kernels::compile(*engine, shape)
                : Expected<Kernels>(engine.error());
}

const Sizes tiedSizes = {.width = 64,
                         .hidden = 86,
                         .heads = 2,
                         .keyHeads = 2,
                         .headSize = 32,
                         .rotarySize = 32,
                         .isTied = true};

/// Two sequences in steps of several chunks, logits after several tokens.
void expectLogits(const Sizes &sizes) {
  gguf::File file = ModelFile(sizes).parse();
  Expected<ModelShape> shape = ModelShape::read(file);
  ASSERT_TRUE(shape) << shape.error().message;
  Expected<Kernels> kernels = compile(*shape);
  ASSERT_TRUE(kernels) << kernels.error().message;
  Expected<ModelWeights> weights = ModelWeights::load(file, *shape, *kernels);
  ASSERT_TRUE(weights) << weights.error().message;
  Expected<Model> model = Model::create(
      *kernels, std::make_shared<const ModelWeights>(std::move(*weights)),
      {.sequences = 2, .tokens = 40});
  ASSERT_TRUE(model) << model.error().message;
  Oracle oracle(file, sizes);
  auto check = [&](std::vector<std::int32_t> tokens, std::size_t length,
                   std::span<const float> logits) {
    tokens.resize(length);
    Vector expected = oracle.read(tokens);
    double most = std::abs(*std::ranges::max_element(
        expected, {}, [](double x) { return std::abs(x); }));
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
      ASSERT_NEAR(logits[i], expected[i], 2e-5 * most) << length << ", " << i;
  };
  std::vector<std::int32_t> a, b;
  for (std::int32_t i = 0; i < 24; ++i) {
    a.push_back(i * 7 % 77);
    b.push_back(76 - i * i % 77);
  }
  Expected<SequenceId> first = model->cache().createSequence(),
                       second = model->cache().createSequence();
  auto part = [](const std::vector<std::int32_t> &tokens, std::size_t begin,
                 std::size_t count) {
    return std::span(tokens).subspan(begin, count);
  };
  const Chunk prompts[] = {{*first, part(a, 0, 19), 2},
                           {*second, part(b, 0, 3), 0}},
              later[] = {{*second, part(b, 3, 1), 1},
                         {*first, part(a, 19, 4), 3}};
  auto rows = std::size_t(sizes.vocabulary);
  Expected<std::span<const float>> logits = model->read(prompts);
  ASSERT_TRUE(logits) << logits.error().message;
  ASSERT_EQ(logits->size(), 2 * rows);
  check(a, 18, logits->subspan(0, rows));
  check(a, 19, logits->subspan(rows, rows));
  logits = model->read(later);
  ASSERT_TRUE(logits) << logits.error().message;
  ASSERT_EQ(logits->size(), 4 * rows);
  check(b, 4, logits->subspan(0, rows));
  for (std::size_t i : {1, 2, 3})
    check(a, 20 + i, logits->subspan(i * rows, rows));
}

} // namespace

TEST(ModelShapes, Untied) { expectLogits({}); }

TEST(ModelShapes, Tied) { expectLogits(tiedSizes); }

//===----------------------------------------------------------------------===//
// What is not supported
//===----------------------------------------------------------------------===//

/// Metadata of a model, with one entry changed.
static GgufWriter metadata(std::string_view changed = "",
                           std::uint32_t integer = 0, float real = 0) {
  GgufWriter writer;
  writer.addText("general.architecture",
                 changed == "general.architecture" ? "bert" : "llama");
  for (auto [key, value] : {std::pair("llama.attention.head_count", 9u),
                            std::pair("llama.attention.head_count_kv", 3u),
                            std::pair("llama.attention.key_length", 64u),
                            std::pair("llama.attention.value_length", 64u),
                            std::pair("llama.embedding_length", 576u),
                            std::pair("llama.feed_forward_length", 1536u),
                            std::pair("llama.rope.dimension_count", 64u),
                            std::pair("llama.context_length", 8192u),
                            std::pair("llama.block_count", 1u),
                            std::pair("llama.expert_count", 0u)})
    writer.addInteger(key, key == changed ? integer : value);
  for (auto [key, value] :
       {std::pair("llama.attention.layer_norm_rms_epsilon", 1e-5f),
        std::pair("llama.rope.freq_base", 1e5f)})
    writer.add(key, 6, bytesOf(key == changed ? real : value));
  writer.addTensor("token_embd.weight", {576, 1}, 0, std::string(2304, '\0'));
  return writer;
}

static std::string message(const GgufWriter &writer) {
  Expected<gguf::File> file = parseGguf(writer.file());
  EXPECT_TRUE(file) << file.error().message;
  Expected<ModelShape> shape = ModelShape::read(*file);
  return shape ? "no error" : shape.error().message;
}

TEST(ModelShapes, ErrorsOfMetadata) {
  EXPECT_EQ(message(metadata()), "no error");
  EXPECT_EQ(message(GgufWriter()),
            "'general.architecture' is not in the metadata");
  EXPECT_EQ(message(metadata("general.architecture")),
            "'general.architecture': expected 'llama', got 'bert'");
  EXPECT_EQ(message(metadata("llama.attention.head_count_kv", 4)),
            "'llama.attention.head_count_kv': expected a divisor of 9, got 4");
  EXPECT_EQ(message(metadata("llama.attention.head_count", 0)),
            "'llama.attention.head_count': expected 1 to 4096, got 0");
  EXPECT_EQ(message(metadata("llama.attention.value_length", 32)),
            "'llama.attention.value_length': expected 64, as keys have, got "
            "32");
  EXPECT_EQ(message(metadata("llama.rope.dimension_count", 65)),
            "'llama.rope.dimension_count': expected an even number up to 64, "
            "got 65");
  EXPECT_EQ(message(metadata("llama.feed_forward_length", 77)),
            "'llama.feed_forward_length': expected an even number, got 77");
  EXPECT_EQ(message(metadata("llama.rope.freq_base", 0, -1)),
            "'llama.rope.freq_base': expected a number above 0, got "
            "-1.000000");
  EXPECT_EQ(message(metadata("llama.expert_count", 8)),
            "'llama.expert_count': experts are not supported");
  for (std::uint32_t context : {0u, 1048577u})
    EXPECT_EQ(message(metadata("llama.context_length", context)),
              "'llama.context_length': expected 1 to 1048576, got " +
                  std::to_string(context));
  for (std::uint32_t layers : {0u, 2u, ~0u})
    EXPECT_EQ(message(metadata("llama.block_count", layers)),
              "'llama.block_count': expected 1 to 1, got " +
                  std::to_string(layers));
  GgufWriter scaled = metadata();
  scaled.addText("llama.rope.scaling.type", "yarn");
  EXPECT_EQ(message(scaled),
            "'llama.rope.scaling.type': expected 'none', got 'yarn'");
  GgufWriter unknown = metadata();
  unknown.addInteger("llama.attention.sliding_window", 4096);
  EXPECT_EQ(message(unknown),
            "'llama.attention.sliding_window' is not supported");
}

TEST(ModelShapes, ErrorsOfTensors) {
  for (const char *name :
       {"blk.0.attn_q.bias", "rope_freqs.weight", "blk.0.ffn_gate_exps.weight",
        "blk.", "attn_q.weight", "blk.0.output.weight"}) {
    GgufWriter writer = metadata();
    writer.addTensor(name, {1}, 0, std::string(4, '\0'));
    EXPECT_EQ(message(writer),
              "tensor '" + std::string(name) + "' is not supported");
  }
}

TEST(ModelShapes, ErrorsOfWeights) {
  Expected<ModelShape> shape = ModelShape::read(ModelFile(tiedSizes).parse());
  ASSERT_TRUE(shape);
  Expected<Kernels> kernels = compile(*shape);
  ASSERT_TRUE(kernels) << kernels.error().message;
  auto load = [&](const gguf::File &file) {
    Expected<ModelWeights> weights = ModelWeights::load(file, *shape, *kernels);
    return weights ? "no error" : weights.error().message;
  };
  GgufWriter writer = metadata();
  // One of two threads comes first.
  std::string missing = load(*parseGguf(writer.file()));
  EXPECT_TRUE(missing == "expected a tensor 'output_norm.weight', got none" ||
              missing == "expected a tensor 'blk.0.attn_norm.weight', got none")
      << missing;
  writer.addTensor("output_norm.weight", {64}, 0, std::string(256, '\0'));
  writer.addTensor("blk.0.attn_norm.weight", {64}, 0, std::string(256, '\0'));
  writer.addTensor("blk.0.attn_q.weight", {64}, 30, std::string(128, '\0'));
  std::string other = load(*parseGguf(writer.file()));
  EXPECT_TRUE(other == "tensor 'token_embd.weight': expected sizes 77 x 64, "
                       "got 1 x 576" ||
              other == "tensor 'blk.0.attn_q.weight': expected sizes 64 x 64, "
                       "got 64")
      << other;
}
