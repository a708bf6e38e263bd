//===- Rows.cpp - Rows of tensors as numbers ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/gguf/Rows.h"

#include "attn/element_type.h"

#include <cstring>

using namespace gguf;
using attn::bf16;
using attn::f16;

template <typename T> static T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

static float loadHalf(const std::byte *from) {
  return f16::fromBits(load<std::uint16_t>(from));
}

void gguf::dequantizeRow(const Tensor &tensor, std::int64_t row,
                         std::span<float> result) {
  Block block = blockOf(tensor.type);
  std::int64_t columns = tensor.sizes.back();
  const std::byte *from =
      tensor.data.data() + row * (columns / block.elements) * block.bytes;
  float *to = result.data();
  for (std::int64_t i = 0; i < columns;
       i += block.elements, from += block.bytes, to += block.elements) {
    switch (tensor.type) {
    case Type::f32:
      *to = load<float>(from);
      break;
    case Type::f16:
      *to = loadHalf(from);
      break;
    case Type::bf16:
      *to = bf16::fromBits(load<std::uint16_t>(from));
      break;
    case Type::q8_0: {
      float factor = loadHalf(from);
      for (int j = 0; j < 32; ++j)
        to[j] = factor * float(load<std::int8_t>(from + 2 + j));
      break;
    }
    case Type::q4_1: {
      float factor = loadHalf(from), offset = loadHalf(from + 2);
      for (int j = 0; j < 16; ++j) {
        auto two = load<std::uint8_t>(from + 4 + j);
        to[j] = factor * float(two & 15) + offset;
        to[j + 16] = factor * float(two >> 4) + offset;
      }
      break;
    }
    }
  }
}
