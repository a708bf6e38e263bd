//===- AsyncCopies.h - The asynchronous copies of a thread --- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_ASYNCCOPIES_H
#define ATTN_RUNTIME_EMULATOR_ASYNCCOPIES_H

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace attn::emulator {

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

  void issue(const Copy &copy) { open.push_back({copy, /*hasArrived=*/false}); }
  /// Makes what was issued since the last call a group.
  void commit();
  /// Waits until all groups but the `count` youngest have arrived, and calls
  /// `done` for each of their copies.
  void wait(std::size_t count, const std::function<void(const Copy &)> &done);
  /// Lets one copy arrive, which `choice` picks.
  void arriveEarly(std::size_t choice);
  bool hasPending() const { return !open.empty() || !groups.empty(); }
  void clear();

private:
  struct Issued {
    Copy copy;
    bool hasArrived;
  };
  using Group = std::vector<Issued>;
  static void arrive(Issued &issued);

  Group open;
  std::deque<Group> groups;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_ASYNCCOPIES_H
