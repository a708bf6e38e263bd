//===- Symbols.cpp - What generated code says to other ranks --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Symbols.h"
#include "runtime/MPI/Reshard.h"
#include "runtime/MPI/Ring.h"
#include "runtime/Support/Call.h"

using namespace attn;
using namespace attn::mpi;

/// An error as `attn_rt_fail` takes it; null if there is none. Destroys what
/// that would not.
static const char *keep(const Status &status) {
  return status ? nullptr : support::keepMessage(status.error().message);
}

/// Why there is no such group; null if there is.
static const char *findObstacle(std::int64_t stride, std::int64_t count) {
  Communicator *communicator = Communicator::getCurrent();
  if (!communicator)
    return "this is the kernel of one of several ranks: attn::Ranks has to be "
           "there when it is called";
  std::int64_t needed = stride * count, there = communicator->getSize();
  if (there % needed == 0)
    return nullptr;
  return keep(Error{"this kernel is for a multiple of " +
                        std::to_string(needed) + " ranks, got " +
                        std::to_string(there),
                    {}});
}

static void check(const char *obstacle) {
  if (obstacle)
    attn_rt_fail(obstacle);
}

std::int64_t attn_rt_rank_index(std::int64_t stride, std::int64_t count) {
  check(findObstacle(stride, count));
  return Communicator::getCurrent()->getRank() / stride % count;
}

/// That of this process, whose buffers stay from call to call.
static Ring &getRing() {
  static std::unique_ptr<Ring> ring;
  static Communicator *ofRing = nullptr;
  Communicator *communicator = Communicator::getCurrent();
  if (!ring || ofRing != communicator)
    ring = std::make_unique<Ring>(*communicator);
  ofRing = communicator;
  return *ring;
}

static const Rows &readRows(const void *descriptor) {
  return *static_cast<const Rows *>(descriptor);
}

static const char *getBlock(std::int64_t step, std::int64_t rows, Group group,
                            const void *spans, std::int64_t elementBytes,
                            const void *key, const void *value, void *keys,
                            void *values) {
  return keep(getRing().getBlock(
      step, rows, group, *static_cast<const Table *>(spans),
      std::size_t(elementBytes), readRows(key), readRows(value),
      *static_cast<Rows *>(keys), *static_cast<Rows *>(values)));
}

void attn_rt_rank_block(std::int64_t step, std::int64_t rows,
                        std::int64_t stride, std::int64_t count,
                        const void *spans, std::int64_t element_bytes,
                        const void *key, const void *value, void *keys,
                        void *values) {
  check(findObstacle(stride, count));
  check(getBlock(step, rows, {stride, count}, spans, element_bytes, key, value,
                 keys, values));
}

static const char *addSums(std::int64_t step, std::int64_t elementBytes,
                           const void *key, const void *value,
                           const void *keySums, const void *valueSums) {
  return keep(getRing().addSums(step, std::size_t(elementBytes),
                                {readRows(key), readRows(value)},
                                {readRows(keySums), readRows(valueSums)}));
}

void attn_rt_rank_sums(std::int64_t step, std::int64_t stride,
                       std::int64_t count, const void *,
                       std::int64_t element_bytes, const void *key,
                       const void *value, const void *key_sums,
                       const void *value_sums) {
  check(findObstacle(stride, count));
  check(addSums(step, element_bytes, key, value, key_sums, value_sums));
}

namespace {
/// A table of one dimension, as generated code describes it.
struct Numbers {
  const std::int64_t *allocated, *data;
  std::int64_t offset, size, stride;
};
} // namespace

static const char *reshardRows(Group group, std::int64_t kind,
                               std::int64_t elementBytes, const void *bounds,
                               const void *part, const void *result) {
  const Numbers &numbers = *static_cast<const Numbers *>(bounds);
  std::vector<std::int64_t> read(std::size_t(numbers.size));
  for (std::int64_t i = 0; i < numbers.size; ++i)
    read[std::size_t(i)] = numbers.data[numbers.offset + i * numbers.stride];
  return keep(reshard(*Communicator::getCurrent(), group, Reshard(kind), read,
                      std::size_t(elementBytes), readRows(part),
                      readRows(result)));
}

void attn_rt_reshard(std::int64_t stride, std::int64_t count, std::int64_t kind,
                     std::int64_t element_bytes, const void *bounds,
                     const void *part, const void *result) {
  check(findObstacle(stride, count));
  check(
      reshardRows({stride, count}, kind, element_bytes, bounds, part, result));
}

static const char *allGather(std::int64_t stride, std::int64_t count,
                             std::int64_t bytes, const void *part, void *all) {
  return keep(Communicator::getCurrent()->allGather(
      {static_cast<const std::byte *>(part), std::size_t(bytes)},
      {static_cast<std::byte *>(all), std::size_t(bytes * count)},
      {stride, count}, "its part"));
}

void attn_rt_all_gather(std::int64_t stride, std::int64_t count,
                        std::int64_t bytes, const void *part, void *all) {
  check(findObstacle(stride, count));
  check(allGather(stride, count, bytes, part, all));
}

template <typename T>
static const char *allReduce(Group group, std::int64_t elements,
                             const void *part, void *sum) {
  return keep(Communicator::getCurrent()->allReduce<T>(
      {static_cast<const T *>(part), std::size_t(elements)},
      {static_cast<T *>(sum), std::size_t(elements)}, group,
      "its part of a sum"));
}

void attn_rt_all_reduce(std::int64_t stride, std::int64_t count,
                        std::int64_t elements, std::int64_t element_bytes,
                        const void *part, void *sum) {
  check(findObstacle(stride, count));
  auto *reduce = element_bytes == 4 ? &allReduce<float> : &allReduce<double>;
  check(reduce({stride, count}, elements, part, sum));
}

template <typename T>
static const char *allMerge(Group group, std::int64_t rows, std::int64_t size,
                            const void *output, const void *lse,
                            void *mergedOutput, void *mergedLse) {
  auto count = std::size_t(rows), elements = std::size_t(rows * size);
  return keep(Communicator::getCurrent()->allMerge<T>(
      {{static_cast<const T *>(output), elements},
       {static_cast<const T *>(lse), count}},
      {{static_cast<T *>(mergedOutput), elements},
       {static_cast<T *>(mergedLse), count}},
      group, "what its keys give"));
}

void attn_rt_all_merge(std::int64_t stride, std::int64_t count,
                       std::int64_t rows, std::int64_t size,
                       std::int64_t element_bytes, const void *output,
                       const void *lse, void *merged_output, void *merged_lse) {
  check(findObstacle(stride, count));
  auto *merge = element_bytes == 4 ? &allMerge<float> : &allMerge<double>;
  check(merge({stride, count}, rows, size, output, lse, merged_output,
              merged_lse));
}
