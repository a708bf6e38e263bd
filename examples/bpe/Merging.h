//===- Merging.h - Pairs of symbols become one ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_BPE_MERGING_H
#define ATTN_EXAMPLES_BPE_MERGING_H

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace bpe {

/// Two symbols that are merged to a token.
struct Merge {
  double rank = 0; ///< Lower ones come first.
  std::int32_t token = 0;
};

/// Merges the pair of the lowest rank, the leftmost one of them, until there is
/// none. `find(left, right)` is the merge of two symbols, which are not
/// negative, or nothing. Takes n log n steps, whatever is typed.
template <typename Find>
void mergePairs(std::vector<std::int32_t> &symbols, const Find &find) {
  // A merged symbol stays at the place of its left part; the other is -1.
  std::vector<std::size_t> previous(symbols.size()), next(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    previous[i] = i - 1;
    next[i] = i + 1;
  }
  struct Candidate {
    double rank;
    std::size_t place;
    std::int32_t left, right, merged;
    bool operator>(const Candidate &other) const {
      return std::tie(rank, place) > std::tie(other.rank, other.place);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  auto consider = [&](std::size_t place) {
    if (place >= symbols.size() || next[place] >= symbols.size())
      return;
    std::int32_t left = symbols[place], right = symbols[next[place]];
    if (std::optional<Merge> merge = find(left, right))
      queue.push({merge->rank, place, left, right, merge->token});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i)
    consider(i);
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    std::size_t place = best.place, after = next[place];
    // One of them may have been merged since.
    if (symbols[place] != best.left || after >= symbols.size() ||
        symbols[after] != best.right)
      continue;
    symbols[place] = best.merged;
    symbols[after] = -1;
    next[place] = next[after];
    if (next[place] < symbols.size())
      previous[next[place]] = place;
    consider(previous[place]);
    consider(place);
  }
  std::erase(symbols, -1);
}

} // namespace bpe

#endif // ATTN_EXAMPLES_BPE_MERGING_H
