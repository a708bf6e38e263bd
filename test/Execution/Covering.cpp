//===- Covering.cpp - Some cases of a product of choices ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/Random.h"

#include <algorithm>
#include <array>
#include <set>

using namespace attn::test;

using Case = std::vector<std::size_t>;

static std::vector<Case> listAll(const std::vector<std::size_t> &counts) {
  std::vector<Case> cases = {{}};
  for (std::size_t count : counts) {
    std::vector<Case> longer;
    for (const Case &shorter : cases)
      for (std::size_t i = 0; i < count; ++i) {
        longer.push_back(shorter);
        longer.back().push_back(i);
      }
    cases = std::move(longer);
  }
  return cases;
}

/// What of a case has to be covered: its choices, or pairs of them.
static std::set<std::array<std::size_t, 4>> listParts(Covering covering,
                                                      const Case &of) {
  std::set<std::array<std::size_t, 4>> parts;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (covering == Covering::choices)
      parts.insert({i, of[i], i, of[i]});
    else
      for (std::size_t j = 0; j < i; ++j)
        parts.insert({i, of[i], j, of[j]});
  return parts;
}

// Takes the case that covers most of what is left, again and again.
std::vector<Case>
attn::test::selectNumbers(Covering covering,
                          const std::vector<std::size_t> &counts) {
  std::vector<Case> all = listAll(counts), selected;
  if (runsAllCases())
    return all;
  std::set<std::array<std::size_t, 4>> left;
  for (const Case &one : all)
    left.merge(listParts(covering, one));
  auto countNew = [&](const Case &one) {
    auto parts = listParts(covering, one);
    return std::ranges::count_if(
        parts, [&](const auto &part) { return left.contains(part); });
  };
  while (!left.empty()) {
    const Case &best = *std::ranges::max_element(all, {}, countNew);
    for (const auto &part : listParts(covering, best))
      left.erase(part);
    selected.push_back(best);
  }
  std::ranges::sort(selected);
  return selected;
}
