//===- Communicator.cpp - Messages between ranks --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Communicator.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <unistd.h>

using namespace attn;
using namespace attn::mpi;

/// Sizes of messages are ints.
static constexpr std::size_t largestMessage = std::size_t(1) << 30;
static constexpr int tag = 1;

static std::mutex creation;
static std::weak_ptr<Communicator> living;
static std::atomic<Communicator *> current = nullptr;

Communicator *Communicator::getCurrent() { return current; }

Expected<std::shared_ptr<Communicator>>
Communicator::create(const std::string &path, double timeLimit) {
  std::scoped_lock lock(creation);
  if (auto existing = living.lock())
    return existing;
  Expected<std::shared_ptr<const Library>> library = Library::open(path);
  if (!library)
    return library.error();
  std::shared_ptr<Communicator> result(
      new Communicator(std::move(*library), timeLimit));
  if (Status status = result->connect(); !status)
    return status.error();
  living = result;
  current = result.get();
  return result;
}

Status Communicator::connect() {
  int isFinalized = 0, isInitialized = 0, threads = 0;
  library->finalized(&isFinalized);
  if (isFinalized)
    return Error{"no MPI: it was ended in this process, and starts once", {}};
  library->initialized(&isInitialized);
  Status status =
      isInitialized
          ? library->check(library->queryThread(&threads), "MPI_Query_thread")
          : library->check(library->initThread(nullptr, nullptr,
                                               threadSerialized, &threads),
                           "cannot start MPI");
  ownsMPI = !isInitialized && status.ok();
  if (status)
    status = library->check(library->commDup(library->world, &communicator),
                            "MPI_Comm_dup");
  if (status)
    status = library->check(
        library->commSetErrhandler(communicator, library->errorsReturn),
        "MPI_Comm_set_errhandler");
  if (status)
    status =
        library->check(library->commRank(communicator, &rank), "MPI_Comm_rank");
  if (status)
    status =
        library->check(library->commSize(communicator, &size), "MPI_Comm_size");
  if (status && size > 1)
    status = measureLink();
  if (status && threads >= threadSerialized && size > 1)
    mover = std::thread([this] { moveLoop(); });
  return status;
}

/// What is the same for all processes of a machine, and another one elsewhere.
static std::size_t findMachine() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return std::hash<std::string_view>()(name);
}

/// Each rank sends to the next one: what is small, for the latency, and what is
/// large. The least time of several is that of the link; the slowest link of
/// all ranks is that of each.
Status Communicator::measureLink() {
  constexpr std::size_t large = std::size_t(1) << 20;
  std::vector<std::byte> sent(large), received(large);
  Status status;
  auto time = [&](std::size_t bytes, int times) {
    double least = timeLimit;
    for (int i = 0; i < times && status; ++i) {
      Transfer transfer;
      Piece to{sent.data(), bytes}, from{received.data(), bytes};
      auto begin = Clock::now();
      status = start(transfer, {&to, 1}, (rank + 1) % size, {&from, 1},
                     (rank + size - 1) % size);
      if (status)
        status = wait(transfer, "that it is there");
      std::chrono::duration<double> taken = Clock::now() - begin;
      least = std::min(least, taken.count());
    }
    return least;
  };
  double latency = time(1, 20), ofLarge = time(large, 3);
  struct Own {
    double latency, bandwidth;
    std::size_t machine;
  };
  Own own{latency, double(large) / std::max(ofLarge - latency, 1e-9),
          findMachine()};
  std::vector<Own> all(std::size_t(size), own);
  if (status)
    status = allGather(std::as_bytes(std::span(&own, 1)),
                       std::as_writable_bytes(std::span(all)), {1, size},
                       "how fast it is");
  link = {own.latency, own.bandwidth};
  for (const Own &other : all) {
    link.latency = std::max(link.latency, other.latency);
    link.bandwidth = std::min(link.bandwidth, other.bandwidth);
    link.isShared = link.isShared && other.machine == own.machine;
  }
  bytesSent = 0;
  return status;
}

