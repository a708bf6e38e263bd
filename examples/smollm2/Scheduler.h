//===- Scheduler.h - Which sequences a step reads ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Continuous batching (Yu et al., "Orca", OSDI 2022): every step reads what it
// can of all sequences that run, and a sequence that ends makes room for one
// that waits. Prompts are read in chunks beside the tokens of others (Agrawal
// et al., arXiv:2308.16369).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_SCHEDULER_H
#define ATTN_EXAMPLES_SMOLLM2_SCHEDULER_H

#include "attn/error.h"
#include "attn/paged_cache.h"
#include "examples/smollm2/Model.h"
#include "examples/smollm2/Sampler.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smollm2 {

/// A text that is to go on.
struct Request {
  std::vector<std::int32_t> prompt;
  std::int64_t tokens = 0; ///< How many may be written, at least 1.
  Sampler sampler;         ///< Of this text alone.
};

struct SchedulerOptions {
  std::int64_t sequences = 8;    ///< How many run at the same time.
  std::int64_t stepTokens = 512; ///< That a step reads; at least `sequences`.
  /// How many tokens are guessed ahead and read with the last one; see `draft`.
  std::int64_t draftTokens = 0;
  std::int32_t endToken = -1; ///< After which nothing follows.
};

/// What a step did for a text.
struct Progress {
  std::size_t text;                 ///< Its number.
  std::vector<std::int32_t> tokens; ///< That were written.
  bool isDone;
};

/// How texts were read, beside what they say.
struct TextStatistics {
  std::int64_t shared = 0;   ///< Tokens of the prompt that another has read.
  std::int64_t drafted = 0;  ///< Tokens that were guessed.
  std::int64_t accepted = 0; ///< And that were right.
};

/// Says what each step of a model reads, and takes the logits that it gives.
/// What is written of a text does not depend on other texts, nor on how many
/// tokens are guessed.
class Scheduler {
public:
  /// `cache` has room for `options.sequences` of the longest texts.
  Scheduler(const attn::PagedCache &cache, const SchedulerOptions &options);

  /// Numbers count from 0. Errors: an empty prompt, fewer than 1 token.
  attn::Expected<std::size_t> add(Request request);

  /// What the next step is to read; nothing if all texts are done. Lives until
  /// the next call.
  attn::Expected<std::span<const Chunk>> plan();

  /// Takes the logits that the planned step gave, `vocabulary` in a row.
  attn::Expected<std::vector<Progress>> advance(std::span<const float> logits,
                                                std::int64_t vocabulary);

  const TextStatistics &statistics(std::size_t text) const {
    return texts[text].statistics;
  }

private:
  enum class State { waiting, running, done };
  struct Text {
    std::vector<std::int32_t> tokens; ///< Prompt, and what was written.
    std::size_t promptLength = 0;
    std::size_t maximumLength = 0;
    Sampler sampler;
    State state = State::waiting;
    attn::SequenceId sequence{};
    std::size_t numRead = 0;
    TextStatistics statistics;
    /// What the planned step reads of it, the last ones guessed.
    std::vector<std::int32_t> planned = {};
    std::int64_t numLogits = 0;
  };

  /// Another text that begins like this one, and for how many tokens; the text
  /// itself and 0 if there is none worth sharing.
  std::pair<std::size_t, std::size_t> findPrefix(std::size_t text) const;
  /// Begins to read a text, if it need not wait for another's prefix.
  attn::Expected<bool> begin(std::size_t text);
  void planText(std::size_t text, std::int64_t &budget);
  attn::Expected<Progress> takeLogits(std::size_t text,
                                      std::span<const float> logits,
                                      std::int64_t vocabulary);

  attn::PagedCache cache;
  const SchedulerOptions options;
  std::vector<Text> texts;
  std::vector<std::size_t> running; ///< In the order in which they began.
  std::size_t firstWaiting = 0;
  std::vector<std::size_t> planned; ///< Texts of the step.
  std::vector<Chunk> chunks;
};

/// Guesses what follows: what came after the last place where the text has the
/// same few tokens as at its end ("prompt lookup"; Saxena, 2023), at most
/// `count` tokens. A step that reads the guesses tells which are right
/// (Leviathan et al., arXiv:2211.17192).
std::vector<std::int32_t> draft(std::span<const std::int32_t> tokens,
                                std::int64_t count);

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_SCHEDULER_H
