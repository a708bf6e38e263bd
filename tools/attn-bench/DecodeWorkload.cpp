//===- DecodeWorkload.cpp - A decode step with its caches -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeWorkload.h"

#include "tools/attn-bench/RowCheck.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>

using namespace attn;
using namespace attn::bench;

static std::size_t getSystemNumber(int name) {
  return std::size_t(std::max(sysconf(name), 0L));
}

/// Bytes to read before memory is read again: twice what the last level of the
/// machine's caches holds, unless that leaves too little for everything else.
static std::size_t getColdBytes() {
  std::size_t atLeast = std::size_t(512) << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
  atLeast = std::max(atLeast, 2 * getSystemNumber(_SC_LEVEL3_CACHE_SIZE));
#endif
  std::size_t available =
      getSystemNumber(_SC_AVPHYS_PAGES) * getSystemNumber(_SC_PAGESIZE);
  return std::min(atLeast, available / 2);
}

ColdCaches::ColdCaches(ElementType type,
                       const std::vector<std::int64_t> &sizes) {
  std::mt19937_64 random(1);
  Cache first{{type, sizes}, {type, sizes}};
  for (Buffer *input : {&first.key, &first.value})
    input->fillNormal(random);
  std::size_t bytes = first.key.bytes() + first.value.bytes();
  std::size_t count =
      std::max<std::size_t>((getColdBytes() + bytes - 1) / bytes, 2);
  caches.reserve(count);
  caches.push_back(std::move(first));
  while (caches.size() < count) {
    Cache &cache =
        caches.emplace_back(Buffer(type, sizes), Buffer(type, sizes));
    cache.key.copyFrom(caches.front().key);
    cache.value.copyFrom(caches.front().value);
  }
}

DecodeWorkload::DecodeWorkload(DecodeCase decodeCase, ElementType type,
                               Kernel kernel)
    : decode(std::move(decodeCase)), type(type), kernel(std::move(kernel)),
      query(type, decode.querySizes()), output(type, decode.querySizes()),
      caches(type, decode.cacheSizes()) {
  std::mt19937_64 random(2);
  query.fillNormal(random);
  // What is never written shows.
  output.fill([](Index) { return std::numeric_limits<double>::quiet_NaN(); });
  for (const Operand &operand : decode.operands())
    operands.emplace_back(*operand.type, operand.sizes).fill(operand.valueAt);
}

Expected<DecodeWorkload> DecodeWorkload::create(const DecodeCase &decode,
                                                ElementType type,
                                                unsigned threads,
                                                const Options &options) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  Expected<Kernel> kernel =
      compileText(decode.name, decode.text(type), *engine, options);
  if (!kernel)
    return kernel.error();
  DecodeWorkload workload(decode, type, std::move(*kernel));
  const ColdCaches::Cache &cache = workload.nextCache();
  if (Expected<double> seconds = workload.run(cache); !seconds)
    return seconds.error();
  if (Status status = workload.check(cache); !status)
    return status.error();
  return workload;
}

Expected<double> DecodeWorkload::run(const ColdCaches::Cache &cache) const {
  std::vector<Argument> arguments = {query.view(), cache.key.view(),
                                     cache.value.view()};
  for (const Buffer &operand : operands)
    arguments.emplace_back(operand.view());
  TensorView result = output.view();
  return timeKernel(kernel, arguments, {&result, 1});
}

Status DecodeWorkload::checkAt(const ColdCaches::Cache &cache, Index batch,
                               Index head, Index row) const {
  Index size = DecodeCase::headSize, length = decode.keyLength;
  Index at =
      ((batch * decode.queryHeads + head) * decode.queryLength + row) * size;
  Index keyHead = batch * decode.keyValueHeads +
                  head * decode.keyValueHeads / decode.queryHeads;

  reference::AttentionProblem problem;
  problem.query = query.viewAt(at, {1, 1, 1, size});
  problem.key = cache.key.viewAt(keyHead * length * size, {1, 1, length, size});
  problem.value =
      cache.value.viewAt(keyHead * length * size, {1, 1, length, size});
  problem.mask = [&](Index, Index, Index, Index j) {
    return decode.sees(row, j);
  };
  return checkRow("batch " + std::to_string(batch) + ", head " +
                      std::to_string(head) + ", row " + std::to_string(row),
                  output.viewAt(at, {1, 1, 1, size}), problem);
}

Status DecodeWorkload::check(const ColdCaches::Cache &cache) const {
  if (Status status = checkWritten(output.view()); !status)
    return status;
  for (Index batch : std::set<Index>{0, decode.batches - 1})
    for (Index head : std::set<Index>{0, decode.queryHeads - 1})
      for (Index row : std::set<Index>{0, decode.queryLength - 1})
        if (Status status = checkAt(cache, batch, head, row); !status)
          return status;
  return {};
}