Communicator::~Communicator() {
  {
    std::scoped_lock lock(mutex);
    ends = true;
    hasWork.notify_all();
  }
  if (mover.joinable())
    mover.join();
  std::scoped_lock lock(creation);
  if (current == this)
    current = nullptr;
  // Ending waits for the other ranks, which may not be there.
  if (ownsMPI && !broken)
    library->finalize();
}

void Communicator::abort(int code) { library->abort(communicator, code); }

Status Communicator::breakOff(Error error) {
  error.message = "rank " + std::to_string(rank) + ": " + error.message;
  broken = error;
  return error;
}

static std::string describe(int peer, int size) {
  return "rank " + std::to_string(peer) + " of " + std::to_string(size);
}

Status Communicator::startPiece(Transfer &transfer, Piece piece, int peer,
                                bool isSend) {
  for (std::size_t first = 0; first < piece.bytes; first += largestMessage) {
    int bytes = int(std::min(largestMessage, piece.bytes - first));
    Handle request = 0;
    int code = isSend ? library->isend(piece.data + first, bytes, library->byte,
                                       peer, tag, communicator, &request)
                      : library->irecv(piece.data + first, bytes, library->byte,
                                       peer, tag, communicator, &request);
    if (Status status = library->check(
            code, (isSend ? "cannot send to " : "cannot receive from ") +
                      describe(peer, size));
        !status)
      return breakOff(status.error());
    transfer.pending.push_back({request, peer, bytes, isSend});
    if (isSend)
      bytesSent += std::uint64_t(bytes);
  }
  return {};
}

Status Communicator::start(Transfer &transfer, std::span<const Piece> sent,
                           int to, std::span<const Piece> received, int from) {
  std::scoped_lock lock(mutex);
  if (broken)
    return *broken;
  // Receives first, so that nothing arrives unexpected that was asked for.
  for (Piece piece : received)
    if (Status status = startPiece(transfer, piece, from, /*isSend=*/false);
        !status)
      return status;
  for (Piece piece : sent)
    if (Status status = startPiece(transfer, piece, to, /*isSend=*/true);
        !status)
      return status;
  return {};
}

Status Communicator::test(Transfer &transfer, bool &moved) {
  if (broken)
    return *broken;
  std::size_t kept = 0;
  for (Transfer::Request &request : transfer.pending) {
    int isDone = 0;
    // An MPI_Status has 20 bytes in MPICH and 24 in Open MPI.
    alignas(std::max_align_t) std::byte state[64] = {};
    int code = library->test(&request.handle, &isDone, state);
    if (Status status = library->check(
            code, (request.isSend ? "sending to " : "receiving from ") +
                      describe(request.peer, size));
        !status)
      return breakOff(status.error());
    int bytes = request.bytes;
    if (isDone && !request.isSend)
      library->getCount(state, library->byte, &bytes);
    if (bytes != request.bytes)
      return breakOff({"expected " + std::to_string(request.bytes) +
                           " bytes of " + describe(request.peer, size) +
                           ", got " + std::to_string(bytes) +
                           ": its tensors have other sizes",
                       {}});
    if (!isDone)
      transfer.pending[kept++] = request;
  }
  moved = kept < transfer.pending.size();
  transfer.pending.resize(kept);
  return {};
}

