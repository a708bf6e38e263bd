//===- AsyncCopies.h - The asynchronous copies of a thread --- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_ASYNCCOPIES_H
#define ATTN_RUNTIME_EMULATOR_ASYNCCOPIES_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace attn::emulator {

struct Mbarrier;

/// Copies from global to shared memory that a thread has issued by cp.async, in
/// groups that it waits for in order. A copy takes place at some moment until
/// then; its target is marked as in flight for all of that time.
class AsyncCopies {
public:
  struct Copy {
    char *target;
    const char *source;
    std::size_t bytes;       ///< Of the target.
    std::size_t sourceBytes; ///< At most `bytes`; the rest becomes zero.
    const char *site;
  };
  using Done = std::function<void(const Copy &)>;

  void issue(const Copy &copy) {
    open.push_back({copy, numIssued++, /*hasArrived=*/false});
  }
  /// Makes what was issued since the last call a group.
  void commit();
  /// Waits until all groups but the `count` youngest have arrived, and calls
  /// `done` for each of their copies.
  void wait(std::size_t count, const Done &done);
  /// Notes that `mbarrier` is to know when all copies until now have arrived.
  void track(Mbarrier &mbarrier) { tracked.push_back({&mbarrier, numIssued}); }
  /// Lets the copies arrive that the next of these mbarriers is to know of,
  /// which nothing has waited for, and calls `done` for each. Gives the
  /// mbarrier.
  Mbarrier &finishTracked(const Done &done);
  /// Lets one copy arrive, which `choice` picks.
  void arriveEarly(std::size_t choice);
  bool hasPending() const { return !open.empty() || !groups.empty(); }
  void clear();

private:
  struct Issued {
    Copy copy;
    std::uint64_t number;
    bool hasArrived;
  };
  using Group = std::vector<Issued>;
  static void arrive(Issued &issued);

  Group open;
  std::deque<Group> groups;
  struct Tracked {
    Mbarrier *mbarrier;
    std::uint64_t numCopies; ///< Those it is to know of.
  };
  std::deque<Tracked> tracked;
  std::uint64_t numIssued = 0;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_ASYNCCOPIES_H
