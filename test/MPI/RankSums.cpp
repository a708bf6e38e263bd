//===- RankSums.cpp - Sums of the parts of ranks, in both ways ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Usage: rank-sums LIBRARY
// On four ranks: sums of all of them and of pairs, of sizes that leave the last
// shares smaller or empty, have the bits that adding in the order of the ranks
// gives, in either way. Which of them the link would choose does not matter.
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Communicator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

template <typename T>
void check(Communicator &communicator, Group group, std::size_t size) {
  std::string what = std::to_string(size) + " elements of " +
                     std::to_string(sizeof(T)) + " bytes of every " +
                     std::to_string(group.stride) + " of " +
                     std::to_string(group.count);
  int self = communicator.getRank(),
      first = self - int(self / group.stride % group.count * group.stride);
  std::vector<int> ranks;
  for (int number = 0; number < group.count; ++number)
    ranks.push_back(first + number * int(group.stride));
  std::vector<T> expected = addParts<T>(ranks, size);
  if (group.count > 2 && size > 4 &&
      expected == addParts<T>({ranks.rbegin(), ranks.rend()}, size))
    fail(what + ": expected numbers whose order matters");
  std::vector<T> part = makePart<T>(self, size);
  auto expectBits = [&](const char *way, auto reduce) {
    std::vector<T> sum(size);
    if (Status status = (communicator.*reduce)(part, sum, group, "its part");
        !status)
      fail(what + ", " + way + ": " + status.error().message);
    if (std::memcmp(sum.data(), expected.data(), size * sizeof(T)) != 0)
      fail(what + ", " + way + ": expected the bits of adding in order");
  };
  expectBits("whole", &Communicator::allReduceWhole<T>);
  expectBits("in shares", &Communicator::allReduceShares<T>);
  expectBits("as the link says", &Communicator::allReduce<T>);
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
    }
  std::printf("rank %d: the sums are right\n", (*communicator)->getRank());
}
