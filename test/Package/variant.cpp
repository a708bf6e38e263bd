//===- variant.cpp - The variant in README.md -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "readme/variant.h" // The example, as it stands there.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

static constexpr int heads = 8, keyHeads = 2, length = 40, size = 64;

/// Row `i` of `head`, of a tensor (1, H, length, size).
static const float *row(const std::vector<float> &tensor, int head, int i) {
  return &tensor[std::size_t((head * length + i) * size)];
}

static std::vector<float> createTensor(int numHeads, int seed) {
  std::vector<float> result;
  for (int i = 0; i < numHeads * length * size; ++i)
    result.push_back(float((i * 37 + seed) % 101 - 50) / 50.0F);
  return result;
}

/// The largest difference between an output and what the variant means.
static double compare(const std::vector<float> &query,
                      const std::vector<float> &key,
                      const std::vector<float> &value,
                      const std::vector<float> &output) {
  double error = 0;
  for (int h = 0; h < heads; ++h)
    for (int q = 0; q < length; ++q) {
      int keyHead = h * keyHeads / heads;
      double sum = 0;
      std::array<double, size> expected{};
      for (int k = 0; k <= q; ++k) {
        if ((q - k) % 4 != 0 && k >= 16)
          continue;
        double s = 0;
        for (int d = 0; d < size; ++d)
          s += double(row(query, h, q)[d]) * double(row(key, keyHead, k)[d]);
        double weight =
            std::exp(s / std::sqrt(size) * std::exp((k - q) / 100.));
        sum += weight;
        for (int d = 0; d < size; ++d)
          expected[std::size_t(d)] +=
              weight * double(row(value, keyHead, k)[d]);
      }
      for (int d = 0; d < size; ++d)
        error = std::fmax(error, std::abs(double(row(output, h, q)[d]) -
                                          expected[std::size_t(d)] / sum));
    }
  return error;
}

int main() {
  attn::Expected<attn::Engine> engine = attn::Engine::create();
  if (!engine)
    return 1;
  attn::Expected<attn::Kernel> kernel = compileVariant(*engine);
  if (!kernel) {
    std::fprintf(stderr, "%s\n", kernel.error().message.c_str());
    return 1;
  }
  std::vector<float> query = createTensor(heads, 1),
                     key = createTensor(keyHeads, 2),
                     value = createTensor(keyHeads, 3), output = query;
  const std::array<std::int64_t, 4> sizes = {1, heads, length, size},
                                    keySizes = {1, keyHeads, length, size};
  attn::Status status = kernel->run({attn::TensorView(query.data(), sizes),
                                     attn::TensorView(key.data(), keySizes),
                                     attn::TensorView(value.data(), keySizes)},
                                    {attn::TensorView(output.data(), sizes)});
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  double error = compare(query, key, value, output);
  std::printf("variant: error %g\n", error);
  return error < 1e-5 ? 0 : 1;
}
