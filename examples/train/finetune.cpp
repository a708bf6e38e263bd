//===- finetune.cpp - Trains the layers of a language model ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// finetune MODEL TEXT [--steps=N] [--batch=N] [--length=N] [--threads=N]
//          [--rate=NUMBER] [--tokens=FILE]
//
// Trains the layers of a model of the llama kind, from a file in the GGUF
// format, to say the next token of a text, by AdamW. Each step has other parts
// of the text, one after the other. Prints the loss and the seconds of each.
// --tokens writes what is trained on, for another program to do the same:
// (steps, batch, length + 1) numbers of i32.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "examples/bpe/Tokenizer.h"
#include "examples/gguf/File.h"
#include "examples/smollm2/ModelShape.h"
#include "examples/smollm2/Stopwatch.h"
#include "examples/train/FineTuning.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using attn::Error;
using attn::Expected;
using attn::Status;

namespace {
struct Options {
  std::string model, text, tokens;
  std::int64_t steps = 50, batch = 2, length = 128, threads = 0;
  double rate = 2e-5;
};
} // namespace

/// Reads all of `text` as a number from `least` to `most`.
template <typename T>
static bool parse(std::string_view text, T least, T most, T &number) {
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && number >= least &&
         number <= most;
}

static bool parse(int argc, char **argv, Options &options) {
  constexpr std::int64_t most = 1 << 20;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (!argument.starts_with("--")) {
      files.emplace_back(argument);
      continue;
    }
    std::size_t end = argument.find('=');
    if (end == std::string_view::npos)
      return false;
    std::string_view name = argument.substr(2, end - 2),
                     value = argument.substr(end + 1);
    const std::map<std::string_view, std::int64_t *> counts = {
        {"steps", &options.steps},
        {"batch", &options.batch},
        {"length", &options.length},
        {"threads", &options.threads}};
    if (auto count = counts.find(name); count != counts.end()) {
      if (!parse<std::int64_t>(value, name == "threads" ? 0 : 1, most,
                               *count->second))
        return false;
    } else if (name == "rate") {
      if (!parse(value, 0.0, 1.0, options.rate))
        return false;
    } else if (name == "tokens") {
      options.tokens = value;
    } else {
      return false;
    }
  }
  if (files.size() != 2)
    return false;
  options.model = files[0];
  options.text = files[1];
  return true;
}

/// The tokens of all steps: parts of the text, each one longer than what is
/// read of it, since its last token only follows.
static Expected<std::vector<std::int32_t>>
readTokens(const Options &options, const bpe::Tokenizer &tokenizer) {
  std::ifstream file(options.text, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    return Error{options.text + ": cannot be read", {}};
  Expected<std::vector<std::int32_t>> tokens = tokenizer.encode(text.str());
  if (!tokens)
    return Error{options.text + ": " + tokens.error().message, {}};
  std::int64_t needed = options.steps * options.batch * (options.length + 1);
  if (std::int64_t(tokens->size()) < needed)
    return Error{options.text + ": expected " + std::to_string(needed) +
                     " tokens for these steps, got " +
                     std::to_string(tokens->size()),
                 {}};
  tokens->resize(std::size_t(needed));
  return tokens;
}

static Status writeTokens(const std::string &path,
                          const std::vector<std::int32_t> &tokens) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(tokens.data()),
             std::streamsize(tokens.size() * sizeof(tokens[0])));
  if (!file.flush())
    return Error{path + ": cannot be written", {}};
  return {};
}

static Status train(const Options &options) {
  Expected<gguf::File> file = gguf::File::read(options.model);
  if (!file)
    return file.error();
  Expected<smollm2::ModelShape> shape = smollm2::ModelShape::read(*file);
  if (!shape)
    return shape.error();
  Expected<bpe::Tokenizer> tokenizer = bpe::Tokenizer::create(*file);
  if (!tokenizer)
    return tokenizer.error();
  Expected<std::vector<std::int32_t>> tokens = readTokens(options, *tokenizer);
  if (!tokens)
    return tokens.error();
  if (!options.tokens.empty())
    if (Status status = writeTokens(options.tokens, *tokens); !status)
      return status;
  Expected<attn::Engine> engine =
      attn::Engine::create({.threads = unsigned(options.threads)});
  if (!engine)
    return engine.error();
  Expected<finetune::FineTuning> training = finetune::FineTuning::create(
      *engine, *shape, options.batch, options.length);
  if (!training)
    return training.error();
  if (Status status = training->load(*file); !status)
    return status;
  auto count = std::size_t(options.batch * (options.length + 1));
  for (std::int64_t step = 0; step < options.steps; ++step) {
    smollm2::Stopwatch watch;
    Expected<double> loss = training->computeGradients(
        std::span(*tokens).subspan(std::size_t(step) * count, count));
    if (!loss)
      return loss.error();
    if (Status status = training->update(options.rate); !status)
      return status;
    std::printf("step %3lld: loss %.6f, %.3f s\n",
                static_cast<long long>(step + 1), *loss, watch.seconds());
    std::fflush(stdout);
  }
  return {};
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s MODEL TEXT [--steps=N] [--batch=N] [--length=N]\n"
                 "       [--threads=N] [--rate=NUMBER up to 1] "
                 "[--tokens=FILE]\n",
                 argv[0]);
    return 2;
  }
  if (Status status = train(options); !status) {
    std::fprintf(stderr, "%s\n", attn::formatError(status.error()).c_str());
    return 1;
  }
  return 0;
}
