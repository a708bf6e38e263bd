//===- CacheState.cpp - Sequences and steps of a paged cache --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache/CacheState.h"

#include <algorithm>

using namespace attn;
using namespace attn::cache;
using namespace attn::detail;

Expected<Sequence *> CacheState::find(const char *argument, SequenceId id) {
  auto found = sequences.find(std::int64_t(id));
  if (found == sequences.end())
    return makeError(argument, "a sequence of this cache that was not freed",
                     std::to_string(std::int64_t(id)));
  return &found->second;
}

Expected<std::int64_t>
CacheState::plan(std::span<const SequenceId> sequences,
                 std::span<const std::int64_t> counts,
                 std::vector<CacheStepState::Entry> &entries) {
  const char *sequencesName = "argument 'sequences'";
  const char *countsName = "argument 'counts'";
  if (counts.size() != sequences.size())
    return makeError(countsName,
                     std::to_string(sequences.size()) +
                         " numbers, one for each sequence",
                     std::to_string(counts.size()));
  entries.clear();
  entries.reserve(sequences.size());
  ++batches;
  std::int64_t newPages = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    Expected<Sequence *> found = find(sequencesName, sequences[i]);
    if (!found)
      return std::move(found).error();
    Sequence &sequence = **found;
    std::string name = std::to_string(std::int64_t(sequences[i]));
    std::int64_t count = counts[i];
    if (sequence.batch == batches)
      return makeError(sequencesName, "each sequence once", name + " again");
    sequence.batch = batches;
    if (sequence.appending || (count != 0 && sequence.readers > 0))
      return makeError(sequencesName, "sequences that no other step uses",
                       name);
    if (count < 0)
      return makeError(countsName, "at least 0 for sequence " + name,
                       std::to_string(count));
    if (count > largest - sequence.length)
      return makeError(countsName,
                       "at most " + std::to_string(largest - sequence.length) +
                           " for sequence " + name + " of length " +
                           std::to_string(sequence.length),
                       std::to_string(count));

    auto keptPages = std::int64_t(sequence.pages.size());
    std::int64_t length = sequence.length + count;
    std::int64_t pages =
        length / options.pageSize + (length % options.pageSize != 0);
    // Rows that others have in the page stay as they are.
    if (count > 0 && sequence.length % options.pageSize != 0 &&
        pool.isShared(sequence.pages.back()))
      --keptPages;
    entries.push_back({&sequence, count, keptPages, pages});
    newPages += pages - keptPages;
  }
  return newPages;
}

void CacheState::begin(CacheStepState &step) {
  std::size_t size = step.entries.size();
  step.width = 0;
  for (const CacheStepState::Entry &entry : step.entries) {
    step.width = std::max(step.width, entry.pages);
    // Grows by factors, not by each page, and now, so that `end` cannot fail.
    std::vector<std::int32_t> &pages = entry.sequence->pages;
    auto needed = std::size_t(entry.pages);
    if (pages.capacity() < needed)
      pages.reserve(std::max(needed, 2 * pages.capacity()));
  }
  for (auto *tensor : {&step.lengths, &step.counts, &step.newLengths})
    tensor->resize(size);
  step.table.resize(size * std::size_t(step.width));

  for (std::size_t i = 0; i < size; ++i) {
    const CacheStepState::Entry &entry = step.entries[i];
    Sequence &sequence = *entry.sequence;
    step.lengths[i] = std::int32_t(sequence.length);
    step.counts[i] = std::int32_t(entry.count);
    step.newLengths[i] = std::int32_t(sequence.length + entry.count);
    std::int32_t *row = step.getRow(i);
    std::copy_n(sequence.pages.data(), entry.keptPages, row);
    for (std::int64_t page = entry.keptPages; page < entry.pages; ++page)
      row[page] = pool.allocate();
    std::fill(row + entry.pages, row + step.width, -1);
    if (entry.count > 0)
      sequence.appending = true;
    else
      ++sequence.readers;
  }
}

void CacheState::end(CacheStepState &step, bool commit) noexcept {
  for (std::size_t i = 0; i < step.entries.size(); ++i) {
    const CacheStepState::Entry &entry = step.entries[i];
    Sequence &sequence = *entry.sequence;
    std::int32_t *row = step.getRow(i);
    std::span newPages(row + entry.keptPages, row + entry.pages);
    if (entry.count == 0) {
      --sequence.readers;
      continue;
    }
    sequence.appending = false;
    if (!commit) {
      for (std::int32_t page : newPages)
        pool.release(page);
      continue;
    }
    for (std::size_t page = std::size_t(entry.keptPages);
         page < sequence.pages.size(); ++page)
      pool.release(sequence.pages[page]);
    sequence.pages.resize(std::size_t(entry.keptPages));
    sequence.pages.insert(sequence.pages.end(), newPages.begin(),
                          newPages.end());
    sequence.length += entry.count;
  }
  step.entries.clear();
}
