//===- Kernel.cpp - Calls of compiled kernels -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/kernel.h"

#include "runtime/JIT/CallChecks.h"
#include "runtime/JIT/KernelCode.h"
#include "runtime/Support/Call.h"

#include "llvm/ADT/SmallVector.h"

#include <bit>

using namespace attn;
using namespace attn::jit;

namespace {
/// Arguments of a call as generated code takes them. A tensor is a memref
/// descriptor: address twice, offset, sizes, strides; each one word.
class CallFrame {
public:
  explicit CallFrame(std::size_t numWords, std::size_t numArguments) {
    // Never grows, because addresses of words are in use.
    words.reserve(numWords);
    arguments.reserve(numArguments);
  }

  void add(const TensorView &view) {
    auto address = reinterpret_cast<std::uintptr_t>(view.data());
    begin();
    words.append({address, address, 0});
    for (std::int64_t size : view.sizes())
      words.push_back(std::uint64_t(size));
    for (std::int64_t stride : view.strides())
      words.push_back(std::uint64_t(stride));
  }

  void add(ElementType type, const Argument &scalar) {
    begin();
    if (!isFloat(type)) {
      // Little-endian: the low bytes come first, whatever the width.
      static_assert(std::endian::native == std::endian::little);
      words.push_back(std::uint64_t(*scalar.integer()));
      return;
    }
    double value = scalar.real() ? *scalar.real() : double(*scalar.integer());
    words.push_back(encode(type, value));
  }

  void **data() { return arguments.data(); }

private:
  void begin() { arguments.push_back(words.end()); }

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

  llvm::SmallVector<std::uint64_t, 16 * 11> words;
  llvm::SmallVector<void *, 16> arguments;
};
} // namespace

static std::size_t countWords(const Signature &signature) {
  std::size_t words = 0;
  for (const auto *parameters : {&signature.arguments, &signature.results})
    for (const Parameter &parameter : *parameters)
      words += parameter.isTensor ? 3 + 2 * parameter.shape.size() : 1;
  return words;
}

Kernel::Kernel(std::shared_ptr<const detail::KernelCode> code,
               CompileStats stats)
    : code(std::move(code)), compileStats(stats) {}

const Signature &Kernel::signature() const { return code->signature; }

const CompileStats &Kernel::stats() const { return compileStats; }

Expected<std::vector<std::vector<std::int64_t>>>
Kernel::resultShapes(std::span<const Argument> arguments) const {
  const Signature &signature = code->signature;
  if (std::optional<Error> error = checkArguments(signature, arguments))
    return std::move(*error);
  std::vector<std::vector<std::int64_t>> shapes(signature.results.size());
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t dim = 0; dim < signature.resultSizes[i].size(); ++dim) {
      Expected<std::int64_t> size =
          computeResultSize(signature, arguments, i, dim);
      if (!size)
        return std::move(size).error();
      shapes[i].push_back(*size);
    }
  return shapes;
}

Status Kernel::run(std::span<const Argument> arguments,
                   std::span<const TensorView> results) const {
  const Signature &signature = code->signature;
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
  for (const TensorView &view : results)
    frame.add(view);

  support::CallRecord record;
  record.threads = code->threads.get();
  if (const char *failure =
          support::runGuarded(code->code->getEntry(), frame.data(), record))
    return Error{failure, {}};
  return {};
}
