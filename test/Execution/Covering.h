//===- Covering.h - Some cases of a product of choices ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case of a test compiles kernels, which is what tests take their time
// for. Where a test is about a product of choices, it runs as many cases as it
// takes for each choice to occur, or for each two of them to meet; all cases
// where `runsAllCases`.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_COVERING_H
#define ATTN_TEST_EXECUTION_COVERING_H

#include <cstddef>
#include <tuple>
#include <vector>

namespace attn::test {

/// How many choices have to meet in a case.
enum class Covering { choices, pairs };

/// The numbers of the choices of each case, of so many in each dimension, in
/// the product's order.
std::vector<std::vector<std::size_t>>
selectNumbers(Covering covering, const std::vector<std::size_t> &counts);

template <typename... T>
std::vector<std::tuple<T...>> selectCases(Covering covering,
                                          const std::vector<T> &...choices) {
  std::vector<std::tuple<T...>> cases;
  for (const std::vector<std::size_t> &at :
       selectNumbers(covering, {choices.size()...})) {
    std::size_t dim = 0;
    cases.push_back(std::tuple<T...>{choices[at[dim++]]...});
  }
  return cases;
}

/// Each choice in one case at least.
template <typename... T>
std::vector<std::tuple<T...>> coverChoices(const std::vector<T> &...choices) {
  return selectCases(Covering::choices, choices...);
}

/// Each two choices of different dimensions together in one case at least.
template <typename... T>
std::vector<std::tuple<T...>> coverPairs(const std::vector<T> &...choices) {
  return selectCases(Covering::pairs, choices...);
}

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_COVERING_H