Status Communicator::wait(Transfer &transfer, const std::string &what) {
  auto begin = Clock::now();
  auto lastMove = begin;
  while (true) {
    auto now = Clock::now();
    {
      std::scoped_lock lock(mutex);
      std::erase(moving, &transfer);
      bool moved = false;
      if (Status status = test(transfer, moved); !status)
        return status;
      if (transfer.pending.empty())
        return {};
      if (moved)
        lastMove = now;
      if (std::chrono::duration<double>(now - lastMove).count() > timeLimit) {
        const Transfer::Request &request = transfer.pending.front();
        char limit[32];
        std::snprintf(limit, sizeof(limit), "%g", timeLimit);
        return breakOff(
            {describe(request.peer, size) +
                 (request.isSend ? " did not take " : " did not send ") + what +
                 " within " + limit +
                 " s: it has ended, or is later than the time limit allows",
             {}});
      }
    }
    // First for what comes at once, then for what takes its time.
    if (now - begin < std::chrono::milliseconds(1))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Communicator::moveMeanwhile(Transfer &transfer) {
  if (!mover.joinable())
    return;
  std::scoped_lock lock(mutex);
  moving.push_back(&transfer);
  hasWork.notify_all();
}

void Communicator::moveLoop() {
  std::unique_lock lock(mutex);
  while (!ends) {
    // Whoever waits says what failed.
    std::erase_if(moving, [this](Transfer *transfer) {
      bool moved = false;
      return !test(*transfer, moved) || transfer->pending.empty();
    });
    if (moving.empty()) {
      hasWork.wait(lock, [this] { return ends || !moving.empty(); });
      continue;
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
}

Status Communicator::allGather(std::span<const std::byte> part,
                               std::span<std::byte> all, Group group,
                               const std::string &what) {
  int self = findNumber(group), count = int(group.count);
  auto placeOf = [&](int number) {
    return all.data() + std::size_t(number) * part.size();
  };
  if (!part.empty())
    std::memmove(placeOf(self), part.data(), part.size());
  Transfer transfer;
  for (int step = 1; step < count; ++step) {
    int to = (self + step) % count, from = (self + count - step) % count;
    Piece sent{placeOf(self), part.size()},
        received{placeOf(from), part.size()};
    if (Status status = start(transfer, {&sent, 1}, findRank(group, to),
                              {&received, 1}, findRank(group, from));
        !status)
      return status;
  }
  return wait(transfer, what);
}

/// NaN if one of them is.
template <typename T> static T findGreater(T x, T y) {
  return x > y || std::isnan(x) ? x : y;
}

/// Reduces what lies one after the other, in this order.
template <typename T>
static void reduceAll(std::span<const T> all, std::span<T> result,
                      Reduction reduction) {
  std::copy_n(all.begin(), result.size(), result.begin());
  for (std::size_t first = result.size(); first < all.size();
       first += result.size()) {
    std::span<const T> part = all.subspan(first, result.size());
    if (reduction == Reduction::Sum)
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] += part[i];
    else
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = findGreater(result[i], part[i]);
  }
}

template <typename T>
Status Communicator::allReduce(std::span<const T> part, std::span<T> result,
                               Group group, const std::string &what,
                               Reduction reduction) {
  auto bytes = double(part.size_bytes()), ranks = double(group.count);
  bool inShares =
      link.timeToShare(bytes, ranks) < link.timeToGather(bytes, ranks);
  return inShares ? allReduceShares(part, result, group, what, reduction)
                  : allReduceWhole(part, result, group, what, reduction);
}

template <typename T>
Status Communicator::allReduceWhole(std::span<const T> part,
                                    std::span<T> result, Group group,
                                    const std::string &what,
                                    Reduction reduction) {
  std::vector<T> all(std::size_t(group.count) * part.size());
  Status status = allGather(
      std::as_bytes(part), std::as_writable_bytes(std::span(all)), group, what);
  if (status)
    reduceAll<T>(all, result, reduction);
  return status;
}

template <typename T>
Status Communicator::allReduceShares(std::span<const T> part,
                                     std::span<T> result, Group group,
                                     const std::string &what,
                                     Reduction reduction) {
  auto count = std::size_t(group.count);
  // The last shares may be smaller; all of one size are gathered.
  std::size_t share = (part.size() + count - 1) / count;
  auto cut = [&](auto elements, int number) {
    std::size_t begin = std::min(share * std::size_t(number), part.size());
    return elements.subspan(begin, std::min(share, part.size() - begin));
  };
  int self = findNumber(group), ranks = int(count);
  std::size_t own = cut(part, self).size();
  std::vector<T> all(count * own), results(count * share);
  Transfer transfer;
  for (int number = 0; number < ranks; ++number) {
    std::span<const T> sent = cut(part, number);
    std::span<T> received =
        std::span(all).subspan(std::size_t(number) * own, own);
    if (number == self) {
      std::copy(sent.begin(), sent.end(), received.begin());
      continue;
    }
    int peer = findRank(group, number);
    auto describePiece = [](auto elements) {
      // MPI does not write what it sends.
      return Piece{
          reinterpret_cast<std::byte *>(const_cast<T *>(elements.data())),
          elements.size_bytes()};
    };
    Piece to = describePiece(sent), from = describePiece(received);
    if (Status status = start(transfer, {&to, 1}, peer, {&from, 1}, peer);
        !status)
      return status;
  }
  if (Status status = wait(transfer, what); !status)
    return status;
  std::span<T> ofSelf =
      std::span(results).subspan(std::size_t(self) * share, share);
  reduceAll<T>(all, ofSelf.first(own), reduction);
  if (Status status =
          allGather(std::as_bytes(ofSelf),
                    std::as_writable_bytes(std::span(results)), group, what);
      !status)
    return status;
  std::copy_n(results.begin(), result.size(), result.begin());
  return {};
}

/// `exp(lse - maximum)`, by which a part counts (M2).
template <typename T> static T computeWeight(T lse, T maximum) {
  if (lse == -std::numeric_limits<T>::infinity())
    return 0;
  return lse == maximum ? T(1) : std::exp(lse - maximum);
}

/// Writes outputs times their weights, and then weights.
template <typename T>
static void scale(AttentionState<const T> state, std::span<const T> maxima,
                  std::span<T> scaled) {
  std::size_t rows = maxima.size(),
              size = rows ? state.output.size() / rows : 0;
  for (std::size_t row = 0; row < rows; ++row) {
    T weight = computeWeight(state.lse[row], maxima[row]);
    for (std::size_t at = row * size; at < (row + 1) * size; ++at)
      scaled[at] = weight == 0 ? T(0) : state.output[at] * weight;
    scaled[rows * size + row] = weight;
  }
}

/// Writes the quotients of the sums of such parts.
template <typename T>
static void divide(std::span<const T> sums, std::span<const T> maxima,
                   AttentionState<T> merged) {
  std::size_t rows = maxima.size(),
              size = rows ? merged.output.size() / rows : 0;
  for (std::size_t row = 0; row < rows; ++row) {
    T weight = sums[rows * size + row],
      factor = weight == 0 ? T(0) : 1 / weight;
    for (std::size_t at = row * size; at < (row + 1) * size; ++at)
      merged.output[at] = sums[at] * factor;
    merged.lse[row] = maxima[row] + std::log(weight);
  }
}

template <typename T>
Status Communicator::allMerge(AttentionState<const T> part,
                              AttentionState<T> merged, Group group,
                              const std::string &what) {
  auto ofMaxima = double(part.lse.size_bytes()),
       ofAll = double(part.output.size_bytes()) + ofMaxima,
       ranks = double(group.count);
  double reduced =
      link.timeToReduce(ofMaxima, ranks) + link.timeToReduce(ofAll, ranks);
  return reduced < link.timeToGather(ofAll, ranks)
             ? allMergeReduced(part, merged, group, what)
             : allMergeWhole(part, merged, group, what);
}

template <typename T>
Status Communicator::allMergeWhole(AttentionState<const T> part,
                                   AttentionState<T> merged, Group group,
                                   const std::string &what) {
  std::size_t rows = part.lse.size(), elements = part.output.size(),
              size = elements + rows;
  auto ranks = std::size_t(group.count);
  // One message to each rank.
  std::vector<T> own(part.output.begin(), part.output.end()), all(ranks * size),
      maxima(rows), sums(size);
  own.insert(own.end(), part.lse.begin(), part.lse.end());
  if (Status status =
          allGather(std::as_bytes(std::span(own)),
                    std::as_writable_bytes(std::span(all)), group, what);
      !status)
    return status;
  auto stateOf = [&](std::size_t number) {
    std::span<const T> state = std::span(all).subspan(number * size, size);
    return AttentionState<const T>{state.first(elements), state.last(rows)};
  };
  std::copy_n(stateOf(0).lse.begin(), rows, maxima.begin());
  for (std::size_t number = 1; number < ranks; ++number)
    for (std::size_t row = 0; row < rows; ++row)
      maxima[row] = findGreater(maxima[row], stateOf(number).lse[row]);
  for (std::size_t number = 0; number < ranks; ++number) {
    scale<T>(stateOf(number), maxima, own);
    std::copy(own.begin(), own.end(),
              all.begin() + std::ptrdiff_t(number * size));
  }
  reduceAll<T>(all, sums, Reduction::Sum);
  divide<T>(sums, maxima, merged);
  return {};
}

template <typename T>
Status Communicator::allMergeReduced(AttentionState<const T> part,
                                     AttentionState<T> merged, Group group,
                                     const std::string &what) {
  std::vector<T> maxima(part.lse.size()),
      scaled(part.output.size() + part.lse.size()), sums(scaled.size());
  if (Status status =
          allReduce<T>(part.lse, maxima, group, what, Reduction::Maximum);
      !status)
    return status;
  scale<T>(part, maxima, scaled);
  if (Status status = allReduce<T>(scaled, sums, group, what); !status)
    return status;
  divide<T>(sums, maxima, merged);
  return {};
}

#define ATTN_MPI_INSTANTIATE_REDUCE(T, reduce)                                 \
  template Status Communicator::reduce(std::span<const T>, std::span<T>,       \
                                       Group, const std::string &, Reduction);
#define ATTN_MPI_INSTANTIATE_MERGE(T, merge)                                   \
  template Status Communicator::merge(                                         \
      AttentionState<const T>, AttentionState<T>, Group, const std::string &);
#define ATTN_MPI_INSTANTIATE(T)                                                \
  ATTN_MPI_INSTANTIATE_REDUCE(T, allReduce)                                    \
  ATTN_MPI_INSTANTIATE_REDUCE(T, allReduceWhole)                               \
  ATTN_MPI_INSTANTIATE_REDUCE(T, allReduceShares)                              \
  ATTN_MPI_INSTANTIATE_MERGE(T, allMerge)                                      \
  ATTN_MPI_INSTANTIATE_MERGE(T, allMergeWhole)                                 \
  ATTN_MPI_INSTANTIATE_MERGE(T, allMergeReduced)
ATTN_MPI_INSTANTIATE(float)
ATTN_MPI_INSTANTIATE(double)
#undef ATTN_MPI_INSTANTIATE
#undef ATTN_MPI_INSTANTIATE_MERGE
#undef ATTN_MPI_INSTANTIATE_REDUCE

Expected<std::vector<std::vector<std::byte>>>
Communicator::gather(std::span<const std::byte> part, const std::string &what) {
  std::vector<std::uint64_t> sizes(std::size_t(size), 0);
  std::uint64_t own = part.size();
  if (Status status =
          allGather(std::as_bytes(std::span(&own, 1)),
                    std::as_writable_bytes(std::span(sizes)), {1, size}, what);
      !status)
    return status.error();
  std::vector<std::vector<std::byte>> all;
  Transfer transfer;
  if (rank != 0) {
    // MPI does not write what it sends.
    Piece sent{const_cast<std::byte *>(part.data()), part.size()};
    if (Status status = start(transfer, {&sent, 1}, 0, {}, 0); !status)
      return status.error();
  } else {
    all.emplace_back(part.begin(), part.end());
    for (int peer = 1; peer < size; ++peer) {
      all.emplace_back(sizes[std::size_t(peer)]);
      Piece received{all.back().data(), all.back().size()};
      if (Status status = start(transfer, {}, peer, {&received, 1}, peer);
          !status)
        return status.error();
    }
  }
  if (Status status = wait(transfer, what); !status)
    return status.error();
  return all;
}
