//===- Ring.cpp - Blocks of keys and values of other ranks ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Ring.h"

#include <new>

using namespace attn;
using namespace attn::mpi;

std::int64_t Ring::getPeer(std::int64_t step, bool comes) const {
  std::int64_t rank = communicator.getRank(),
               self = rank / group.stride % group.count;
  std::int64_t peer =
      (comes ? self + group.count - step : self + step) % group.count;
  return rank + (peer - self) * group.stride;
}

std::vector<Span> Ring::getSpans(std::int64_t step, bool comes) const {
  std::vector<Span> result;
  for (std::size_t piece = 0; piece < numPieces; ++piece) {
    std::size_t at =
        4 * (std::size_t(step) * numPieces + piece) + (comes ? 2 : 0);
    result.push_back({spans[at], spans[at + 1]});
  }
  return result;
}

std::int64_t Ring::countRows(const std::vector<Span> &spans) {
  std::int64_t count = 0;
  for (Span span : spans)
    count += span.count;
  return count;
}

Status Ring::begin(Group newGroup, const Table &table, std::size_t bytes,
                   const Rows &newKey, const Rows &newValue) {
  group = newGroup;
  elementBytes = bytes;
  key = newKey;
  value = newValue;
  spans.clear();
  numPieces = std::size_t(table.sizes[1] / 4);
  for (std::int64_t step = 0; step < group.count; ++step)
    for (std::int64_t number = 0; number < table.sizes[1]; ++number)
      spans.push_back(table.data[table.offset + step * table.strides[0] +
                                 number * table.strides[1]]);
  std::int64_t rows = key.sizes[2];
  for (std::int64_t step = 0; step < group.count; ++step) {
    std::vector<Span> sent = getSpans(step, /*comes=*/false),
                      received = getSpans(step, /*comes=*/true);
    // What comes is of another rank, in step 0 of this one: as it lies.
    bool isInside = true;
    std::int64_t next = received.front().first;
    for (std::size_t piece = 0; piece < numPieces; ++piece) {
      auto isWithin = [&](Span span) {
        return span.first >= 0 && span.count >= 0 &&
               span.first <= rows - span.count;
      };
      isInside = isInside && isWithin(sent[piece]) &&
                 received[piece].count >= 0 &&
                 (step > 0 ||
                  (isWithin(received[piece]) && received[piece].first == next));
      next = received[piece].first + received[piece].count;
    }
    if (!isInside)
      return Error{"attn.rank_block: expected spans of step " +
                       std::to_string(step) + " within " +
                       std::to_string(rows) + " rows",
                   {}};
  }
  return {};
}

Status Ring::describeBuffer(const Rows &like, std::int64_t count,
                            Buffer &buffer, Rows &rows) {
  std::int64_t rowsOfAll = 0, elements = 0, size = 0;
  bool overflows =
      __builtin_mul_overflow(like.sizes[0] * like.sizes[1], count,
                             &rowsOfAll) ||
      __builtin_mul_overflow(rowsOfAll, like.sizes[3], &elements) ||
      __builtin_mul_overflow(elements, std::int64_t(elementBytes), &size);
  auto bytes = std::size_t(size);
  if (!overflows && buffer.bytes < bytes) {
    buffer.bytes = 0;
    buffer.memory.reset(new (std::nothrow) std::byte[bytes]);
    if (buffer.memory)
      buffer.bytes = bytes;
  }
  if (overflows || buffer.bytes < bytes)
    return Error{"no memory for " + std::to_string(count) +
                     " rows of keys and values of another rank",
                 {}};
  rows = like;
  rows.offset = 0;
  rows.sizes[2] = count;
  rows.strides = {like.sizes[1] * count * like.sizes[3], count * like.sizes[3],
                  like.sizes[3], 1};
  rows.allocated = rows.data = buffer.memory.get();
  return {};
}

