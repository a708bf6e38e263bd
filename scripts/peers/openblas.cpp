//===- openblas.cpp - Attention on a library's matrix product -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one writes by hand in an afternoon: for 128 query rows at a time, scores
// by sgemm, a softmax that the compiler vectorises, and the output by sgemm.
// Keys that no row of the block sees are left out.
//
//===----------------------------------------------------------------------===//

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

extern "C" void openblas_set_num_threads(int);

namespace {

constexpr long blockRows = 128;

/// Sizes and the mask: `window` keys before a row's own, -1 for all.
struct Problem {
  long queryHeads, keyHeads, length, size;
  bool causal;
  long window;
  int threads;
};

/// e^x for x <= 0, to about 2e-7.
inline float exponential(float x) {
  float scaled = std::max(x * 1.44269504f, -126.0f);
  float whole = std::floor(scaled);
  float part = scaled - whole;
  float power = 1.8775767e-3f;
  power = power * part + 8.9893397e-3f;
  power = power * part + 5.5826318e-2f;
  power = power * part + 2.4015361e-1f;
  power = power * part + 6.9315308e-1f;
  power = power * part + 9.9999994e-1f;
  auto exponent = std::int32_t(whole) + 127;
  return power * std::bit_cast<float>(exponent << 23);
}

/// The scores of a row to probabilities that sum to the result.
float softmax(float *row, long columns, long first, long last) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (long j = first; j < last; ++j)
    maximum = std::max(maximum, row[j]);
  float sum = 0;
  for (long j = first; j < last; ++j)
    sum += row[j] = exponential(row[j] - maximum);
  std::fill(row, row + first, 0.0f);
  std::fill(row + last, row + columns, 0.0f);
  return sum;
}

void attendBlock(const Problem &problem, const float *query, const float *key,
                 const float *value, float *output, long firstRow,
                 float *scores) {
  long size = problem.size,
       rows = std::min(blockRows, problem.length - firstRow);
  long end = problem.causal ? firstRow + rows : problem.length;
  long begin =
      problem.window >= 0 ? std::max(firstRow - problem.window, 0l) : 0;
  long columns = end - begin;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, size,
              1.0f / std::sqrt(float(size)), query + firstRow * size, size,
              key + begin * size, size, 0.0f, scores, columns);
  float sums[blockRows];
  for (long i = 0; i < rows; ++i) {
    long position = firstRow + i;
    long last = problem.causal ? position + 1 : end;
    long first = problem.window >= 0
                     ? std::max(position - problem.window, begin)
                     : begin;
    sums[i] =
        softmax(scores + i * columns, columns, first - begin, last - begin);
  }
  float *result = output + firstRow * size;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, size, columns,
              1.0f, scores, columns, value + begin * size, size, 0.0f, result,
              size);
  for (long i = 0; i < rows; ++i)
    for (long d = 0; d < size; ++d)
      result[i * size + d] /= sums[i];
}

} // namespace

extern "C" void attend(const Problem *problem, const float *query,
                       const float *key, const float *value, float *output) {
  openblas_set_num_threads(1);
  long matrix = problem->length * problem->size;
  long blocks = (problem->length + blockRows - 1) / blockRows;
  std::atomic<long> next = 0;
  auto work = [&] {
    std::vector<float> scores(blockRows * problem->length);
    // The long blocks of a causal mask come first.
    for (long item; (item = next++) < blocks * problem->queryHeads;) {
      long head = item / blocks, block = blocks - 1 - item % blocks;
      long keyHead = head * problem->keyHeads / problem->queryHeads;
      attendBlock(*problem, query + head * matrix, key + keyHead * matrix,
                  value + keyHead * matrix, output + head * matrix,
                  block * blockRows, scores.data());
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < problem->threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
}
