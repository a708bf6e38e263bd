//===- Call.cpp - What a call costs ---------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `Kernel::run` on one query and one key of 16 dimensions, on one thread, and
// of a decode step on one key. All that is checked before is in the time, and
// so is the kernel itself: the cost of a call is at most that. With no batch at
// all
// (`/empty`), next to nothing is computed.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "tools/attn-bench/Failure.h"
#include "tools/attn-bench/Families.h"

using namespace attn;
using attn::bench::Buffer;

// Not in attn::bench, whose Index is not that of expressions.
static Attention createAttention(Mask mask) {
  return {.queryHeads = 1, .headSize = 16, .mask = std::move(mask)};
}

static void measureCall(benchmark::State &state, const Attention &attention,
                        std::int64_t batches, const bench::Options &options) {
  Expected<Engine> engine = bench::createEngine(options, /*threads=*/1);
  if (!engine)
    return bench::fail(state, engine.error());
  CompileOptions compileOptions;
  if (!options.pipeline.empty())
    compileOptions.pipeline = options.pipeline;
  Expected<Kernel> kernel = engine->compile(attention, compileOptions);
  if (!kernel)
    return bench::fail(state, kernel.error());

  auto sizes = [&](std::int64_t heads) {
    return std::vector<std::int64_t>{batches, heads, 1, attention.headSize};
  };
  const auto querySizes = sizes(attention.queryHeads);
  const auto keySizes =
      sizes(attention.keyValueHeads.value_or(attention.queryHeads));
  Buffer query(attention.type, querySizes), key(attention.type, keySizes),
      value(attention.type, keySizes), output(attention.type, querySizes),
      length(ElementType::i32, {batches});
  for (Buffer *input : {&query, &key, &value, &length})
    input->fill([](std::int64_t) { return 1.0; });
  std::vector<Argument> arguments = {query.view(), key.view(), value.view()};
  if (kernel->signature().arguments.size() > arguments.size())
    arguments.emplace_back(length.view());
  const TensorView results[] = {output.view()};

  while (state.KeepRunning())
    if (Status status = kernel->run(arguments, results); !status)
      return bench::fail(state, status.error());
}

void bench::registerCall(const Options &options) {
  const std::pair<std::string, Attention> cases[] = {
      {"all", createAttention({})},
      {"causal", createAttention(causal())},
      {"keyPadding",
       createAttention(keyPadding(Tensor<std::int32_t, 1>("key_lengths")))},
      {"decode",
       {.queryHeads = 32,
        .keyValueHeads = 8,
        .headSize = 128,
        .queryLength = 1,
        .offset = Offset::bottomRight(),
        .mask = causal()}}};
  for (const auto &[name, attention] : cases)
    for (std::int64_t batches : {1, 0})
      benchmark::RegisterBenchmark(
          ("call/" + name + (batches == 0 ? "/empty" : "")).c_str(),
          [=](benchmark::State &state) {
            measureCall(state, attention, batches, options);
          });
}
