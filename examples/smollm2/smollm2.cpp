//===- smollm2.cpp - Continues a text with SmolLM2 ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads a model file, compiles the model's layer, reads a prompt and prints
// what comes next, token by token.
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Tokenizer.h"
#include "examples/smollm2/Model.h"
#include "examples/smollm2/Options.h"
#include "examples/smollm2/Sampler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using attn::Status;

namespace {

/// Seconds since it was made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// Says on stderr what is going on, and, when it ends, how long it took.
class Progress {
public:
  explicit Progress(const char *what) {
    std::fprintf(stderr, "%s ... ", what);
    std::fflush(stderr);
  }
  ~Progress() { std::fprintf(stderr, "%.2f s\n", watch.seconds()); }

private:
  Stopwatch watch;
};

} // namespace

static Expected<Kernels> compile(const Options &options) {
  Progress progress("Compiling the layer");
  Expected<attn::Engine> engine = attn::Engine::create(
      {.cacheDirectory = options.cacheDirectory, .threads = options.threads});
  if (!engine)
    return engine.error();
  return Kernels::compile(*engine, options.activations, options.weights);
}

static Expected<ModelWeights> load(const gguf::File &file,
                                   const Kernels &kernels) {
  Progress progress("Unpacking the weights");
  return ModelWeights::load(file, kernels);
}

static void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

namespace {
/// A model that has read the prompt.
struct Reading {
  Model model;
  std::span<const float> logits; ///< Of the next token, in the model.
  double seconds;                ///< The median of all times.
};
} // namespace

/// Reads the prompt as often as the options say, each time into a new model.
static Expected<Reading>
readPrompt(const Options &options, std::span<const std::int32_t> prompt,
           const Kernels &kernels,
           const std::shared_ptr<const ModelWeights> &weights) {
  std::vector<double> times;
  while (true) {
    Expected<Model> model = Model::create(
        kernels, weights, std::int64_t(prompt.size()) + options.tokens);
    if (!model)
      return model.error();
    Stopwatch reading;
    Expected<std::span<const float>> logits = model->read(prompt);
    if (!logits)
      return logits.error();
    times.push_back(reading.seconds());
    if (std::int64_t(times.size()) < options.repeat)
      continue;
    std::ranges::sort(times);
    // Of an even number, the mean of the two in the middle.
    double median =
        (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    return Reading{std::move(*model), *logits, median};
  }
}

/// Prints the prompt and what the model continues it with.
static Status generate(const Options &options, const bpe::Tokenizer &tokenizer,
                       std::span<const std::int32_t> prompt,
                       const Kernels &kernels,
                       const std::shared_ptr<const ModelWeights> &weights) {
  Sampler sampler(options.temperature, options.seed);
  print(options.prompt);
  Expected<Reading> reading = readPrompt(options, prompt, kernels, weights);
  if (!reading)
    return reading.error();
  Expected<std::span<const float>> logits = reading->logits;
  Stopwatch writing;
  std::int64_t written = 0;
  while (written < options.tokens) {
    std::int32_t token = sampler.sample(*logits);
    if (token == tokenizer.endToken())
      break;
    print(tokenizer.decode(token));
    if (++written == options.tokens)
      break;
    logits = reading->model.read(std::span(&token, 1));
    if (!logits)
      return logits.error();
  }
  double writingTime = writing.seconds();
  print("\n");
  std::fprintf(stderr, "Read %zu tokens in %.2f s (%.1f tokens/s)",
               prompt.size(), reading->seconds,
               double(prompt.size()) / reading->seconds);
  // The first one came of reading.
  if (written > 1)
    std::fprintf(stderr,
                 ", wrote %lld more than the first in %.2f s (%.1f tokens/s)",
                 static_cast<long long>(written - 1), writingTime,
                 double(written - 1) / writingTime);
  std::fprintf(stderr, "\n");
  return {};
}

static Status run(const Options &options) {
  Expected<gguf::File> file = gguf::File::read(options.model);
  if (!file)
    return file.error();
  auto inFile = [&](const Error &error) {
    return Error{options.model + ": " + error.message, error.diagnostics};
  };
  Expected<bpe::Tokenizer> tokenizer = bpe::Tokenizer::create(*file);
  if (!tokenizer)
    return inFile(tokenizer.error());
  Expected<std::vector<std::int32_t>> prompt =
      tokenizer->encode(options.prompt);
  if (!prompt)
    return Error{"the prompt: " + prompt.error().message, {}};
  if (prompt->empty())
    return Error{"the prompt: expected text, got none", {}};
  Expected<std::int64_t> context = readContext(*file);
  if (!context)
    return inFile(context.error());
  if (auto length = std::int64_t(prompt->size());
      length + options.tokens > *context)
    return Error{"the prompt and --tokens: expected at most " +
                     std::to_string(*context) +
                     " tokens, for which the model was made, got " +
                     std::to_string(length) + " and " +
                     std::to_string(options.tokens),
                 {}};
  Expected<Kernels> kernels = compile(options);
  if (!kernels)
    return kernels.error();
  Expected<ModelWeights> weights = load(*file, *kernels);
  if (!weights)
    return inFile(weights.error());
  // Each token has a row of the embedding, and each row a text.
  if (std::int64_t rows = weights->logits.panels[0].outputs();
      rows != tokenizer->size())
    return inFile({"'tokenizer.ggml.tokens': expected " + std::to_string(rows) +
                       " tokens, as the embedding has rows, got " +
                       std::to_string(tokenizer->size()),
                   {}});
  *file = gguf::File();
  return generate(options, *tokenizer, *prompt, *kernels,
                  std::make_shared<const ModelWeights>(std::move(*weights)));
}

int main(int argc, char **argv) {
  Expected<Options> options = Options::parse(argc, argv);
  if (options && options->help)
    print(usage);
  Status status = !options        ? Status(options.error())
                  : options->help ? Status()
                                  : run(*options);
  // What was printed before may be in no file, such as on a full disk.
  if (status && std::ferror(stdout))
    status = Error{"cannot write the text", {}};
  if (status)
    return EXIT_SUCCESS;
  std::fflush(stdout);
  std::fprintf(stderr, "smollm2: error: %s\n", status.error().message.c_str());
  return EXIT_FAILURE;
}
