//===- Reshard.cpp - Tensors that are distributed again -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a rank has before and what it has after is a range of heads and a few of
// rows, of the whole. A message is what one of them has before and another one
// after: both sides find the same ones, in the same order. Where all of them
// have a part of a sum before, messages lie beside each other until all have
// come.
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Reshard.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::mpi;

namespace {

/// Rows of the whole, and the first of them in the part of a rank.
struct Place {
  Span rows;
  std::int64_t first;
};

/// What one rank has.
struct Part {
  Span heads;
  std::vector<Place> places;

  std::int64_t countRows() const {
    std::int64_t count = 0;
    for (const Place &place : places)
      count += place.rows.count;
    return count;
  }
};

/// What one rank has before and another one after: heads of the whole, and
/// rows by their first ones in both parts.
struct Message {
  std::int64_t before, after, count;
};

/// How the ranks of a group share a tensor.
class Shares {
public:
  Shares(std::int64_t ranks, std::span<const std::int64_t> bounds,
         std::int64_t heads)
      : ranks(ranks), bounds(bounds), heads(heads) {}

  Part byRows(std::int64_t rank) const {
    Part part{{0, heads}, {}};
    std::int64_t first = 0;
    auto add = [&](std::int64_t piece) {
      std::int64_t begin = bounds[std::size_t(piece)],
                   count = bounds[std::size_t(piece + 1)] - begin;
      part.places.push_back({{begin, count}, first});
      first += count;
    };
    add(rank);
    if (std::int64_t(bounds.size()) > ranks + 1)
      add(2 * ranks - 1 - rank);
    return part;
  }
  Part byHeads(std::int64_t rank) const {
    std::int64_t share = heads / ranks;
    return {{rank * share, share}, {{{0, bounds.back()}, 0}}};
  }
  Part whole() const { return {{0, heads}, {{{0, bounds.back()}, 0}}}; }

  Part before(Reshard kind, std::int64_t rank) const {
    if (kind == Reshard::WholeToRows)
      return whole();
    return kind == Reshard::HeadsToRows ? byHeads(rank) : byRows(rank);
  }
  Part after(Reshard kind, std::int64_t rank) const {
    if (kind == Reshard::RowsToWhole)
      return whole();
    return kind == Reshard::RowsToHeads ? byHeads(rank) : byRows(rank);
  }

private:
  std::int64_t ranks;
  std::span<const std::int64_t> bounds;
  std::int64_t heads;
};

} // namespace

static Span intersect(Span x, Span y) {
  std::int64_t begin = std::max(x.first, y.first),
               end = std::min(x.first + x.count, y.first + y.count);
  return {begin, std::max(end - begin, std::int64_t(0))};
}

static std::vector<Message> findMessages(const Part &before,
                                         const Part &after) {
  std::vector<Message> messages;
  for (const Place &from : before.places)
    for (const Place &to : after.places)
      if (Span rows = intersect(from.rows, to.rows); rows.count > 0)
        messages.push_back({from.first + rows.first - from.rows.first,
                            to.first + rows.first - to.rows.first, rows.count});
  return messages;
}

static Status checkSizes(const char *what, const Rows &rows,
                         const Part &expected) {
  if (rows.sizes[1] == expected.heads.count &&
      rows.sizes[2] == expected.countRows())
    return {};
  return Error{"attn.reshard: expected " +
                   std::to_string(expected.heads.count) + " heads of " +
                   std::to_string(expected.countRows()) + " rows " + what +
                   ", got " + std::to_string(rows.sizes[1]) + " of " +
                   std::to_string(rows.sizes[2]),
               {}};
}

/// What this rank has before and after.
static void copyOwn(const Part &before, const Part &after,
                    std::size_t elementBytes, const Rows &part,
                    const Rows &result) {
  Span heads = intersect(before.heads, after.heads);
  std::size_t rowBytes = std::size_t(part.sizes[3]) * elementBytes;
  bool liesTogether = part.strides[2] == part.sizes[3];
  for (const Message &message : findMessages(before, after))
    for (std::int64_t b = 0; b < part.sizes[0]; ++b)
      for (std::int64_t h = heads.first; h < heads.first + heads.count; ++h) {
        std::int64_t count = liesTogether ? 1 : message.count;
        std::size_t bytes =
            rowBytes * std::size_t(liesTogether ? message.count : 1);
        for (std::int64_t row = 0; row < count; ++row)
          std::memcpy(addressOf(result, elementBytes, b, h - after.heads.first,
                                message.after + row),
                      addressOf(part, elementBytes, b, h - before.heads.first,
                                message.before + row),
                      bytes);
      }
}

