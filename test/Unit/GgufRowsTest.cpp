//===- GgufRowsTest.cpp - Rows of tensors as numbers ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/element_type.h"
#include "examples/gguf/Rows.h"
#include "test/Unit/GgufTesting.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

using attn::bf16;
using attn::Expected;
using attn::f16;

static std::vector<float> row(const gguf::Tensor &tensor, std::int64_t index) {
  std::vector<float> result(std::size_t(tensor.sizes.back()));
  gguf::dequantizeRow(tensor, index, result);
  return result;
}

TEST(GgufRows, PlainTypes) {
  GgufWriter writer;
  writer.addTensor("f32", {2, 2}, 0,
                   bytesOf(1.0f) + bytesOf(2.0f) + bytesOf(3.5f) +
                       bytesOf(-1e-30f));
  writer.addTensor("f16", {2}, 1,
                   bytesOf(f16(0.25f).bits) + bytesOf(f16(-7.0f).bits));
  writer.addTensor("bf16", {2}, 30,
                   bytesOf(bf16(0.5f).bits) + bytesOf(bf16(-3.0f).bits));
  Expected<gguf::File> file = parseGguf(writer.file());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(row(*file->findTensor("f32"), 0), (std::vector<float>{1, 2}));
  EXPECT_EQ(row(*file->findTensor("f32"), 1),
            (std::vector<float>{3.5, -1e-30f}));
  EXPECT_EQ(row(*file->findTensor("f16"), 0), (std::vector<float>{0.25, -7}));
  EXPECT_EQ(row(*file->findTensor("bf16"), 0), (std::vector<float>{0.5, -3}));
}

TEST(GgufRows, Blocks) {
  // Two rows of two blocks each, with factors that tell them apart.
  std::string q8, q4;
  for (int block = 0; block < 4; ++block) {
    float factor = 0.5f * float(block + 1);
    q8 += bytesOf(f16(factor).bits);
    for (int i = 0; i < 32; ++i)
      q8 += char(std::int8_t(i * 8 - 128));
    q4 += bytesOf(f16(factor).bits) + bytesOf(f16(-float(block)).bits);
    for (int i = 0; i < 16; ++i)
      q4 += char(i | (15 - i) << 4);
  }
  GgufWriter writer;
  writer.addTensor("q8", {64, 2}, 8, q8);
  writer.addTensor("q4", {64, 2}, 3, q4);
  Expected<gguf::File> file = parseGguf(writer.file());
  ASSERT_TRUE(file) << file.error().message;
  for (int r = 0; r < 2; ++r) {
    std::vector<float> eights = row(*file->findTensor("q8"), r),
                       fours = row(*file->findTensor("q4"), r);
    for (int i = 0; i < 64; ++i) {
      int block = 2 * r + i / 32, place = i % 32;
      float factor = 0.5f * float(block + 1);
      EXPECT_EQ(eights[std::size_t(i)], factor * float(place * 8 - 128));
      int number = place < 16 ? place : 15 - (place - 16);
      EXPECT_EQ(fours[std::size_t(i)], factor * float(number) - float(block));
    }
  }
}
