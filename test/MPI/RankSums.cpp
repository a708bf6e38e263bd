//===- RankSums.cpp - What ranks reduce their parts to, in both ways ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Usage: rank-sums LIBRARY
// On four ranks: sums of all of them and of pairs, of sizes that leave the last
// shares smaller or empty, have the bits that adding in the order of the ranks
// gives, in either way. So have merges of attentions, which are as they should
// be, also where log-sum-exps are not finite. Which way the link would choose
// does not matter.
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Communicator.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::mpi;

namespace {

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::_Exit(1);
}

/// Numbers that are rounded when they are added.
template <typename T> std::vector<T> makePart(int rank, std::size_t size) {
  constexpr T factors[] = {1, 30000, -30000, 1};
  std::vector<T> part(size);
  for (std::size_t i = 0; i < size; ++i)
    part[i] = factors[rank] / T(3 + int(i) + 7 * rank);
  return part;
}

template <typename T>
std::vector<T> addParts(const std::vector<int> &ranks, std::size_t size) {
  std::vector<T> sum = makePart<T>(ranks.front(), size);
  for (std::size_t number = 1; number < ranks.size(); ++number) {
    std::vector<T> part = makePart<T>(ranks[number], size);
    for (std::size_t i = 0; i < size; ++i)
      sum[i] += part[i];
  }
  return sum;
}

std::vector<int> findRanks(const Communicator &communicator, Group group) {
  int self = communicator.getRank(),
      first = self - int(self / group.stride % group.count * group.stride);
  std::vector<int> ranks;
  for (int number = 0; number < group.count; ++number)
    ranks.push_back(first + number * int(group.stride));
  return ranks;
}

template <typename T>
void check(Communicator &communicator, Group group, std::size_t size) {
  std::string what = std::to_string(size) + " elements of " +
                     std::to_string(sizeof(T)) + " bytes of every " +
                     std::to_string(group.stride) + " of " +
                     std::to_string(group.count);
  std::vector<int> ranks = findRanks(communicator, group);
  std::vector<T> expected = addParts<T>(ranks, size);
  if (group.count > 2 && size > 4 &&
      expected == addParts<T>({ranks.rbegin(), ranks.rend()}, size))
    fail(what + ": expected numbers whose order matters");
  std::vector<T> part = makePart<T>(communicator.getRank(), size);
  auto expectBits = [&](const char *way, auto reduce) {
    std::vector<T> sum(size);
    if (Status status = (communicator.*reduce)(part, sum, group, "its part",
                                               Reduction::Sum);
        !status)
      fail(what + ", " + way + ": " + status.error().message);
    if (std::memcmp(sum.data(), expected.data(), size * sizeof(T)) != 0)
      fail(what + ", " + way + ": expected the bits of adding in order");
  };
  expectBits("whole", &Communicator::allReduceWhole<T>);
  expectBits("in shares", &Communicator::allReduceShares<T>);
  expectBits("as the link says", &Communicator::allReduce<T>);
}

/// Outputs and log-sum-exps of a rank, one after the other. Every row has
/// another kind of log-sum-exp.
template <typename T>
std::vector<T> makeState(int rank, std::size_t rows, std::size_t size) {
  constexpr T infinity = std::numeric_limits<T>::infinity(),
              nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> state = makePart<T>(rank, rows * size);
  for (std::size_t row = 0; row < rows; ++row) {
    T lse = T(rank) * T(0.37) - T(row % 7);
    const T kinds[] = {lse, -infinity, rank % 2 ? -infinity : lse,
                       rank % 2 ? infinity : lse, rank % 2 ? nan : lse};
    state.push_back(kinds[row % 5]);
    // What has no weight does not count, whatever it is.
    if (state.back() == -infinity)
      std::fill_n(state.begin() + std::ptrdiff_t(row * size), size, nan);
  }
  return state;
}

