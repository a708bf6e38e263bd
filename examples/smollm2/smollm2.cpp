//===- smollm2.cpp - Continues texts with a language model ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads a model file, compiles the model's layer, reads a prompt, or several at
// once, and prints what comes next.
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Tokenizer.h"
#include "examples/smollm2/Model.h"
#include "examples/smollm2/Options.h"
#include "examples/smollm2/Stopwatch.h"
#include "examples/smollm2/Texts.h"

#include <algorithm>
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

/// Where it says what is going on: of several processes, one does.
std::FILE *progress = stderr;

/// Says what is going on, and, when it ends, how long it took.
class Timing {
public:
  explicit Timing(const char *what) {
    std::fprintf(progress, "%s ... ", what);
    std::fflush(progress);
  }
  ~Timing() { std::fprintf(progress, "%.2f s\n", watch.seconds()); }

private:
  Stopwatch watch;
};

} // namespace

static Expected<Kernels> compile(const Options &options,
                                 const ModelShape &shape,
                                 const attn::Ranks *ranks) {
  Timing timing("Compiling the layer");
  Expected<attn::Engine> engine = attn::Engine::create(
      {.cacheDirectory = options.cacheDirectory, .threads = options.threads});
  if (!engine)
    return engine.error();
  return Kernels::compile(*engine, shape, options.activations, options.weights,
                          ranks);
}

static Expected<ModelWeights>
load(const gguf::File &file, const ModelShape &shape, const Kernels &kernels) {
  Timing timing("Unpacking the weights");
  return ModelWeights::load(file, shape, kernels);
}

static void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Tokens a second after the first one, which comes of reading.
static double speedOf(const Text &text) {
  return double(text.numWritten - 1) / (text.last - text.first);
}

//===----------------------------------------------------------------------===//
// One prompt, and a file of them
//===----------------------------------------------------------------------===//

/// Seconds until the first token, of the prompt read once less than the options
/// say.
static Expected<std::vector<double>>
timeReading(const Options &options, const bpe::Tokenizer &tokenizer,
            Model &model, const Text &text) {
  std::vector<double> times;
  Options once = options;
  once.tokens = 1;
  while (std::int64_t(times.size()) < options.repeat - 1) {
    std::vector<Text> again = {text};
    if (Status status = continueTexts(once, tokenizer, model, again,
                                      [](const Text &, std::string_view) {});
        !status)
      return status.error();
    times.push_back(again[0].first);
  }
  return times;
}

static double medianOf(std::vector<double> times) {
  std::ranges::sort(times);
  // Of an even number, the mean of the two in the middle.
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}

static void reportDrafts(const std::vector<Text> &texts) {
  std::int64_t drafted = 0, accepted = 0;
  for (const Text &text : texts) {
    drafted += text.statistics.drafted;
    accepted += text.statistics.accepted;
  }
  if (drafted > 0)
    std::fprintf(progress, "Of %lld guessed tokens, %lld were right.\n",
                 static_cast<long long>(drafted),
                 static_cast<long long>(accepted));
}

/// Prints the prompt, and what follows as it comes.
static Status continuePrompt(const Options &options,
                             const bpe::Tokenizer &tokenizer, Model &model,
                             std::vector<Text> &texts) {
  Text &text = texts[0];
  print(text.prompt);
  Expected<std::vector<double>> times =
      timeReading(options, tokenizer, model, text);
  if (!times)
    return times.error();
  if (Status status = continueTexts(
          options, tokenizer, model, texts,
          [](const Text &, std::string_view bytes) { print(bytes); });
      !status)
    return status;
  print("\n");
  times->push_back(text.first);
  double reading = medianOf(*times);
  std::fprintf(progress, "Read %zu tokens in %.2f s (%.1f tokens/s)",
               text.tokens.size(), reading,
               double(text.tokens.size()) / reading);
  if (text.last > text.first)
    std::fprintf(progress,
                 ", wrote %lld more than the first in %.2f s (%.1f tokens/s)",
                 static_cast<long long>(text.numWritten - 1),
                 text.last - text.first, speedOf(text));
  std::fprintf(progress, "\n");
  reportDrafts(texts);
  return {};
}

