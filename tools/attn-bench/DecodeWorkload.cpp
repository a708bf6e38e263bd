//===- DecodeWorkload.cpp - A decode step with its caches -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeWorkload.h"

#include <cstring>
#include <limits>
#include <set>

using namespace attn;
using namespace attn::bench;

DecodeWorkload::DecodeWorkload(DecodePointer decodeCase, ElementType type,
                               const Kernel &kernel, bool isWarm)
    : decode(std::move(decodeCase)), type(type), kernel(kernel),
      query(getActivationType(type), decode->querySizes()),
      output(query.view().type(), decode->outputSizes()),
      caches(type, decode->cacheSizes(), isWarm) {
  std::mt19937_64 random(2);
  query.fillNormal(random);
  // What is never written shows.
  output.fill([](Index) { return std::numeric_limits<double>::quiet_NaN(); });
  for (const Operand &operand : decode->operands())
    operands.emplace_back(*operand.type, operand.sizes).fill(operand.valueAt);
}

Expected<DecodeWorkload> DecodeWorkload::create(const DecodePointer &decode,
                                                ElementType type,
                                                unsigned threads,
                                                const Options &options) {
  Expected<Kernel> kernel =
      compileText(decode->name, decode->text(type), threads, options);
  if (!kernel)
    return kernel.error();
  DecodeWorkload workload(decode, type, *kernel, options.warm);
  if (Status status = workload.runAndCheck(options); !status)
    return status.error();
  if (options.tuningSeconds > 0)
    if (Status status = workload.tune(threads, options); !status)
      return status.error();
  return workload;
}

Status DecodeWorkload::runAndCheck(const Options &options) {
  const ColdCaches::Cache &cache = nextCache();
  if (Expected<double> seconds = run(cache); !seconds)
    return seconds.error();
  return check(cache, options.quantizeQueries);
}

Status DecodeWorkload::tune(unsigned threads, const Options &options) {
  TensorView result = output.view();
  Expected<Tuning> tuning =
      tuneText(decode->name, decode->text(type), threads, options,
               argumentsOf(nextCache()), {&result, 1});
  if (!tuning)
    return tuning.error();
  kernel = tuning->kernel;
  found = describe(*tuning);
  return runAndCheck(options);
}

std::vector<Argument>
DecodeWorkload::argumentsOf(const ColdCaches::Cache &cache) const {
  std::vector<Argument> arguments = {query.view()};
  for (const TensorView &view : decode->viewsOf(cache))
    arguments.emplace_back(view);
  for (const Buffer &operand : operands)
    arguments.emplace_back(operand.view());
  return arguments;
}

Expected<double> DecodeWorkload::run(const ColdCaches::Cache &cache) const {
  TensorView result = output.view();
  return timeKernel(kernel, argumentsOf(cache), {&result, 1});
}

Expected<Accuracy> DecodeWorkload::checkAt(const ColdCaches::Cache &cache,
                                           Index batch, Index head, Index query,
                                           bool quantizedQueries) const {
  Index keyHead = head * decode->keyValueHeads / decode->queryHeads;
  std::vector<Index> rows;
  for (Index j = 0, end = decode->keyLength(batch); j < end; ++j)
    if (decode->sees(batch, query, j))
      rows.push_back(decode->rowOf(batch, keyHead, j));
  Index keySize = decode->keySize(), valueSize = decode->valueSize();
  // f32 holds every product of an element of i8 and a scale, rounded.
  auto gather = [&](std::size_t number) {
    const Buffer &memory =
        number == 0 || decode->hasValuesInKeys() ? cache.key : cache.value;
    Index size = number == 0 ? keySize : valueSize,
          stored = decode->hasValuesInKeys() ? keySize : size;
    Buffer seen(getActivationType(type), {1, 1, Index(rows.size()), size});
    if (type == ElementType::i8) {
      seen.fill([&](Index i) {
        Index row = rows[std::size_t(i / size)];
        auto element =
            static_cast<std::int8_t>(memory.data()[row * stored + i % size]);
        float scale;
        std::memcpy(&scale,
                    cache.scales[number].data() + row * Index(sizeof(float)),
                    sizeof(float));
        return double(float(element) * scale);
      });
      return seen;
    }
    if (isFloat8(type)) {
      seen.fill([&](Index i) {
        Index row = rows[std::size_t(i / size)];
        return visitElementType(type, [&]<typename T>(std::type_identity<T>) {
          T element;
          std::memcpy(&element, memory.data() + row * stored + i % size,
                      sizeof(element));
          return double(element);
        });
      });
      return seen;
    }
    std::size_t bytes = std::size_t(size) * sizeOf(type);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(static_cast<std::byte *>(seen.view().data()) + i * bytes,
                  memory.data() + std::size_t(rows[i] * stored) * sizeOf(type),
                  bytes);
    return seen;
  };
  Buffer key = gather(0), value = gather(1);

  Index row = (batch * decode->queryHeads + head) * decode->queryLength + query;
  reference::AttentionProblem problem;
  problem.query = this->query.viewAt(row * keySize, {1, 1, 1, keySize});
  problem.key = key.view();
  problem.value = value.view();
  return checkRow("batch " + std::to_string(batch) + ", head " +
                      std::to_string(head) + ", row " + std::to_string(query),
                  output.viewAt(row * valueSize, {1, 1, 1, valueSize}), problem,
                  quantizedQueries);
}

Status DecodeWorkload::check(const ColdCaches::Cache &cache,
                             bool quantizedQueries) const {
  if (Status status = checkWritten(output.view()); !status)
    return status;
  for (Index batch : std::set<Index>{0, decode->batches - 1})
    for (Index head : std::set<Index>{0, decode->queryHeads - 1})
      for (Index row : std::set<Index>{0, decode->queryLength - 1})
        if (Expected<Accuracy> accuracy =
                checkAt(cache, batch, head, row, quantizedQueries);
            !accuracy)
          return accuracy.error();
  return {};
}