Status Ring::start(std::int64_t step) {
  std::vector<Span> sent = getSpans(step, /*comes=*/false),
                    received = getSpans(step, /*comes=*/true);
  std::int64_t count = countRows(received);
  std::vector<Piece> toSend, toReceive;
  packed.clear();
  std::size_t bytes = 0;
  for (const Rows *rows : {&key, &value})
    bytes += std::size_t(rows->sizes[0] * rows->sizes[1] * countRows(sent) *
                         rows->sizes[3]) *
             elementBytes;
  bool isDense =
      key.strides[2] == key.sizes[3] && value.strides[2] == value.sizes[3];
  if (!isDense)
    packed.reserve(bytes);
  std::size_t slot = std::size_t(step % 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Rows &rows = i == 0 ? key : value;
    if (Status status =
            describeBuffer(rows, count, buffers[i][slot], blocks[i][slot]);
        !status)
      return status;
    // One message for each on both sides.
    for (Span span : sent)
      addPieces(toSend, rows, elementBytes, {0, rows.sizes[1]}, span, packed);
    std::int64_t first = 0;
    for (Span span : received) {
      addPieces(toReceive, blocks[i][slot], elementBytes, {0, rows.sizes[1]},
                {first, span.count}, packed);
      first += span.count;
    }
  }
  if (Status status = communicator.start(
          transfer, toSend, int(getPeer(step, /*comes=*/false)), toReceive,
          int(getPeer(step, /*comes=*/true)));
      !status)
    return status;
  communicator.moveMeanwhile(transfer);
  return {};
}

Status Ring::getBlock(std::int64_t step, std::int64_t rows, Group newGroup,
                      const Table &table, std::size_t bytes, const Rows &newKey,
                      const Rows &newValue, Rows &keys, Rows &values) {
  std::scoped_lock lock(mutex);
  if (step == 0) {
    if (!transfer.isEmpty() || !returning.isEmpty())
      return Error{"the blocks of another call are still on their way: it "
                   "failed, or another thread makes it",
                   {}};
    if (Status status = begin(newGroup, table, bytes, newKey, newValue);
        !status)
      return status;
    nextStep = 0;
  }
  if (step != nextStep || step >= group.count)
    return Error{"attn.rank_block: expected step " + std::to_string(nextStep) +
                     " of " + std::to_string(group.count) + ", got " +
                     std::to_string(step),
                 {}};
  std::vector<Span> received = getSpans(step, /*comes=*/true);
  std::int64_t count = countRows(received);
  if (rows != count)
    return Error{"attn.rank_block: expected " + std::to_string(count) +
                     " rows of step " + std::to_string(step) + ", got " +
                     std::to_string(rows),
                 {}};
  if (step > 0)
    if (Status status = communicator.wait(transfer, "keys and values"); !status)
      return status;
  ++nextStep;
  if (nextStep < group.count)
    if (Status status = start(nextStep); !status)
      return status;
  if (step > 0) {
    keys = blocks[0][std::size_t(step % 2)];
    values = blocks[1][std::size_t(step % 2)];
    return {};
  }
  for (auto [from, to] : {std::pair(&key, &keys), std::pair(&value, &values)}) {
    *to = *from;
    // Results have no offset.
    to->data = addressOf(*from, elementBytes, 0, 0, received.front().first);
    to->offset = 0;
    to->sizes[2] = count;
  }
  return {};
}

/// Calls `visit` with each row of some spans of all heads, as they lie in a
/// block.
template <typename Visit>
static void visitRows(const Rows &rows, std::size_t elementBytes,
                      const std::vector<Span> &spans, Visit visit) {
  for (std::int64_t b = 0; b < rows.sizes[0]; ++b)
    for (std::int64_t h = 0; h < rows.sizes[1]; ++h)
      for (Span span : spans)
        for (std::int64_t row = span.first; row < span.first + span.count;
             ++row)
          visit(addressOf(rows, elementBytes, b, h, row));
}