/// Prints each prompt with what follows, in the order of the file, and how fast
/// that was.
static Status continueFile(const Options &options,
                           const bpe::Tokenizer &tokenizer, Model &model,
                           std::vector<Text> &texts) {
  std::size_t next = 0; // That is printed.
  Stopwatch watch;
  Status status = continueTexts(
      options, tokenizer, model, texts, [&](const Text &, std::string_view) {
        for (; next < texts.size() && texts[next].isDone; ++next)
          print(texts[next].prompt + texts[next].written + "\n");
      });
  double seconds = watch.seconds();
  if (!status)
    return status;
  std::fprintf(progress,
               "sequence    read  shared  first, s   wrote  tokens/s\n");
  std::int64_t numRead = 0, numWritten = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Text &text = texts[i];
    std::int64_t shared = text.statistics.shared,
                 read = std::int64_t(text.tokens.size()) - shared;
    std::fprintf(progress, "%8zu %7lld %7lld %9.2f %7lld", i + 1,
                 static_cast<long long>(read), static_cast<long long>(shared),
                 text.first, static_cast<long long>(text.numWritten));
    if (text.last > text.first)
      std::fprintf(progress, " %9.1f", speedOf(text));
    std::fprintf(progress, "\n");
    numRead += read;
    numWritten += text.numWritten;
  }
  std::fprintf(progress,
               "In total: read %lld and wrote %lld tokens in %.2f s (%.1f "
               "tokens/s written)\n",
               static_cast<long long>(numRead),
               static_cast<long long>(numWritten), seconds,
               double(numWritten) / seconds);
  reportDrafts(texts);
  return {};
}

static Status run(const Options &options, const attn::Ranks *ranks) {
  Expected<gguf::File> file = gguf::File::read(options.model);
  if (!file)
    return file.error();
  auto inFile = [&](const Error &error) {
    return Error{options.model + ": " + error.message, error.diagnostics};
  };
  Expected<bpe::Tokenizer> tokenizer = bpe::Tokenizer::create(*file);
  if (!tokenizer)
    return inFile(tokenizer.error());
  Expected<std::vector<Text>> texts = readTexts(options, *tokenizer);
  if (!texts)
    return texts.error();
  Expected<ModelShape> shape = ModelShape::read(*file);
  if (!shape)
    return inFile(shape.error());
  // Each token has a row of the embedding, and each row a text.
  if (shape->vocabulary != tokenizer->size())
    return inFile({"'tokenizer.ggml.tokens': expected " +
                       std::to_string(shape->vocabulary) +
                       " tokens, as the embedding has rows, got " +
                       std::to_string(tokenizer->size()),
                   {}});
  Expected<CacheRoom> room = findRoom(*texts, options, *shape);
  if (!room)
    return room.error();
  Expected<Kernels> kernels = compile(options, *shape, ranks);
  if (!kernels)
    return kernels.error();
  Expected<ModelWeights> weights = load(*file, *shape, *kernels);
  if (!weights)
    return inFile(weights.error());
  *file = gguf::File();
  Expected<Model> model = Model::create(
      *kernels, std::make_shared<const ModelWeights>(std::move(*weights)),
      *room);
  if (!model)
    return model.error();
  return options.sequences.empty()
             ? continuePrompt(options, *tokenizer, *model, *texts)
             : continueFile(options, *tokenizer, *model, *texts);
}

/// The same as one of several processes, which all read the same.
static Status runRank(const Options &options) {
  Expected<attn::Ranks> ranks =
      attn::Ranks::create({.sharesCache = !options.cacheDirectory.empty()});
  if (!ranks)
    return ranks.error();
  if (ranks->rank() != 0) {
    std::FILE *nowhere = std::fopen("/dev/null", "w");
    if (!nowhere || !std::freopen("/dev/null", "w", stdout))
      return Error{"cannot open /dev/null", {}};
    progress = nowhere;
  }
  Status status = run(options, &*ranks);
  if (!status) {
    std::fprintf(stderr, "smollm2: error: %s\n",
                 status.error().message.c_str());
    ranks->abort(EXIT_FAILURE); // The others wait for this one.
  }
  return status;
}

int main(int argc, char **argv) {
  Expected<Options> options = Options::parse(argc, argv);
  if (options && options->help)
    print(usage);
  Status status = !options           ? Status(options.error())
                  : options->help    ? Status()
                  : options->ofRanks ? runRank(*options)
                                     : run(*options, nullptr);
  // What was printed before may be in no file, such as on a full disk.
  if (status && std::ferror(stdout))
    status = Error{"cannot write the text", {}};
  if (status)
    return EXIT_SUCCESS;
  std::fflush(stdout);
  std::fprintf(stderr, "smollm2: error: %s\n", status.error().message.c_str());
  return EXIT_FAILURE;
}