/// By the formula of attn.merge (M2), in another precision.
template <typename T>
std::vector<long double> mergeParts(const std::vector<int> &ranks,
                                    std::size_t rows, std::size_t size) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  std::vector<std::vector<T>> states;
  for (int rank : ranks)
    states.push_back(makeState<T>(rank, rows, size));
  std::vector<long double> merged(rows * (size + 1));
  for (std::size_t row = 0; row < rows; ++row) {
    T greatest = -infinity;
    bool isNaN = false;
    for (const std::vector<T> &state : states) {
      greatest = std::max(greatest, state[rows * size + row]);
      isNaN = isNaN || std::isnan(state[rows * size + row]);
    }
    long double weights = 0;
    for (const std::vector<T> &state : states) {
      T lse = state[rows * size + row];
      if (lse == -infinity)
        continue;
      long double weight = lse == greatest ? 1.0L : std::exp(lse - greatest);
      weights += weight;
      for (std::size_t i = row * size; i < (row + 1) * size; ++i)
        merged[i] += weight * state[i];
    }
    for (std::size_t i = row * size; i < (row + 1) * size; ++i)
      merged[i] = isNaN ? NAN : weights == 0 ? 0 : merged[i] / weights;
    merged[rows * size + row] = isNaN ? NAN : greatest + std::log(weights);
  }
  return merged;
}

template <typename T>
void checkMerge(Communicator &communicator, Group group, std::size_t rows) {
  constexpr std::size_t size = 3;
  std::string what = "a merge of " + std::to_string(rows) + " rows of " +
                     std::to_string(sizeof(T)) + " bytes of every " +
                     std::to_string(group.stride) + " of " +
                     std::to_string(group.count);
  std::vector<int> ranks = findRanks(communicator, group);
  std::vector<long double> expected = mergeParts<T>(ranks, rows, size);
  std::vector<T> first;
  auto merge = [&](const char *way, auto function) {
    // In its own place.
    std::vector<T> state = makeState<T>(communicator.getRank(), rows, size);
    AttentionState<T> merged{std::span(state).first(rows * size),
                             std::span(state).last(rows)};
    if (Status status = (communicator.*function)(
            {merged.output, merged.lse}, merged, group, "what its keys give");
        !status)
      fail(what + ", " + way + ": " + status.error().message);
    for (std::size_t i = 0; i < state.size(); ++i) {
      long double difference = std::fabs(state[i] - expected[i]),
                  bound = 4e-6L * (1 + std::fabs(expected[i]));
      bool isRight = std::isnan(expected[i])
                         ? std::isnan(state[i])
                         : state[i] == expected[i] || difference <= bound;
      if (!isRight)
        fail(what + ", " + way + ": expected " +
             std::to_string(double(expected[i])) + " for " + std::to_string(i) +
             ", got " + std::to_string(double(state[i])));
    }
    if (first.empty())
      first = state;
    if (std::memcmp(state.data(), first.data(), state.size() * sizeof(T)) != 0)
      fail(what + ", " + way + ": expected the bits of the other way");
  };
  merge("whole", &Communicator::allMergeWhole<T>);
  merge("reduced", &Communicator::allMergeReduced<T>);
  merge("as the link says", &Communicator::allMerge<T>);
  // On all ranks.
  std::vector<T> all(first.size() * std::size_t(group.count));
  if (Status status = communicator.allGather(
          std::as_bytes(std::span(first)),
          std::as_writable_bytes(std::span(all)), group, "its merge");
      !status)
    fail(status.error().message);
  for (std::size_t i = 0; i < all.size(); i += first.size())
    if (std::memcmp(&all[i], first.data(), first.size() * sizeof(T)) != 0)
      fail(what + ": expected the same bits on all ranks");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    fail("usage: rank-sums LIBRARY");
  Expected<std::shared_ptr<Communicator>> communicator =
      Communicator::create(argv[1], /*timeLimit=*/30);
  if (!communicator)
    fail(communicator.error().message);
  if ((*communicator)->getSize() != 4)
    fail("expected 4 ranks, got " + std::to_string((*communicator)->getSize()));
  // Fewer than ranks; with an empty last share; a smaller one; all alike.
  for (std::size_t size : {3, 5, 11, 4096})
    for (Group group : {Group{1, 4}, Group{1, 2}, Group{2, 2}}) {
      check<float>(**communicator, group, size);
      check<double>(**communicator, group, size);
      checkMerge<float>(**communicator, group, size);
      checkMerge<double>(**communicator, group, size);
    }
  checkMerge<float>(**communicator, {1, 4}, 0);
  std::printf("rank %d: the sums are right\n", (*communicator)->getRank());
}
