//===- StaticKernel.cpp - Kernels compiled ahead of time ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/StaticKernel.h"
#include "runtime/Support/CallMessages.h"
#include "runtime/Support/Convert.h"
#include "runtime/Support/HostPool.h"
#include "runtime/Support/ParallelFor.h"
#include "runtime/Support/SignatureText.h"
#include "runtime/Support/TensorConversion.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

using namespace attn;
using namespace attn::support;

static std::atomic<unsigned> requestedThreads = 0;

void attn_set_threads(unsigned count) { requestedThreads = count; }

namespace {
/// The host's threads, if it brought any.
struct Host {
  attn_parallel_for parallelFor = nullptr;
  void *context = nullptr;
};
} // namespace
static std::mutex hostMutex;
static Host host;

void attn_set_parallel_for(attn_parallel_for parallelFor, void *context) {
  std::lock_guard lock(hostMutex);
  host = {parallelFor, context};
}

static ParallelFor getHostPool() {
  std::lock_guard lock(hostMutex);
  return convertParallelFor(host.parallelFor, host.context);
}

static int countThreads() {
  unsigned count = requestedThreads;
  if (count == 0) // Which may not be known.
    count = std::max(1U, std::thread::hardware_concurrency());
  constexpr unsigned largest = std::numeric_limits<int>::max();
  return int(std::min(count, largest));
}

/// What this processor lacks of a list of features.
static std::string findMissingFeatures(std::string_view features) {
#if defined(__x86_64__)
#define ATTN_FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
  struct Feature {
    std::string_view name;
    bool isThere;
  };
  static const Feature known[] = {
      ATTN_FEATURE("ssse3"),       ATTN_FEATURE("sse4.1"),
      ATTN_FEATURE("sse4.2"),      ATTN_FEATURE("avx"),
      ATTN_FEATURE("f16c"),        ATTN_FEATURE("avx2"),
      ATTN_FEATURE("fma"),         ATTN_FEATURE("avx512f"),
      ATTN_FEATURE("avx512bf16"),  ATTN_FEATURE("avx512bitalg"),
      ATTN_FEATURE("avx512bw"),    ATTN_FEATURE("avx512cd"),
      ATTN_FEATURE("avx512dq"),    ATTN_FEATURE("avx512fp16"),
      ATTN_FEATURE("avx512ifma"),  ATTN_FEATURE("avx512vbmi"),
      ATTN_FEATURE("avx512vbmi2"), ATTN_FEATURE("avx512vl"),
      ATTN_FEATURE("avx512vnni"),  ATTN_FEATURE("avx512vpopcntdq"),
  };
#undef ATTN_FEATURE
  while (!features.empty()) {
    std::string_view name = features.substr(0, features.find(','));
    const auto *feature = std::find_if(
        std::begin(known), std::end(known),
        [&](const Feature &feature) { return feature.name == name; });
    // The others are for integers, but for AVX10's, which none is compiled for.
    bool isThere = feature != std::end(known) ? feature->isThere
                                              : !name.starts_with("avx10");
    if (!isThere)
      return std::string(name);
    features.remove_prefix(std::min(features.size(), name.size() + 1));
  }
#endif
  return {};
}

/// The kernel's signature, read by whoever comes first.
static Expected<const Signature *> getSignature(attn_rt_static_kernel &kernel) {
  if (const Signature *decoded = kernel.decoded)
    return decoded;
  std::optional<Signature> read =
      readSignature({kernel.signature, kernel.signatureSize});
  if (!read)
    return Error{"the kernel was compiled by another version than " ATTN_VERSION
                 ", that of attn-runtime",
                 {}};
  if (std::string missing = findMissingFeatures(kernel.features);
      !missing.empty())
    return Error{"the kernel was compiled for a processor with " + missing +
                     ", which this one does not have",
                 {}};
  auto mine = std::make_unique<const Signature>(std::move(*read));
  const Signature *none = nullptr;
  if (kernel.decoded.compare_exchange_strong(none, mine.get()))
    return mine.release();
  return none;
}

static Status call(attn_rt_static_kernel &kernel, const void *const *pointers) {
  Expected<const Signature *> found = getSignature(kernel);
  if (!found)
    return std::move(found).error();
  const Signature *signature = *found;
  std::vector<Argument> arguments;
  arguments.reserve(signature->arguments.size());
  for (const Parameter &parameter : signature->arguments) {
    const void *pointer = *pointers++;
    if (!parameter.isTensor) {
      if (isFloat(parameter.type))
        arguments.emplace_back(*static_cast<const double *>(pointer));
      else
        arguments.emplace_back(*static_cast<const std::int64_t *>(pointer));
      continue;
    }
    Expected<TensorView> view = convertTensor(
        static_cast<const attn_tensor *>(pointer), /*readOnly=*/true,
        [&] { return describeArgument(*signature, arguments.size()); });
    if (!view)
      return std::move(view).error();
    arguments.emplace_back(*view);
  }
  std::vector<TensorView> results;
  results.reserve(signature->results.size());
  while (results.size() < signature->results.size()) {
    Expected<TensorView> view = convertTensor(
        static_cast<const attn_tensor *>(*pointers++), /*readOnly=*/false,
        [&] { return describeResult(results.size()); });
    if (!view)
      return std::move(view).error();
    results.push_back(*view);
  }
  Threads threads = {countThreads(), getHostPool()};
  return callKernel(*signature, kernel.entry, &threads, arguments, results);
}

static void writeError(std::string_view message, char *error,
                       std::size_t size) {
  if (!error || size == 0)
    return;
  std::size_t length = std::min(message.size(), size - 1);
  std::memcpy(error, message.data(), length);
  error[length] = '\0';
}

int attn_rt_call_static_kernel(attn_rt_static_kernel *kernel,
                               const void *const *arguments, char *error,
                               std::size_t errorSize) {
  try {
    Status status = call(*kernel, arguments);
    if (status)
      return 0;
    writeError(status.error().message, error, errorSize);
  } catch (...) {
    writeError("out of memory", error, errorSize);
  }
  return 1;
}

// LLVM's names for what Convert.h has. Not every compiler's library has them.
extern "C" {
ATTN_EXPORT float __truncsfbf2(float value) {
  return attn_rt_truncate_f32_to_bf16(value);
}
ATTN_EXPORT float __truncdfbf2(double value) {
  return attn_rt_truncate_f64_to_bf16(value);
}
}