/// Memory for rows of each of several ranks, one after the other.
static std::vector<Rows> describeParts(const Rows &like,
                                       std::size_t elementBytes,
                                       std::size_t ranks,
                                       std::vector<std::byte> &memory) {
  Rows rows = like;
  rows.offset = 0;
  rows.strides[3] = 1;
  for (std::size_t dim = 3; dim > 0; --dim)
    rows.strides[dim - 1] = rows.strides[dim] * rows.sizes[dim];
  std::size_t bytes =
      std::size_t(rows.strides[0] * rows.sizes[0]) * elementBytes;
  memory.resize(ranks * bytes);
  std::vector<Rows> parts(ranks, rows);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    parts[rank].allocated = parts[rank].data = memory.data() + rank * bytes;
  return parts;
}

template <typename T>
static void addParts(const std::vector<Rows> &parts, const Rows &sums) {
  for (std::int64_t b = 0; b < sums.sizes[0]; ++b)
    for (std::int64_t h = 0; h < sums.sizes[1]; ++h)
      for (std::int64_t row = 0; row < sums.sizes[2]; ++row) {
        auto at = [&](const Rows &rows) {
          return reinterpret_cast<T *>(addressOf(rows, sizeof(T), b, h, row));
        };
        T *sum = at(sums);
        std::copy_n(at(parts.front()), sums.sizes[3], sum);
        for (std::size_t rank = 1; rank < parts.size(); ++rank) {
          const T *part = at(parts[rank]);
          for (std::int64_t d = 0; d < sums.sizes[3]; ++d)
            sum[d] += part[d];
        }
      }
}

Status mpi::reshard(Communicator &communicator, Group group, Reshard kind,
                    std::span<const std::int64_t> bounds,
                    std::size_t elementBytes, const Rows &part,
                    const Rows &result) {
  std::int64_t rank = communicator.getRank(),
               self = rank / group.stride % group.count;
  Shares shares(group.count, bounds,
                kind == Reshard::HeadsToRows ? result.sizes[1] : part.sizes[1]);
  Part before = shares.before(kind, self), after = shares.after(kind, self);
  if (Status status = checkSizes("before", part, before); !status)
    return status;
  if (Status status = checkSizes("after", result, after); !status)
    return status;
  std::vector<std::byte> packed;
  if (part.strides[2] != part.sizes[3])
    packed.reserve(std::size_t(part.sizes[0] * part.sizes[1] * part.sizes[2] *
                               part.sizes[3]) *
                   elementBytes *
                   std::size_t(kind == Reshard::RowsToWhole ? group.count : 1));
  auto cut = [](Span heads, const Part &of) {
    return Span{heads.first - of.heads.first, heads.count};
  };
  bool isSum = kind == Reshard::WholeToRows;
  std::vector<std::byte> memory;
  std::vector<Rows> parts;
  if (isSum)
    parts =
        describeParts(result, elementBytes, std::size_t(group.count), memory);
  auto resultOf = [&](std::int64_t number) {
    return isSum ? parts[std::size_t(number)] : result;
  };
  Transfer transfer;
  for (std::int64_t step = 1; step < group.count; ++step) {
    std::int64_t to = (self + step) % group.count,
                 from = (self + group.count - step) % group.count;
    std::vector<Piece> sent, received;
    Part afterThere = shares.after(kind, to),
         beforeThere = shares.before(kind, from);
    Span heads = intersect(before.heads, afterThere.heads);
    for (const Message &message : findMessages(before, afterThere))
      addPieces(sent, part, elementBytes, cut(heads, before),
                {message.before, message.count}, packed);
    heads = intersect(beforeThere.heads, after.heads);
    for (const Message &message : findMessages(beforeThere, after))
      addPieces(received, resultOf(from), elementBytes, cut(heads, after),
                {message.after, message.count}, packed);
    auto rankOf = [&](std::int64_t number) {
      return int(rank + (number - self) * group.stride);
    };
    if (Status status = communicator.start(transfer, sent, rankOf(to), received,
                                           rankOf(from));
        !status)
      return status;
  }
  copyOwn(before, after, elementBytes, part, resultOf(self));
  if (Status status = communicator.wait(transfer, "its rows"); !status)
    return status;
  if (isSum && elementBytes == sizeof(float))
    addParts<float>(parts, result);
  else if (isSum)
    addParts<double>(parts, result);
  return {};
}
