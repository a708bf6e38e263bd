//===- Communicator.h - Messages between ranks ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One communicator of a process, a copy of MPI_COMM_WORLD with errors that
// return. Nothing waits longer than a time limit: what has not come by then is
// an error that names the rank, after which the communicator is of no use, as
// messages may still arrive in memory that is gone.
//
// MPI is called by one thread at a time. Libraries move large messages only
// while they are called: a thread does that while the kernel computes, if MPI
// allows calls of any thread.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MPI_COMMUNICATOR_H
#define ATTN_RUNTIME_MPI_COMMUNICATOR_H

#include "runtime/MPI/Library.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace attn::mpi {

/// A part of a message that lies together.
struct Piece {
  std::byte *data;
  std::size_t bytes;
};

/// What a message of `n` bytes takes between ranks that all send at the same
/// time: `latency + n / bandwidth` seconds.
struct Link {
  double latency = 0, bandwidth = 0;
  /// All ranks are on one machine.
  bool isShared = true;

  /// What it takes until all of so many ranks have the `bytes` of each.
  double timeToGather(double bytes, double ranks) const {
    return latency + (ranks - 1) * bytes / bandwidth;
  }
  /// The same until each has its share of all, and then all shares.
  double timeToShare(double bytes, double ranks) const {
    return 2 * latency + 2 * (ranks - 1) * bytes / (ranks * bandwidth);
  }
  double timeToReduce(double bytes, double ranks) const {
    return std::min(timeToGather(bytes, ranks), timeToShare(bytes, ranks));
  }
};

/// What ranks make of elements that all of them have.
enum class Reduction { Sum, Maximum };

/// The attention of some rows over some keys: outputs, one row after the other,
/// and the log-sum-exp of each.
template <typename T> struct AttentionState {
  std::span<T> output, lse;
};

/// The ranks of a group: every `stride`-th, `count` of them.
struct Group {
  std::int64_t stride, count;
};

/// Messages that were started, and have not all arrived.
class Transfer {
public:
  bool isEmpty() const { return pending.empty(); }

private:
  friend class Communicator;
  struct Request {
    Handle handle;
    int peer, bytes;
    bool isSend;
  };
  std::vector<Request> pending;
};

class Communicator {
public:
  /// Of this process. Starts MPI if the host has not; ends it then, too. One
  /// that lives is given again, with its time limit.
  static Expected<std::shared_ptr<Communicator>>
  create(const std::string &library, double timeLimit);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  /// That of the process, or null.
  static Communicator *getCurrent();

  int getRank() const { return rank; }
  int getSize() const { return size; }
  const std::string &getVersion() const { return library->version; }
  /// The slowest of all ranks, as it was when they met.
  const Link &getLink() const { return link; }
  std::uint64_t getBytesSent() const { return bytesSent; }

  /// Starts to send and to receive, in this order between two ranks. The memory
  /// has to stay until `wait` returns.
  Status start(Transfer &transfer, std::span<const Piece> sent, int to,
               std::span<const Piece> received, int from);
  /// Waits for all of it. `what` says what is exchanged.
  Status wait(Transfer &transfer, const std::string &what);

  /// Lets messages move while the caller computes, until `wait`, as those of
  /// other transfers may at the same time.
  void moveMeanwhile(Transfer &transfer);

  /// What every rank of the group has.
  Status allGather(std::span<const std::byte> part, std::span<std::byte> all,
                   Group group, const std::string &what);

  /// The sum, or the greatest, of the parts of all ranks of the group, of f32
  /// or f64, in their order, in the way that takes less time: all of them get
  /// the same bits.
  template <typename T>
  Status allReduce(std::span<const T> part, std::span<T> result, Group group,
                   const std::string &what,
                   Reduction reduction = Reduction::Sum);
  /// The same where all parts go to all ranks, which reduce them.
  template <typename T>
  Status allReduceWhole(std::span<const T> part, std::span<T> result,
                        Group group, const std::string &what,
                        Reduction reduction = Reduction::Sum);
  /// The same where each rank reduces its share of all parts, and what the
  /// shares give is gathered.
  template <typename T>
  Status allReduceShares(std::span<const T> part, std::span<T> result,
                         Group group, const std::string &what,
                         Reduction reduction = Reduction::Sum);

  /// The attention over the keys of all ranks of the group, each of which has
  /// that over its own, in the way that takes less time: all of them get the
  /// same bits. `merged` may be `part`.
  template <typename T>
  Status allMerge(AttentionState<const T> part, AttentionState<T> merged,
                  Group group, const std::string &what);
  /// The same where all parts go to all ranks.
  template <typename T>
  Status allMergeWhole(AttentionState<const T> part, AttentionState<T> merged,
                       Group group, const std::string &what);
  /// The same where ranks reduce the maxima, and then what is scaled by them.
  template <typename T>
  Status allMergeReduced(AttentionState<const T> part, AttentionState<T> merged,
                         Group group, const std::string &what);

  /// What all ranks have, on rank 0; nothing on the others.
  Expected<std::vector<std::vector<std::byte>>>
  gather(std::span<const std::byte> part, const std::string &what);

  /// Ends the processes of all ranks.
  void abort(int code);

private:
  using Clock = std::chrono::steady_clock;

  Communicator(std::shared_ptr<const Library> library, double timeLimit)
      : library(std::move(library)), timeLimit(timeLimit) {}
  Status connect();
  Status measureLink();
  /// The number of this rank in a group, and the rank of a number there.
  int findNumber(Group group) const {
    return int(rank / group.stride % group.count);
  }
  int findRank(Group group, int number) const {
    return rank + (number - findNumber(group)) * int(group.stride);
  }
  Status startPiece(Transfer &transfer, Piece piece, int peer, bool isSend);
  /// One look at what is pending. The mutex is held.
  Status test(Transfer &transfer, bool &moved);
  Status breakOff(Error error);
  void moveLoop();

  const std::shared_ptr<const Library> library;
  const double timeLimit;
  Handle communicator = 0;
  int rank = 0, size = 1;
  Link link;
  bool ownsMPI = false;
  /// Why the communicator is of no use.
  std::optional<Error> broken;
  std::uint64_t bytesSent = 0;

  std::mutex mutex; ///< Of MPI's functions, and of what follows.
  std::condition_variable hasWork;
  std::vector<Transfer *> moving;
  bool ends = false;
  std::thread mover;
};

} // namespace attn::mpi

#endif // ATTN_RUNTIME_MPI_COMMUNICATOR_H
