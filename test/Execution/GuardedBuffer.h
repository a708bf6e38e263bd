//===- GuardedBuffer.h - Memory that ends where it ends ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_GUARDEDBUFFER_H
#define ATTN_TEST_EXECUTION_GUARDEDBUFFER_H

#include <cstddef>
#include <span>

namespace attn::test {

/// Memory between two pages that may not be touched: sanitizers do not see what
/// compiled kernels do, the processor does. The memory touches one of the two
/// pages, so an access one byte beyond that edge ends the test. On the other
/// side there may be unused bytes up to a page.
class GuardedBuffer {
public:
  enum class Edge { begin, end };
  /// All bytes, also the unused ones, are `canary`.
  static constexpr std::byte canary{0xFF};

  GuardedBuffer(std::size_t size, Edge edge);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  std::byte *data() const { return begin; }
  std::span<std::byte> bytes() const { return {begin, size}; }
  /// The bytes between `bytes()` and the page that they do not touch.
  std::span<const std::byte> unusedBytes() const { return unused; }

private:
  std::byte *mapping;
  std::size_t mappingSize;
  std::byte *begin;
  std::size_t size;
  std::span<const std::byte> unused;
};

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_GUARDEDBUFFER_H
