//===- CacheStep.cpp - Appends to a paged cache ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/paged_cache.h"

#include "runtime/Cache/CacheState.h"

#include <utility>

using namespace attn;
using namespace attn::cache;
using namespace attn::detail;
using Lock = std::lock_guard<std::mutex>;

//===----------------------------------------------------------------------===//
// Steps begin
//===----------------------------------------------------------------------===//

static std::unique_ptr<CacheStepState> takeSpare(CacheState &cache) {
  if (!cache.spareSteps)
    return std::make_unique<CacheStepState>();
  std::unique_ptr<CacheStepState> step = std::move(cache.spareSteps);
  cache.spareSteps = std::move(step->next);
  return step;
}

static void giveBack(CacheState &cache, std::unique_ptr<CacheStepState> step) {
  step->next = std::move(cache.spareSteps);
  cache.spareSteps = std::move(step);
}

/// Plans and begins a step.
static Expected<std::unique_ptr<CacheStepState>>
beginStep(CacheState &cache, std::span<const SequenceId> sequences,
          std::span<const std::int64_t> counts) {
  Lock lock(cache.mutex);
  std::unique_ptr<CacheStepState> step = takeSpare(cache);
  Expected<std::int64_t> newPages =
      cache.plan(sequences, counts, step->entries);
  if (!newPages) {
    giveBack(cache, std::move(step));
    return std::move(newPages).error();
  }
  if (std::int64_t free = cache.pool.countFree(); *newPages > free) {
    giveBack(cache, std::move(step));
    return Error{
        "argument 'counts': the new tokens need " + std::to_string(*newPages) +
            " new pages, and the cache has " + std::to_string(free) + " free",
        {}};
  }
  cache.begin(*step);
  return step;
}

/// Fills the pages that a step has instead of shared ones. Needs no lock: the
/// sequences keep the shared ones until the step is over, so nobody writes to
/// them.
static void copySharedRows(const CacheState &cache, CacheStepState &step) {
  for (std::size_t i = 0; i < step.entries.size(); ++i) {
    const CacheStepState::Entry &entry = step.entries[i];
    const Sequence &sequence = *entry.sequence;
    if (auto page = std::size_t(entry.keptPages); page < sequence.pages.size())
      cache.pool.copyRows(sequence.pages[page], step.getRow(i)[page],
                          sequence.length % cache.options.pageSize);
  }
}

Expected<CacheStep> PagedCache::append(std::span<const SequenceId> sequences,
                                       std::span<const std::int64_t> counts) {
  return catchNoMemory([&]() -> Expected<CacheStep> {
    Expected<std::unique_ptr<CacheStepState>> begun =
        beginStep(*state, sequences, counts);
    if (!begun)
      return std::move(begun).error();
    CacheStep step(state);
    step.state = *std::move(begun);
    copySharedRows(*state, *step.state);
    return step;
  });
}

Expected<std::int64_t>
PagedCache::countNewPages(std::span<const SequenceId> sequences,
                          std::span<const std::int64_t> counts) const {
  return catchNoMemory([&] {
    std::vector<CacheStepState::Entry> entries;
    Lock lock(state->mutex);
    return state->plan(sequences, counts, entries);
  });
}

//===----------------------------------------------------------------------===//
// Steps end
//===----------------------------------------------------------------------===//

static void endStep(CacheState &cache, std::unique_ptr<CacheStepState> step,
                    bool commit) noexcept {
  Lock lock(cache.mutex);
  cache.end(*step, commit);
  giveBack(cache, std::move(step));
}

CacheStep::CacheStep(std::shared_ptr<CacheState> cache)
    : cache(std::move(cache)) {}
CacheStep::CacheStep(CacheStep &&other) noexcept = default;

CacheStep &CacheStep::operator=(CacheStep &&other) noexcept {
  CacheStep old = std::move(other);
  cache.swap(old.cache);
  state.swap(old.state);
  return *this;
}

CacheStep::~CacheStep() {
  if (state)
    endStep(*cache, std::move(state), /*commit=*/false);
}

void CacheStep::commit() noexcept {
  if (state)
    endStep(*cache, std::move(state), /*commit=*/true);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Of `step`, or a view of rank -1 if it is empty.
static TensorView viewNumbers(const CacheStepState *step,
                              std::vector<std::int32_t> CacheStepState::*tensor,
                              bool isTable = false) {
  if (!step)
    return TensorView(nullptr, ElementType::i32, std::array{std::int64_t(0)},
                      {}, /*readOnly=*/true);
  std::array sizes = {std::int64_t(step->entries.size()), step->width};
  return TensorView(
      (step->*tensor).data(),
      std::span<const std::int64_t>(sizes).first(isTable ? 2 : 1));
}

TensorView CacheStep::table() const {
  return viewNumbers(state.get(), &CacheStepState::table, /*isTable=*/true);
}
TensorView CacheStep::lengths() const {
  return viewNumbers(state.get(), &CacheStepState::lengths);
}
TensorView CacheStep::counts() const {
  return viewNumbers(state.get(), &CacheStepState::counts);
}
TensorView CacheStep::newLengths() const {
  return viewNumbers(state.get(), &CacheStepState::newLengths);
}
