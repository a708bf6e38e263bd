//===- Texts.cpp - Texts that a model continues ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Texts.h"

#include "examples/smollm2/Prompts.h"
#include "examples/smollm2/Stopwatch.h"

#include <algorithm>
#include <utility>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using attn::Status;

Expected<std::vector<Text>>
smollm2::readTexts(const Options &options, const bpe::Tokenizer &tokenizer) {
  std::vector<std::string> prompts = {options.prompt};
  bool isFile = !options.sequences.empty();
  if (isFile) {
    Expected<std::vector<std::string>> read = readPrompts(options.sequences);
    if (!read)
      return read.error();
    prompts = std::move(*read);
  }
  std::vector<Text> texts;
  for (std::string &prompt : prompts) {
    std::string name =
        isFile ? options.sequences + ":" + std::to_string(texts.size() + 1)
               : "the prompt";
    Expected<std::vector<std::int32_t>> tokens = tokenizer.encode(prompt);
    if (!tokens)
      return Error{name + ": " + tokens.error().message, {}};
    if (tokens->empty())
      return Error{name + ": expected text, got none", {}};
    texts.push_back({std::move(name), std::move(prompt), std::move(*tokens)});
  }
  return texts;
}

Expected<CacheRoom> smollm2::findRoom(const std::vector<Text> &texts,
                                      const Options &options,
                                      const ModelShape &shape) {
  CacheRoom room{.sequences =
                     std::min(options.batch, std::int64_t(texts.size())),
                 .tokens = 0};
  for (const Text &text : texts) {
    auto length = std::int64_t(text.tokens.size());
    if (length + options.tokens > shape.context)
      return Error{text.name + " and --tokens: expected at most " +
                       std::to_string(shape.context) +
                       " tokens, for which the model was made, got " +
                       std::to_string(length) + " and " +
                       std::to_string(options.tokens),
                   {}};
    room.tokens = std::max(room.tokens, length + options.tokens);
  }
  return room;
}

Status smollm2::continueTexts(
    const Options &options, const bpe::Tokenizer &tokenizer, Model &model,
    std::vector<Text> &texts,
    const std::function<void(const Text &, std::string_view)> &write) {
  Scheduler scheduler(model.cache(), {.sequences = options.batch,
                                      .stepTokens = options.stepTokens,
                                      .draftTokens = options.draftTokens,
                                      .endToken = tokenizer.endToken()});
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (Expected<std::size_t> added =
            scheduler.add({texts[i].tokens, options.tokens,
                           Sampler(options.temperature, options.seed + i)});
        !added)
      return added.error();
  Stopwatch watch;
  while (true) {
    Expected<std::span<const Chunk>> chunks = scheduler.plan();
    if (!chunks)
      return chunks.error();
    if (chunks->empty())
      return {};
    Expected<std::span<const float>> logits = model.read(*chunks);
    if (!logits)
      return logits.error();
    Expected<std::vector<Progress>> progress =
        scheduler.advance(*logits, model.vocabulary());
    if (!progress)
      return progress.error();
    double now = watch.seconds();
    for (const Progress &step : *progress) {
      Text &text = texts[step.text];
      std::string bytes;
      for (std::int32_t token : step.tokens)
        bytes += tokenizer.decode(token);
      if (text.numWritten == 0)
        text.first = now;
      text.last = now;
      text.numWritten += std::int64_t(step.tokens.size());
      text.isDone = step.isDone;
      text.statistics = scheduler.statistics(step.text);
      text.written += bytes;
      write(text, bytes);
    }
  }
}
