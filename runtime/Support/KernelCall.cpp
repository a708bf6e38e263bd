//===- KernelCall.cpp - A checked call of a kernel ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/KernelCall.h"
#include "runtime/Support/Call.h"
#include "runtime/Support/CallChecks.h"
#include "runtime/Support/ParallelFor.h"

#include <array>
#include <bit>

using namespace attn;
using namespace attn::support;

namespace {
/// `count` elements, without a visit to the allocator if they are few.
template <typename T, std::size_t few> class Buffer {
public:
  explicit Buffer(std::size_t count) {
    if (count > few)
      many.resize(count);
  }
  T *data() { return many.empty() ? inlined.data() : many.data(); }

private:
  std::array<T, few> inlined;
  std::vector<T> many;
};

/// Arguments of a call as generated code takes them. A tensor is a memref
/// descriptor: address twice, offset, sizes, strides; each one word.
class CallFrame {
public:
  CallFrame(std::size_t numWords, std::size_t numArguments)
      : words(numWords), arguments(numArguments), nextWord(words.data()),
        nextArgument(arguments.data()) {}

  void add(const TensorView &view) {
    auto address = reinterpret_cast<std::uintptr_t>(view.data());
    begin();
    push(address);
    push(address);
    push(0);
    for (std::int64_t size : view.sizes())
      push(std::uint64_t(size));
    for (std::int64_t stride : view.strides())
      push(std::uint64_t(stride));
  }

  void add(ElementType type, const Argument &scalar) {
    begin();
    if (!isFloat(type)) {
      // Little-endian: the low bytes come first, whatever the width.
      static_assert(std::endian::native == std::endian::little);
      push(std::uint64_t(*scalar.integer()));
      return;
    }
    double value = scalar.real() ? *scalar.real() : double(*scalar.integer());
    push(encode(type, value));
  }

  void **data() { return arguments.data(); }

private:
  void begin() { *nextArgument++ = nextWord; }
  void push(std::uint64_t word) { *nextWord++ = word; }

  static std::uint64_t encode(ElementType type, double value) {
    switch (type) {
    case ElementType::f64:
      return std::bit_cast<std::uint64_t>(value);
    case ElementType::f16:
      return f16(float(value)).bits;
    case ElementType::bf16:
      return bf16(float(value)).bits;
    default:
      return std::bit_cast<std::uint32_t>(float(value));
    }
  }

  Buffer<std::uint64_t, 176> words; // 16 tensors of rank 4.
  Buffer<void *, 16> arguments;
  std::uint64_t *nextWord;
  void **nextArgument;
};
} // namespace

static std::size_t countWords(const Signature &signature) {
  std::size_t words = 0;
  for (const auto *parameters : {&signature.arguments, &signature.results})
    for (const Parameter &parameter : *parameters)
      words += parameter.isTensor ? 3 + 2 * parameter.shape.size() : 1;
  return words;
}

Status support::callKernel(const Signature &signature, KernelEntry entry,
                           const Threads *threads,
                           std::span<const Argument> arguments,
                           std::span<const TensorView> results, void *device) {
  if (std::optional<Error> error = checkArguments(signature, arguments))
    return std::move(*error);
  if (std::optional<Error> error = checkResults(signature, arguments, results))
    return std::move(*error);

  CallFrame frame(countWords(signature), arguments.size() + results.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const TensorView *view = arguments[i].view())
      frame.add(*view);
    else
      frame.add(signature.arguments[i].type, arguments[i]);
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (signature.results[i].updates < 0) // Else it is an argument.
      frame.add(results[i]);

  CallRecord record;
  record.threads = threads;
  record.device = device;
  if (const char *failure = runGuarded(entry, frame.data(), record))
    return Error{failure, {}};
  return {};
}
