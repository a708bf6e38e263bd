//===- CaseRun.cpp - Runs an attention on a GPU ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-gpu-bench/CaseRun.h"

#include "tools/OutputCheck.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>

using namespace attn;
using namespace attn::gpubench;

namespace {

/// A dense tensor on the host, of which the GPU has a copy.
struct Tensor {
  std::vector<std::byte> host;
  cuda::Buffer buffer;
  ElementType type;
  std::vector<Index> sizes;

  TensorView onHost() const {
    return TensorView(host.data(), type, sizes, /*readOnly=*/true);
  }
  TensorView onDevice(bool readOnly) const {
    return TensorView(reinterpret_cast<const void *>(buffer.address()), type,
                      sizes, readOnly);
  }
  /// Rows from the one at `first` on, of the last dimension.
  TensorView rows(Index first, Index count) const {
    const Index some[] = {1, 1, count, sizes.back()};
    return TensorView(host.data() + first * sizes.back() * Index(sizeOf(type)),
                      type, some, /*readOnly=*/true);
  }
};

/// One case, from its numbers to its time.
class CaseRun {
public:
  CaseRun(const GPUCase &gpuCase, const cuda::Device &device)
      : gpuCase(gpuCase), device(device) {}

  Status prepare(const Engine &engine);
  Status check();
  Status measure(double seconds);

  Outcome outcome;

private:
  Expected<Tensor> makeTensor(const std::vector<Index> &sizes, bool isRandom);
  Status launch() const {
    return kernel->launch(
        {query->onDevice(true), key->onDevice(true), value->onDevice(true)},
        {output->onDevice(false)}, stream->raw());
  }
  Expected<Accuracy> checkAll();
  Expected<Accuracy> checkAt(Index row);
  /// Counts rows that were compared.
  Status add(const Expected<Accuracy> &accuracy, Index rows);
  Expected<std::optional<double>> takeSample(Index calls, Index fills,
                                             const cuda::Buffer &filler);

  const GPUCase &gpuCase;
  const cuda::Device &device;
  std::mt19937_64 random; ///< The same numbers in each run.
  std::optional<Kernel> kernel;
  std::optional<cuda::Stream> stream;
  std::optional<cuda::Event> start, end;
  std::optional<Tensor> query, key, value, output;
};

} // namespace

