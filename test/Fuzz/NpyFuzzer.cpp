//===- NpyFuzzer.cpp - Parses arbitrary bytes as .npy --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes that parse must survive writing and parsing again unchanged.
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy/Npy.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

using namespace attn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
                                      std::size_t size) {
  Expected<NpyArray> first = parseNpy(std::as_bytes(std::span(data, size)));
  if (!first)
    return 0;
  Expected<std::vector<std::byte>> bytes = serializeNpy(first->view());
  if (!bytes)
    std::abort();
  Expected<NpyArray> second = parseNpy(*bytes);
  if (!second || second->type() != first->type() ||
      second->shape() != first->shape() ||
      !std::ranges::equal(first->bytes(), second->bytes()))
    std::abort();
  return 0;
}
