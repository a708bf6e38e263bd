//===- StandardCall.cpp - A call of a kernel nobody calls -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/StandardCall.h"

#include "llvm/Support/CheckedArithmetic.h"

#include <cstdlib>
#include <cstring>

using namespace attn;
using namespace attn::jit;

static constexpr std::int64_t standardSize = 1024, mostBytes = std::int64_t(1)
                                                               << 30;
static constexpr std::size_t alignment = 4096;

void StandardCall::Free::operator()(std::byte *memory) const {
  std::free(memory);
}

Expected<TensorView>
StandardCall::allocate(ElementType type, std::span<const std::int64_t> sizes) {
  std::optional<std::int64_t> bytes = std::int64_t(sizeOf(type));
  for (std::int64_t size : sizes)
    if (bytes)
      bytes = llvm::checkedMul(*bytes, size);
  if (bytes)
    bytes = llvm::checkedAdd(*bytes, std::int64_t(numBytes));
  if (!bytes || *bytes > mostBytes)
    return Error{"it takes more than a gigabyte", {}};
  std::size_t own = std::size_t(*bytes) - numBytes;
  numBytes += own;
  std::size_t whole = (own / alignment + 1) * alignment;
  auto *data = static_cast<std::byte *>(std::aligned_alloc(alignment, whole));
  if (!data)
    return Error{"there is no memory for its arguments", {}};
  memory.emplace_back(data);
  // As a float of any type between 1e-5 and 1.5; as i1, true.
  std::memset(data, type == ElementType::i1 ? 1 : 0x3c, whole);
  return TensorView(data, type, sizes, /*readOnly=*/false);
}

Expected<StandardCall> StandardCall::create(const Kernel &kernel) {
  StandardCall call;
  const Signature &signature = kernel.signature();
  for (const Parameter &parameter : signature.arguments) {
    // Of 8 bits are caches, of i1 masks.
    bool isNumber = isFloat(parameter.type) ||
                    (parameter.isTensor && sizeOf(parameter.type) == 1);
    if (!isNumber)
      return Error{"its argument '" + parameter.name +
                       "' has integers that only a call knows",
                   {}};
    if (!parameter.isTensor) {
      call.arguments.emplace_back(1.0);
      continue;
    }
    std::vector<std::int64_t> sizes = parameter.shape;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] == Parameter::dynamic)
        sizes[i] = i == 0 ? 1 : standardSize;
    Expected<TensorView> view = call.allocate(parameter.type, sizes);
    if (!view)
      return std::move(view).error();
    call.arguments.emplace_back(*view);
  }
  auto shapes = kernel.resultShapes(call.arguments);
  if (!shapes)
    return std::move(shapes).error();
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    const Parameter &result = signature.results[i];
    if (result.updates >= 0) {
      call.results.push_back(
          *call.arguments[std::size_t(result.updates)].view());
      continue;
    }
    Expected<TensorView> view = call.allocate(result.type, (*shapes)[i]);
    if (!view)
      return std::move(view).error();
    call.results.push_back(*view);
  }
  return call;
}
