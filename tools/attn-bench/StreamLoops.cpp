//===- StreamLoops.cpp - Reading two streams ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/StreamLoops.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace attn::bench;

// Each stream has accumulators of its own for every vector of a step, so that
// no addition waits for another. They add integers, which never take longer for
// the numbers that they find.

static std::uint64_t runWords(const std::byte *first, const std::byte *second,
                              std::size_t bytes) {
  constexpr std::size_t words = 16, size = words * sizeof(std::uint64_t);
  std::uint64_t sums[2][words] = {};
  for (std::size_t at = 0; at < bytes; at += size) {
    std::uint64_t read[2][words];
    std::memcpy(read[0], first + at, size);
    std::memcpy(read[1], second + at, size);
    for (std::size_t stream = 0; stream < 2; ++stream)
      for (std::size_t i = 0; i < words; ++i)
        sums[stream][i] += read[stream][i];
  }
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < words; ++i)
    total += sums[0][i] + sums[1][i];
  return total;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static std::uint64_t
runAvx512(const std::byte *first, const std::byte *second, std::size_t bytes) {
  constexpr std::size_t vectors = 4;
  __m512i sums[2][vectors];
  for (auto &stream : sums)
    for (__m512i &sum : stream)
      sum = _mm512_setzero_si512();
  for (std::size_t at = 0; at < bytes; at += vectors * 64)
    for (std::size_t i = 0; i < vectors; ++i) {
      sums[0][i] =
          _mm512_add_epi64(sums[0][i], _mm512_loadu_si512(first + at + i * 64));
      sums[1][i] = _mm512_add_epi64(sums[1][i],
                                    _mm512_loadu_si512(second + at + i * 64));
    }
  __m512i total = _mm512_setzero_si512();
  for (auto &stream : sums)
    for (__m512i sum : stream)
      total = _mm512_add_epi64(total, sum);
  return std::uint64_t(_mm512_reduce_add_epi64(total));
}

__attribute__((target("avx2"))) static std::uint64_t
runAvx2(const std::byte *first, const std::byte *second, std::size_t bytes) {
  constexpr std::size_t vectors = 4;
  auto load = [](const std::byte *from) __attribute__((target("avx2"))) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
  };
  __m256i sums[2][vectors];
  for (auto &stream : sums)
    for (__m256i &sum : stream)
      sum = _mm256_setzero_si256();
  for (std::size_t at = 0; at < bytes; at += vectors * 32)
    for (std::size_t i = 0; i < vectors; ++i) {
      sums[0][i] = _mm256_add_epi64(sums[0][i], load(first + at + i * 32));
      sums[1][i] = _mm256_add_epi64(sums[1][i], load(second + at + i * 32));
    }
  __m256i total = _mm256_setzero_si256();
  for (auto &stream : sums)
    for (__m256i sum : stream)
      total = _mm256_add_epi64(total, sum);
  return std::uint64_t(total[0] + total[1] + total[2] + total[3]);
}

StreamLoop attn::bench::getStreamLoop() {
  if (__builtin_cpu_supports("avx512f"))
    return {"avx512", runAvx512};
  if (__builtin_cpu_supports("avx2"))
    return {"avx2", runAvx2};
  return {"words", runWords};
}

#else

StreamLoop attn::bench::getStreamLoop() { return {"words", runWords}; }

#endif
