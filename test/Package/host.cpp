//===- host.cpp - A program that uses the installed package -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

static constexpr const char *source = R"(
func.func @attend(%query: tensor<1x1x1x2xf32>, %key: tensor<1x1x2x2xf32>,
                  %value: tensor<1x1x2x1xf32>) -> tensor<1x1x1x1xf32> {
  %init = tensor.empty() : tensor<1x1x1x1xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x1x1x2xf32>, tensor<1x1x2x2xf32>,
          tensor<1x1x2x1xf32>)
      outs(%init : tensor<1x1x1x1xf32>)
  return %output : tensor<1x1x1x1xf32>
}
)";

static int fail(const attn::Error &error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  for (const attn::Diagnostic &diagnostic : error.diagnostics)
    std::fprintf(stderr, "%s:%u:%u: %s\n", diagnostic.file.c_str(),
                 diagnostic.line, diagnostic.column,
                 diagnostic.message.c_str());
  return 1;
}

int main() {
  attn::Expected<attn::Engine> engine = attn::Engine::create();
  if (!engine)
    return fail(engine.error());
  attn::Expected<attn::Kernel> kernel = engine->compile(source);
  if (!kernel)
    return fail(kernel.error());

  // The query scores both keys alike, so the output is the values' mean.
  const std::array<float, 2> query = {1, 1}, value = {1, 3};
  const std::array<float, 4> key = {1, 2, 2, 1};
  float output = 0;
  using Sizes = std::array<std::int64_t, 4>;
  attn::Status status =
      kernel->run({attn::TensorView(query.data(), Sizes{1, 1, 1, 2}),
                   attn::TensorView(key.data(), Sizes{1, 1, 2, 2}),
                   attn::TensorView(value.data(), Sizes{1, 1, 2, 1})},
                  {attn::TensorView(&output, Sizes{1, 1, 1, 1})});
  if (!status)
    return fail(status.error());
  std::printf("output: %g, expected: 2\n", output);
  return std::abs(output - 2.0F) < 1e-6F ? 0 : 1;
}
