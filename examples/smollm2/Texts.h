//===- Texts.h - Texts that a model continues -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_TEXTS_H
#define ATTN_EXAMPLES_SMOLLM2_TEXTS_H

#include "examples/bpe/Tokenizer.h"
#include "examples/smollm2/Model.h"
#include "examples/smollm2/Options.h"
#include "examples/smollm2/Scheduler.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smollm2 {

/// A prompt, what is written after it, and when.
struct Text {
  std::string name; ///< In messages.
  std::string prompt;
  std::vector<std::int32_t> tokens; ///< Of the prompt.
  std::string written = {};
  std::int64_t numWritten = 0;
  double first = 0, last = 0; ///< Seconds until its first and last tokens.
  bool isDone = false;
  TextStatistics statistics = {};
};

/// The prompts that the options name. Errors name the prompt or its line: those
/// of readPrompts and of the tokenizer, and no text.
attn::Expected<std::vector<Text>> readTexts(const Options &options,
                                            const bpe::Tokenizer &tokenizer);

/// Room for them in a cache. Error: more tokens than the model was made for.
attn::Expected<CacheRoom> findRoom(const std::vector<Text> &texts,
                                   const Options &options,
                                   const ModelShape &shape);

/// Continues texts, as many at once as the options say. Calls `write` with what
/// a step has written of one, after it is noted in the text.
attn::Status
continueTexts(const Options &options, const bpe::Tokenizer &tokenizer,
              Model &model, std::vector<Text> &texts,
              const std::function<void(const Text &, std::string_view)> &write);

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_TEXTS_H
