//===- Scheduler.cpp - Which sequences a step reads -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Scheduler.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using attn::SequenceId;
using attn::Status;

std::vector<std::int32_t> smollm2::draft(std::span<const std::int32_t> tokens,
                                         std::int64_t count) {
  // Longer matches are rarely there, shorter ones are rarely right.
  constexpr std::size_t longest = 3, shortest = 2;
  for (std::size_t length = longest; length >= shortest; --length) {
    if (tokens.size() <= length)
      continue;
    auto last = tokens.last(length), before = tokens.first(tokens.size() - 1);
    auto found = std::ranges::find_end(before, last);
    if (found.empty())
      continue;
    auto follows = tokens.subspan(std::size_t(found.end() - before.begin()));
    follows = follows.first(std::min(follows.size(), std::size_t(count)));
    return {follows.begin(), follows.end()};
  }
  return {};
}

Scheduler::Scheduler(const attn::PagedCache &cache,
                     const SchedulerOptions &options)
    : cache(cache), options(options) {}

Expected<std::size_t> Scheduler::add(Request request) {
  if (request.prompt.empty())
    return Error{"expected a prompt of at least 1 token, got none", {}};
  if (request.tokens < 1)
    return Error{"expected at least 1 token to write, got " +
                     std::to_string(request.tokens),
                 {}};
  std::size_t length = request.prompt.size();
  texts.push_back({.tokens = std::move(request.prompt),
                   .promptLength = length,
                   .maximumLength = length + std::size_t(request.tokens),
                   .sampler = request.sampler});
  return texts.size() - 1;
}

//===----------------------------------------------------------------------===//
// Before a step
//===----------------------------------------------------------------------===//

std::pair<std::size_t, std::size_t>
Scheduler::findPrefix(std::size_t text) const {
  std::pair<std::size_t, std::size_t> best = {text, 0};
  // The last token of a prompt is read for its logits.
  auto mine = std::span(texts[text].tokens).first(texts[text].promptLength - 1);
  for (std::size_t other : running) {
    if (other == text) // Later ones wait for earlier ones, if at all.
      break;
    const std::vector<std::int32_t> &tokens = texts[other].tokens;
    auto end = std::ranges::mismatch(mine, tokens).in1;
    auto length = std::size_t(end - mine.begin());
    if (length >= std::size_t(Model::pageSize) && length > best.second)
      best = {other, length};
  }
  return best;
}

Expected<bool> Scheduler::begin(std::size_t number) {
  Text &text = texts[number];
  auto [other, length] = findPrefix(number);
  if (length > texts[other].numRead)
    return false;
  Expected<SequenceId> sequence =
      length > 0 ? cache.fork(texts[other].sequence, std::int64_t(length))
                 : cache.createSequence();
  if (!sequence)
    return sequence.error();
  text.sequence = *sequence;
  text.state = State::running;
  text.numRead = length;
  text.statistics.shared = std::int64_t(length);
  return true;
}

void Scheduler::planText(std::size_t number, std::int64_t &budget) {
  Text &text = texts[number];
  auto rest = std::span(text.tokens).subspan(text.numRead);
  rest = rest.first(std::min(rest.size(), std::size_t(budget)));
  text.planned.assign(rest.begin(), rest.end());
  bool isAll = text.numRead + rest.size() == text.tokens.size();
  text.numLogits = isAll ? 1 : 0;
  if (isAll && options.draftTokens > 0) {
    // One more is written than was guessed.
    auto most = std::int64_t(text.maximumLength - text.tokens.size()) - 1;
    std::int64_t count = std::min({options.draftTokens, most,
                                   budget - std::int64_t(text.planned.size())});
    std::vector<std::int32_t> guess =
        draft(text.tokens, std::max<std::int64_t>(count, 0));
    text.planned.insert(text.planned.end(), guess.begin(), guess.end());
    text.numLogits += std::int64_t(guess.size());
    text.statistics.drafted += std::int64_t(guess.size());
  }
  if (text.planned.empty())
    return;
  budget -= std::int64_t(text.planned.size());
  planned.push_back(number);
  chunks.push_back({text.sequence, text.planned, text.numLogits});
}

Expected<std::span<const Chunk>> Scheduler::plan() {
  while (firstWaiting < texts.size() &&
         std::int64_t(running.size()) < options.sequences)
    running.push_back(firstWaiting++);
  planned.clear();
  chunks.clear();
  // Each that writes has a token, before prompts and guesses take the rest.
  auto isWriting = [&](std::size_t text) {
    return texts[text].numRead + 1 == texts[text].tokens.size();
  };
  std::int64_t budget = options.stepTokens,
               numWriting = std::ranges::count_if(running, isWriting);
  budget -= numWriting;
  for (bool writing : {true, false})
    for (std::size_t text : running) {
      if (isWriting(text) != writing || (!writing && budget == 0))
        continue;
      if (texts[text].state == State::waiting) {
        Expected<bool> begun = begin(text);
        if (!begun)
          return begun.error();
        if (!*begun)
          continue;
      }
      budget += writing; // The one that was kept.
      planText(text, budget);
    }
  return std::span<const Chunk>(chunks);
}

//===----------------------------------------------------------------------===//
// After a step
//===----------------------------------------------------------------------===//

/// Takes rows of logits for as long as what is sampled is what was guessed.
Expected<Progress> Scheduler::takeLogits(std::size_t number,
                                         std::span<const float> logits,
                                         std::int64_t vocabulary) {
  Text &text = texts[number];
  Progress progress{.text = number, .tokens = {}, .isDone = false};
  std::size_t numGuessed =
      std::size_t(std::max<std::int64_t>(text.numLogits - 1, 0));
  text.numRead += text.planned.size() - numGuessed;
  auto guess = std::span(text.planned).last(numGuessed);
  for (std::size_t i = 0; i < std::size_t(text.numLogits); ++i) {
    std::int32_t token = text.sampler.sample(
        logits.subspan(i * std::size_t(vocabulary), std::size_t(vocabulary)));
    if (token == options.endToken) {
      progress.isDone = true;
      break;
    }
    text.tokens.push_back(token);
    progress.tokens.push_back(token);
    if (text.tokens.size() == text.maximumLength) {
      progress.isDone = true;
      break;
    }
    if (i == numGuessed || guess[i] != token)
      break;
    ++text.numRead;
    ++text.statistics.accepted;
  }
  if (progress.isDone) {
    text.state = State::done;
    std::erase(running, number);
    if (Status status = cache.free(text.sequence); !status)
      return status.error();
  } else if (numGuessed > 0) {
    if (Status status =
            cache.truncate(text.sequence, std::int64_t(text.numRead));
        !status)
      return status.error();
  }
  return progress;
}

Expected<std::vector<Progress>>
Scheduler::advance(std::span<const float> logits, std::int64_t vocabulary) {
  std::vector<Progress> result;
  for (std::size_t text : planned) {
    auto count = std::size_t(texts[text].numLogits * vocabulary);
    Expected<Progress> progress =
        takeLogits(text, logits.first(count), vocabulary);
    if (!progress)
      return progress.error();
    logits = logits.subspan(count);
    if (!progress->tokens.empty() || progress->isDone)
      result.push_back(std::move(*progress));
  }
  return result;
}
