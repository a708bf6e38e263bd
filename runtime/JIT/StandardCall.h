//===- StandardCall.h - A call of a kernel nobody calls ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_STANDARDCALL_H
#define ATTN_RUNTIME_JIT_STANDARDCALL_H

#include "attn/kernel.h"
#include "runtime/JIT/Tuner.h"

#include <cstddef>
#include <memory>

namespace attn::jit {

/// Arguments to measure a kernel by when no call of it is at hand: of its
/// dynamic sizes the first of a tensor, its batch, is 1, and others are 1024;
/// numbers are all the same.
class StandardCall {
public:
  /// An error if the kernel takes integers, which say how much of tensors there
  /// is, or where, or more than a gigabyte.
  static Expected<StandardCall> create(const Kernel &kernel);

  MeasuredCall get() const { return {arguments, results}; }

private:
  struct Free {
    void operator()(std::byte *memory) const;
  };
  /// Memory that is filled, so that each page is one of its own.
  Expected<TensorView> allocate(ElementType type,
                                std::span<const std::int64_t> sizes);

  std::vector<std::unique_ptr<std::byte[], Free>> memory;
  std::size_t numBytes = 0;
  std::vector<Argument> arguments;
  std::vector<TensorView> results;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_STANDARDCALL_H
