//===- PeakLoops.cpp - What a machine's arithmetic can do -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/PeakLoops.h"

#include "runtime/Support/TileState.h"

#include <cmath>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

using namespace attn;
using namespace attn::bench;

// As many accumulators as the largest product of latency and units needs, and
// as the registers hold beside the two operands. The operands are such that the
// sums stay normal numbers.
static constexpr float factor = 0.999f, addend = 0.001f;

static float runScalarFma(std::int64_t iterations) {
  constexpr int chains = 16;
  float sums[chains] = {};
  for (std::int64_t i = 0; i < iterations; ++i)
    for (float &sum : sums)
      sum = std::fma(sum, factor, addend);
  float total = 0;
  for (float sum : sums)
    total += sum;
  return total;
}

static constexpr PeakLoop scalarFma{"scalar fma", 16 * 2, runScalarFma};

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static float
runAvx512Fma(std::int64_t iterations) {
  constexpr int chains = 16;
  __m512 sums[chains], scale = _mm512_set1_ps(factor),
                       add = _mm512_set1_ps(addend);
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < iterations; ++i)
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, scale, add);
  __m512 total = _mm512_setzero_ps();
  for (__m512 sum : sums)
    total = _mm512_add_ps(total, sum);
  return _mm512_reduce_add_ps(total);
}

__attribute__((target("avx512f,avx512bf16"))) static float
runAvx512Bf16Dot(std::int64_t iterations) {
  constexpr int chains = 16;
  __m512 sums[chains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  __m512 lhs = _mm512_set1_ps(factor), rhs = _mm512_set1_ps(addend);
  __m512bh left = _mm512_cvtne2ps_pbh(lhs, lhs);
  __m512bh right = _mm512_cvtne2ps_pbh(rhs, rhs);
  for (std::int64_t i = 0; i < iterations; ++i)
    for (__m512 &sum : sums)
      sum = _mm512_dpbf16_ps(sum, left, right);
  __m512 total = _mm512_setzero_ps();
  for (__m512 sum : sums)
    total = _mm512_add_ps(total, sum);
  return _mm512_reduce_add_ps(total);
}

__attribute__((target("amx-tile,amx-bf16"))) static float
runAmxBf16(std::int64_t iterations) {
  struct alignas(64) {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t columnBytes[16];
    std::uint8_t rows[16];
  } config;
  for (int tile = 0; tile < 16; ++tile) {
    config.columnBytes[tile] = tile < 8 ? 64 : 0;
    config.rows[tile] = tile < 8 ? 16 : 0;
  }
  _tile_loadconfig(&config);
  // Of 0; how long it takes does not depend on that.
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  float sums[4][16 * 16];
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  _tile_stored(2, sums[2], 64);
  _tile_stored(3, sums[3], 64);
  _tile_release();
  return sums[0][0] + sums[1][0] + sums[2][0] + sums[3][0];
}

__attribute__((target("avx2,fma"))) static float
runAvx2Fma(std::int64_t iterations) {
  constexpr int chains = 12;
  __m256 sums[chains], scale = _mm256_set1_ps(factor),
                       add = _mm256_set1_ps(addend);
  for (__m256 &sum : sums)
    sum = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < iterations; ++i)
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, scale, add);
  __m256 total = _mm256_setzero_ps();
  for (__m256 sum : sums)
    total = _mm256_add_ps(total, sum);
  return total[0] + total[1] + total[2] + total[3] + total[4] + total[5] +
         total[6] + total[7];
}

std::vector<PeakLoop> bench::getPeakLoops(ElementType type) {
  std::vector<PeakLoop> loops;
  if (__builtin_cpu_supports("avx512f"))
    loops.push_back({"avx512 fma", 16 * 16 * 2, runAvx512Fma});
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    loops.push_back({"avx2 fma", 12 * 8 * 2, runAvx2Fma});
  else
    loops.push_back(scalarFma);
  if (type == ElementType::bf16 && __builtin_cpu_supports("avx512bf16"))
    loops.push_back({"avx512 bf16 dot", 16 * 32 * 2, runAvx512Bf16Dot});
  if (type == ElementType::bf16 && __builtin_cpu_supports("amx-bf16") &&
      requestTileState())
    loops.push_back({"amx bf16", 4 * 16 * 16 * 32 * 2, runAmxBf16});
  return loops;
}

#elif defined(__aarch64__)

static float runNeonFma(std::int64_t iterations) {
  constexpr int chains = 24;
  float32x4_t sums[chains], scale = vdupq_n_f32(factor),
                            add = vdupq_n_f32(addend);
  for (float32x4_t &sum : sums)
    sum = vdupq_n_f32(0);
  // fmla adds to its own operand, so the sums grow, slowly.
  for (std::int64_t i = 0; i < iterations; ++i)
    for (float32x4_t &sum : sums)
      sum = vfmaq_f32(sum, scale, add);
  float32x4_t total = vdupq_n_f32(0);
  for (float32x4_t sum : sums)
    total = vaddq_f32(total, sum);
  return vaddvq_f32(total);
}

std::vector<PeakLoop> bench::getPeakLoops(ElementType) {
  return {{"neon fma", 24 * 4 * 2, runNeonFma}};
}

#else

std::vector<PeakLoop> bench::getPeakLoops(ElementType) { return {scalarFma}; }

#endif
