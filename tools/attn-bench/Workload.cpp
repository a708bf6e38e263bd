//===- Workload.cpp - A compiled attention with its tensors ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Workload.h"

#include <limits>
#include <set>

using namespace attn;
using namespace attn::bench;

/// Arguments of kernels with dropout.
static constexpr std::int64_t dropoutSeed = 0x123456789abcdef;
static constexpr std::int64_t dropoutCall = 7;

Workload::Workload(AttentionCase attentionCase, ElementType type,
                   const Kernel &kernel)
    : attention(std::move(attentionCase)), kernel(kernel),
      query(type,
            {1, attention.queryHeads, attention.length, attention.headSize}),
      key(type, {1, attention.keyValueHeads, attention.numKeys(),
                 attention.headSize}),
      value(type, {1, attention.keyValueHeads, attention.numKeys(),
                   attention.valueSize()}),
      output(type, {1, attention.queryHeads, attention.length,
                    attention.valueSize()}) {
  std::mt19937_64 random(1);
  for (Buffer *input : {&query, &key, &value})
    input->fillNormal(random);
  // What is never written shows.
  output.fill([](Index) { return std::numeric_limits<double>::quiet_NaN(); });
  arguments = {
      query.view(),
      viewHeads(key, attention.headSize, 0, attention.keyValueHeads),
      viewHeads(value, attention.valueSize(), 0, attention.keyValueHeads)};
  for (const Operand &operand : attention.variant.operands) {
    Buffer &buffer =
        operands.emplace_back(operand.type.value_or(type), operand.sizes);
    buffer.fill(operand.valueAt);
    arguments.emplace_back(buffer.view());
  }
  if (attention.variant.dropoutRate > 0) {
    arguments.emplace_back(dropoutSeed);
    arguments.emplace_back(dropoutCall);
  }
}

Expected<Workload> Workload::create(const AttentionCase &attention,
                                    ElementType type, unsigned threads,
                                    const Options &options) {
  Expected<Kernel> kernel =
      compileText(attention.name, attention.text(type), threads, options);
  if (!kernel)
    return kernel.error();
  Workload workload(attention, type, *kernel);
  if (Status status = workload.runAndCheck(); !status)
    return status.error();
  if (options.tuningSeconds > 0)
    if (Status status = workload.tune(type, threads, options); !status)
      return status.error();
  return workload;
}

Status Workload::runAndCheck() const {
  if (Expected<double> seconds = run(); !seconds)
    return seconds.error();
  return check();
}

Status Workload::tune(ElementType type, unsigned threads,
                      const Options &options) {
  TensorView result = output.view();
  Expected<Tuning> tuning = tuneText(attention.name, attention.text(type),
                                     threads, options, arguments, {&result, 1});
  if (!tuning)
    return tuning.error();
  kernel = tuning->kernel;
  found = describe(*tuning);
  return runAndCheck();
}

Expected<double> Workload::run() const {
  TensorView result = output.view();
  return timeKernel(kernel, arguments, {&result, 1});
}

TensorView Workload::viewHeads(const Buffer &rows, Index size, Index first,
                               Index count) const {
  Index heads = attention.keyValueHeads, length = attention.numKeys();
  std::vector<Index> strides = {heads * length * size, length * size, size, 1};
  if (attention.isBSHD)
    strides = {heads * length * size, size, heads * size, 1};
  return rows.viewAt(first * strides[1], {1, count, length, size}, strides);
}

Expected<Accuracy> Workload::checkAt(Index head, Index row) const {
  Index length = attention.length, size = attention.headSize,
        valueSize = attention.valueSize();
  Index keyHead = head * attention.keyValueHeads / attention.queryHeads;
  const Variant &variant = attention.variant;

  reference::AttentionProblem problem;
  problem.query = query.viewAt((head * length + row) * size, {1, 1, 1, size});
  problem.key = viewHeads(key, size, keyHead, 1);
  problem.value = viewHeads(value, valueSize, keyHead, 1);
  problem.offsets = {row};
  problem.mask = [&](Index, Index, Index p, Index j) {
    return variant.visibility.sees(p, j);
  };
  if (variant.score)
    problem.score = [&](double s, Index, Index, Index p, Index j) {
      return variant.score(s, head, p, j);
    };
  if (variant.dropoutRate > 0)
    problem.dropout = {variant.dropoutRate, std::uint64_t(dropoutSeed),
                       std::uint32_t(dropoutCall), std::uint32_t(head)};
  return checkRow(
      "head " + std::to_string(head) + ", row " + std::to_string(row),
      output.viewAt((head * length + row) * valueSize, {1, 1, 1, valueSize}),
      problem);
}

Status Workload::check() const {
  if (Status status = checkWritten(output.view()); !status)
    return status;

  Index last = attention.length - 1;
  // Both ends, and both sides of where tiles meet.
  std::set<Index> rows = {0, 1, 63, 64, last / 2, last - 1, last};
  for (Index head : std::set<Index>{0, attention.queryHeads - 1})
    for (Index row : rows)
      if (row >= 0 && row <= last)
        if (Expected<Accuracy> accuracy = checkAt(head, row); !accuracy)
          return accuracy.error();
  return {};
}
