//===- EmulatorTesting.h - Kernels of GPUs in tests ---------- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_EMULATORTESTING_H
#define ATTN_TEST_EXECUTION_EMULATORTESTING_H

#include "runtime/JIT/EmulatedKernel.h"
#include "test/Execution/Random.h"
#include "test/Execution/TextReplacement.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace attn::test {

/// Compiles the kernel `name` of the gpu.module in `text`.
Expected<jit::EmulatedKernel> compileKernel(const std::string &text,
                                            const std::string &name);

/// What the pipeline for GPUs makes of `text`; null, and a failure, if it
/// cannot.
mlir::OwningOpRef<mlir::ModuleOp> lowerForGPU(const std::string &text,
                                              mlir::MLIRContext &context);

/// How `launch`, whose sizes are constants, launches its kernel.
emulator::LaunchOptions readLaunch(mlir::gpu::LaunchFuncOp launch);

/// Runs a kernel: an empty string, or what is wrong.
using RunKernel =
    std::function<std::string(const jit::EmulatedKernel &, std::uint64_t seed)>;

/// The kernel is right with every seed.
void expectRight(const std::string &text, const std::string &name,
                 const RunKernel &run);

/// A kernel with a planted fault is found out with some seed, with `message`.
void expectCaught(const std::string &text, const std::string &name,
                  const RunKernel &run, const std::string &message);

/// `text` without the line `number` of those that have `part`, or with `to`
/// instead of it; negative numbers are from the end on.
std::string replaceLine(const std::string &text, const std::string &part,
                        int number, const std::string &to = "");

/// Says where `actual` is not `expected`, within `tolerance`.
template <typename T>
std::string compare(const std::vector<T> &actual,
                    const std::vector<double> &expected, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(double(actual[i]) - expected[i]) <= tolerance))
      return "wrong at " + std::to_string(i) + ": " +
             std::to_string(double(actual[i])) + ", expected " +
             std::to_string(expected[i]);
  return "";
}

template <typename T>
std::vector<T> makeNumbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(T(float(random.normal())));
  return result;
}

/// Arguments of a kernel, and the buffers that they point to.
class KernelArguments {
public:
  void addInteger(std::int64_t value) { values.push_back(value); }
  void addFloat(float value) {
    values.push_back(std::bit_cast<std::int32_t>(value));
  }

  /// A pointer to a buffer.
  template <typename T>
  void addPointer(std::vector<T> &data, const std::string &name,
                  bool isWritable = true) {
    buffers.push_back({data.data(), data.size() * sizeof(T), name, isWritable});
    values.push_back(std::bit_cast<std::int64_t>(data.data()));
  }

  /// A contiguous memref on a buffer, `offset` elements behind its beginning.
  template <typename T>
  void addMemRef(std::vector<T> &data, const std::vector<std::int64_t> &sizes,
                 const std::string &name, bool isWritable = true,
                 std::int64_t offset = 0) {
    addPointer(data, name, isWritable);
    values.back() += offset * std::int64_t(sizeof(T));
    values.push_back(values.back());
    values.push_back(0);
    values.insert(values.end(), sizes.begin(), sizes.end());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t stride = 1;
      for (std::size_t j = i + 1; j < sizes.size(); ++j)
        stride *= sizes[j];
      values.push_back(stride);
    }
  }

  /// Launches with these buffers.
  Status launch(const jit::EmulatedKernel &kernel,
                emulator::LaunchOptions options);

private:
  std::deque<std::int64_t> values; // Little endian: narrow types come first.
  std::vector<emulator::Buffer> buffers;
};

/// A kernel of one warp's worth of numbers in and out, at which lane i finds
/// its own at %p and puts its result at %q. `body` computes %r of %v.
std::string makeLaneText(const std::string &body);

/// What `body` computes of `in`, with one thread each.
Expected<std::vector<std::int32_t>> computeLanes(const std::string &body,
                                                 std::vector<std::int32_t> in,
                                                 std::uint64_t seed = 0);

/// Random numbers, always the same.
std::vector<std::int32_t> makeWords(std::size_t count);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_EMULATORTESTING_H