/// Adds elements that lie together to those of some rows.
template <typename T>
static void addRows(const std::vector<std::byte> &packed, const Rows &rows,
                    const std::vector<Span> &spans) {
  auto from = reinterpret_cast<const T *>(packed.data());
  std::int64_t size = rows.sizes[3], stride = rows.strides[3];
  visitRows(rows, sizeof(T), spans, [&](std::byte *row) {
    auto to = reinterpret_cast<T *>(row);
    if (stride == 1)
      for (std::int64_t i = 0; i < size; ++i)
        to[i] += from[i];
    else
      for (std::int64_t i = 0; i < size; ++i)
        to[i * stride] += from[i];
    from += size;
  });
}

/// All rows as elements that lie together.
template <typename T>
static void packRows(std::vector<std::byte> &packed, const Rows &rows) {
  std::int64_t size = rows.sizes[3], stride = rows.strides[3];
  packed.resize(
      std::size_t(rows.sizes[0] * rows.sizes[1] * rows.sizes[2] * size) *
      sizeof(T));
  auto to = reinterpret_cast<T *>(packed.data());
  visitRows(rows, sizeof(T), {{0, rows.sizes[2]}}, [&](std::byte *row) {
    auto from = reinterpret_cast<const T *>(row);
    for (std::int64_t i = 0; i < size; ++i)
      to[i] = from[i * stride];
    to += size;
  });
}

Status Ring::finishSums(const std::array<Rows, 2> &sums) {
  if (returningStep == 0)
    return {};
  if (Status status = communicator.wait(returning, "gradients"); !status)
    return status;
  addAll(cameBack, sums, getSpans(returningStep, /*comes=*/false));
  returningStep = 0;
  return {};
}

void Ring::addAll(const std::array<std::vector<std::byte>, 2> &packed,
                  const std::array<Rows, 2> &sums,
                  const std::vector<Span> &spans) const {
  for (std::size_t i = 0; i < 2; ++i)
    if (sumBytes == sizeof(float))
      addRows<float>(packed[i], sums[i], spans);
    else
      addRows<double>(packed[i], sums[i], spans);
}

Status Ring::addSums(std::int64_t step, std::size_t bytes,
                     const std::array<Rows, 2> &block,
                     const std::array<Rows, 2> &sums) {
  std::scoped_lock lock(mutex);
  if (step + 1 != nextStep)
    return Error{"attn.rank_sums: expected step " +
                     std::to_string(nextStep - 1) + ", got " +
                     std::to_string(step),
                 {}};
  std::vector<Span> received = getSpans(step, /*comes=*/true),
                    sent = getSpans(step, /*comes=*/false);
  for (std::size_t i = 0; i < 2; ++i)
    if (block[i].sizes[2] != countRows(received) ||
        sums[i].sizes[2] != key.sizes[2])
      return Error{"attn.rank_sums: expected sums of " +
                       std::to_string(countRows(received)) + " rows for " +
                       std::to_string(key.sizes[2]) + ", got " +
                       std::to_string(block[i].sizes[2]) + " for " +
                       std::to_string(sums[i].sizes[2]),
                   {}};
  if (Status status = finishSums(sums); !status)
    return status;
  sumBytes = bytes;
  for (std::size_t i = 0; i < 2; ++i) {
    if (bytes == sizeof(float))
      packRows<float>(returned[i], block[i]);
    else
      packRows<double>(returned[i], block[i]);
    if (step > 0)
      cameBack[i].resize(std::size_t(sums[i].sizes[0] * sums[i].sizes[1] *
                                     countRows(sent) * sums[i].sizes[3]) *
                         bytes);
  }
  if (step == 0) {
    addAll(returned, sums, received);
    return {};
  }
  std::array<Piece, 2> to, from;
  for (std::size_t i = 0; i < 2; ++i) {
    to[i] = {returned[i].data(), returned[i].size()};
    from[i] = {cameBack[i].data(), cameBack[i].size()};
  }
  if (Status status =
          communicator.start(returning, to, int(getPeer(step, /*comes=*/true)),
                             from, int(getPeer(step, /*comes=*/false)));
      !status)
    return status;
  returningStep = step;
  communicator.moveMeanwhile(returning);
  return step + 1 == group.count ? finishSums(sums) : Status();
}