/// Moves what is expected, or gives why it is not there.
template <typename T>
static Status take(Expected<T> from, std::optional<T> &to) {
  if (!from)
    return std::move(from).error();
  to.emplace(std::move(*from));
  return {};
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Expected<Tensor> CaseRun::makeTensor(const std::vector<Index> &sizes,
                                     bool isRandom) {
  Index count = std::accumulate(sizes.begin(), sizes.end(), Index(1),
                                std::multiplies<>());
  std::size_t bytes = std::size_t(count) * sizeOf(gpuCase.type);
  Expected<cuda::Buffer> buffer = device.allocate(bytes);
  if (!buffer)
    return std::move(buffer).error();
  // Where nothing is written, there is no number.
  Tensor tensor{std::vector<std::byte>(bytes, std::byte(0xff)),
                std::move(*buffer), gpuCase.type, sizes};
  if (isRandom) {
    // To draw each number would take longer than to compute with it.
    std::vector<float> drawn(1 << 16);
    std::normal_distribution<float> normal;
    std::ranges::generate(drawn, [&] { return normal(random); });
    visitElementType(gpuCase.type, [&]<typename T>(std::type_identity<T>) {
      T *elements = reinterpret_cast<T *>(tensor.host.data());
      for (Index i = 0; i < count; ++i)
        elements[i] = T(drawn[random() % drawn.size()]);
    });
  }
  Status status = tensor.buffer.upload(tensor.host.data(), bytes, *stream);
  if (status)
    status = stream->synchronize();
  if (!status)
    return std::move(status).error();
  return tensor;
}

Status CaseRun::prepare(const Engine &engine) {
  Expected<Kernel> compiled =
      engine.compile(gpuCase.text(), {.pipeline = "gpu"});
  if (!compiled)
    return compiled.error();
  kernel.emplace(*compiled);
  for (const Diagnostic &remark : kernel->remarks())
    outcome.remarks.push_back(remark.message);
  Status status = take(device.createStream(), stream);
  if (status)
    status = take(device.createEvent(), start);
  if (status)
    status = take(device.createEvent(), end);
  if (status)
    status = take(makeTensor(gpuCase.querySizes(), true), query);
  if (status)
    status = take(makeTensor(gpuCase.keySizes(), true), key);
  if (status)
    status = take(makeTensor(gpuCase.keySizes(), true), value);
  if (status)
    status = take(makeTensor(gpuCase.querySizes(), false), output);
  return status;
}

//===----------------------------------------------------------------------===//
// The oracle's
//===----------------------------------------------------------------------===//

Status CaseRun::add(const Expected<Accuracy> &accuracy, Index rows) {
  if (!accuracy)
    return accuracy.error();
  outcome.rows += rows;
  outcome.error = std::max(outcome.error, accuracy->error);
  outcome.bound = accuracy->bound;
  return {};
}

Expected<Accuracy> CaseRun::checkAll() {
  reference::AttentionProblem problem{
      .query = query->onHost(), .key = key->onHost(), .value = value->onHost()};
  gpuCase.describe(problem);
  Expected<reference::AttentionResult> expected = reference::attention(problem);
  if (!expected)
    return std::move(expected).error();
  return compareOutput(
      "output", output->onHost(), expected->output,
      reference::toleranceFor(gpuCase.type, reference::Quantity::output));
}

/// Compares the row of the output that has this number among all.
Expected<Accuracy> CaseRun::checkAt(Index row) {
  Index position = row % gpuCase.queries,
        head = row / gpuCase.queries % gpuCase.queryHeads,
        batch = row / gpuCase.queries / gpuCase.queryHeads;
  Index group = gpuCase.queryHeads / gpuCase.keyValueHeads;
  Index first = (batch * gpuCase.keyValueHeads + head / group) * gpuCase.keys;
  reference::AttentionProblem problem{.query = query->rows(row, 1),
                                      .key = key->rows(first, gpuCase.keys),
                                      .value = value->rows(first, gpuCase.keys),
                                      .offsets = {position}};
  gpuCase.describe(problem);
  return checkRow("batch " + std::to_string(batch) + ", head " +
                      std::to_string(head) + ", row " +
                      std::to_string(position),
                  output->rows(row, 1), problem);
}

Status CaseRun::check() {
  Status status = launch();
  if (status)
    status = output->buffer.download(output->host.data(), output->host.size(),
                                     *stream);
  if (status)
    status = stream->synchronize();
  if (status)
    status = checkWritten(output->onHost());
  if (!status)
    return status;
  Index all = gpuCase.batches * gpuCase.queryHeads * gpuCase.queries;
  if (gpuCase.family == Family::check)
    return add(checkAll(), all);
  // The first and the last rows, those at the ends of tiles, and some others.
  std::set<Index> rows = {0, 63, 64, all - 65, all - 1};
  while (Index(rows.size()) < std::min<Index>(all, 24))
    rows.insert(Index(random() % std::uint64_t(all)));
  for (Index row : rows)
    if (row >= 0 && row < all)
      if (Status status = add(checkAt(row), 1); !status)
        return status;
  return {};
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// Milliseconds of a call, of `calls` one after another behind `fills` of a
/// buffer; nothing if the stream was empty before they all were in it.
Expected<std::optional<double>>
CaseRun::takeSample(Index calls, Index fills, const cuda::Buffer &filler) {
  Status status;
  for (Index i = 0; i < fills && status; ++i)
    status = filler.fill(0, *stream);
  if (status)
    status = start->record(*stream);
  for (Index i = 0; i < calls && status; ++i)
    status = launch();
  if (status)
    status = end->record(*stream);
  if (!status)
    return std::move(status).error();
  Expected<bool> wasEmpty = start->isDone();
  if (!wasEmpty)
    return std::move(wasEmpty).error();
  if (status = end->synchronize(); !status)
    return std::move(status).error();
  Expected<float> milliseconds = end->millisecondsSince(*start);
  if (!milliseconds)
    return std::move(milliseconds).error();
  if (*wasEmpty)
    return std::optional<double>();
  return std::optional(double(*milliseconds) / double(calls));
}

Status CaseRun::measure(double seconds) {
  // Filling it takes the GPU several times as long as the CPU to ask for it.
  constexpr std::size_t fillerBytes = std::size_t(64) << 20;
  // A stream takes 1024 launches before the CPU has to wait.
  constexpr Index mostFills = 256, mostCalls = 32;
  Expected<cuda::Buffer> filler = device.allocate(fillerBytes);
  if (!filler)
    return std::move(filler).error();
  Index calls = 1, fills = 4;
  double total = 0;
  std::vector<double> samples;
  while (total < 1000 * seconds || samples.size() < 5) {
    Expected<std::optional<double>> sample = takeSample(calls, fills, *filler);
    if (!sample)
      return std::move(sample).error();
    if (!*sample) {
      if (fills *= 4; fills > mostFills)
        return Error{"cannot measure: the GPU is done with filling memory "
                     "before the CPU has launched " +
                         std::to_string(calls) + " calls",
                     {}};
      continue;
    }
    double spent = **sample * double(calls);
    // The first sample says how many calls make one that is long enough.
    if (total == 0)
      calls =
          std::clamp(Index(5 / std::max(**sample, 0.01)), Index(1), mostCalls);
    else
      samples.push_back(**sample);
    total += std::max(spent, 0.001);
  }
  std::ranges::nth_element(samples, samples.begin() + samples.size() / 2);
  outcome.milliseconds = samples[samples.size() / 2];
  return {};
}

Expected<Outcome> gpubench::runCase(const GPUCase &gpuCase,
                                    const Engine &engine,
                                    const cuda::Device &device,
                                    double seconds) {
  CaseRun run(gpuCase, device);
  Status status = run.prepare(engine);
  if (status)
    status = run.check();
  if (status && gpuCase.family != Family::check &&
      gpuCase.family != Family::longer)
    status = run.measure(seconds);
  if (!status)
    return std::move(status).error();
  return std::move(run.outcome);
}
