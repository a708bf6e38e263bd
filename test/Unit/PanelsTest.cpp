//===- PanelsTest.cpp - Tensors of a file as kernels read them ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Panels.h"
#include "test/Unit/GgufTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <string>

using namespace smollm2;
using attn::bf16;
using attn::ElementType;
using attn::Expected;
using attn::f16;

static std::vector<float> row(const GgufTensor &tensor, std::int64_t index) {
  std::vector<float> result(std::size_t(tensor.sizes.back()));
  dequantizeRow(tensor, index, result);
  return result;
}

TEST(Dequantize, PlainTypes) {
  GgufWriter writer;
  writer.addTensor("f32", {2, 2}, 0,
                   bytesOf(1.0f) + bytesOf(2.0f) + bytesOf(3.5f) +
                       bytesOf(-1e-30f));
  writer.addTensor("f16", {2}, 1,
                   bytesOf(f16(0.25f).bits) + bytesOf(f16(-7.0f).bits));
  writer.addTensor("bf16", {2}, 30,
                   bytesOf(bf16(0.5f).bits) + bytesOf(bf16(-3.0f).bits));
  Expected<GgufFile> file = parseGguf(writer.file());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(row(*file->findTensor("f32"), 0), (std::vector<float>{1, 2}));
  EXPECT_EQ(row(*file->findTensor("f32"), 1),
            (std::vector<float>{3.5, -1e-30f}));
  EXPECT_EQ(row(*file->findTensor("f16"), 0), (std::vector<float>{0.25, -7}));
  EXPECT_EQ(row(*file->findTensor("bf16"), 0), (std::vector<float>{0.5, -3}));
}

TEST(Dequantize, Blocks) {
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
  Expected<GgufFile> file = parseGguf(writer.file());
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

/// A matrix (outputs, inputs) of outputs / 4 and inputs * 64, added.
static GgufFile matrix(std::uint64_t outputs, std::uint64_t inputs = 4) {
  std::string elements;
  for (std::uint64_t output = 0; output < outputs; ++output)
    for (std::uint64_t input = 0; input < inputs; ++input)
      elements += bytesOf(float(output) / 4 + float(input) * 64);
  GgufWriter writer;
  writer.addTensor("w", {inputs, outputs}, 0, elements);
  return *parseGguf(writer.file());
}

TEST(Panels, Layout) {
  GgufFile file = matrix(128);
  Expected<PanelMemory> memory = PanelMemory::create(16);
  ASSERT_TRUE(memory) << memory.error().message;
  for (RowOrder order : {RowOrder::plain, RowOrder::pairs}) {
    Expected<Panels> panels = Panels::create(
        *file.findTensor("w"), ElementType::bf16, memory->lines(), order);
    ASSERT_TRUE(panels) << panels.error().message;
    attn::TensorView view = panels->view();
    ASSERT_EQ(std::vector(view.sizes().begin(), view.sizes().end()),
              (std::vector<std::int64_t>{4, 2, 32, 2}));
    auto *bits = static_cast<const std::uint16_t *>(view.data());
    for (int output = 0; output < 128; ++output)
      for (int input = 0; input < 4; ++input) {
        int place = output % 64; // In its head.
        if (order == RowOrder::pairs)
          place = place % 2 == 0 ? place / 2 : 32 + place / 2;
        int panel = output / 64 * 2 + place / 32, column = place % 32;
        EXPECT_EQ(bits[((panel * 2 + input / 2) * 32 + column) * 2 + input % 2],
                  bf16(float(output) / 4 + float(input) * 64).bits);
      }
  }
}

TEST(Panels, CopyRow) {
  GgufFile file = matrix(128);
  Expected<PanelMemory> memory = PanelMemory::create(16);
  ASSERT_TRUE(memory) << memory.error().message;
  Expected<Panels> panels =
      Panels::create(*file.findTensor("w"), ElementType::bf16, memory->lines());
  ASSERT_TRUE(panels) << panels.error().message;
  for (int output : {0, 31, 32, 64, 127}) {
    std::vector<float> row(4);
    panels->copyRow(output, row);
    for (int input = 0; input < 4; ++input)
      EXPECT_EQ(row[std::size_t(input)],
                float(bf16(float(output) / 4 + float(input) * 64)));
  }
}

TEST(Panels, Quantized) {
  GgufFile file = matrix(128);
  Expected<PanelMemory> memory = PanelMemory::create(8);
  ASSERT_TRUE(memory) << memory.error().message;
  Expected<Panels> panels =
      Panels::create(*file.findTensor("w"), ElementType::i8, memory->lines());
  ASSERT_TRUE(panels) << panels.error().message;
  attn::TensorView view = panels->view(), scales = panels->scalesView();
  ASSERT_EQ(std::vector(view.sizes().begin(), view.sizes().end()),
            (std::vector<std::int64_t>{2, 4, 64}));
  ASSERT_EQ(std::vector(scales.sizes().begin(), scales.sizes().end()),
            (std::vector<std::int64_t>{128}));
  auto *numbers = static_cast<const std::int8_t *>(view.data());
  auto *factors = static_cast<const float *>(scales.data());
  for (int output = 0; output < 128; ++output) {
    float scale = (float(output) / 4 + 3 * 64) / 127; // Of the last input.
    EXPECT_EQ(factors[output], scale);
    std::vector<float> row(4);
    panels->copyRow(output, row);
    for (int input = 0; input < 4; ++input) {
      float weight = float(output) / 4 + float(input) * 64;
      std::int8_t number =
          numbers[(output / 64 * 4 + input) * 64 + output % 64];
      EXPECT_EQ(number, std::lround(weight / scale));
      EXPECT_EQ(row[std::size_t(input)], float(number) * scale);
    }
  }
}

/// A matrix (64, 2) of one number.
static GgufFile filled(float number) {
  std::string bytes;
  for (int i = 0; i < 128; ++i)
    bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
  GgufWriter writer;
  writer.addTensor("w", {2, 64}, 0, bytes);
  return *parseGguf(writer.file());
}

/// All numbers of an output may be 0, or too small for a scale.
TEST(Panels, QuantizedZeros) {
  Expected<PanelMemory> memory = PanelMemory::create(2);
  ASSERT_TRUE(memory) << memory.error().message;
  for (float number : {0.0f, -1e-44f, 1e-37f}) {
    GgufFile file = filled(number);
    Expected<Panels> panels =
        Panels::create(*file.findTensor("w"), ElementType::i8, memory->lines());
    ASSERT_TRUE(panels) << panels.error().message;
    std::vector<float> row(2, 1.0f);
    panels->copyRow(63, row);
    EXPECT_EQ(row, (std::vector<float>{0, 0})) << number;
  }
}

TEST(Panels, AreFinite) {
  for (ElementType type : {ElementType::i8, ElementType::bf16}) {
    std::array<std::int64_t, 2> sizes = {64, 2};
    Expected<PanelMemory> memory =
        PanelMemory::create(PanelMemory::linesOf(sizes, type));
    ASSERT_TRUE(memory) << memory.error().message;
    auto create = [&](float number) {
      GgufFile file = filled(number);
      Expected<Panels> panels =
          Panels::create(*file.findTensor("w"), type, memory->lines());
      return panels ? std::string() : panels.error().message;
    };
    for (float number : {std::numeric_limits<float>::quiet_NaN(),
                         -std::numeric_limits<float>::infinity()})
      EXPECT_EQ(create(number),
                "expected finite weights, got " + std::to_string(number));
    // Its nearest bf16 is infinite.
    EXPECT_EQ(create(3.4e38f), type == ElementType::bf16
                                   ? "expected finite weights, got inf"
                                   : "");
  }
}

TEST(Panels, Errors) {
  Expected<PanelMemory> memory = PanelMemory::create(15);
  ASSERT_TRUE(memory) << memory.error().message;
  GgufFile ragged = matrix(65), larger = matrix(128);
  Expected<Panels> panels = Panels::create(*ragged.findTensor("w"),
                                           ElementType::bf16, memory->lines());
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message,
            "expected a matrix of a multiple of 32 rows and an even number of "
            "columns");
  GgufFile odd = matrix(64, 3);
  panels =
      Panels::create(*odd.findTensor("w"), ElementType::bf16, memory->lines());
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message,
            "expected a matrix of a multiple of 32 rows and an even number of "
            "columns");
  panels = Panels::create(*larger.findTensor("w"), ElementType::bf16,
                          memory->lines());
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message, "expected memory of 16 lines, got 15");
  GgufFile half = matrix(96);
  panels =
      Panels::create(*half.findTensor("w"), ElementType::i8, memory->lines());
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message,
            "expected a matrix of a multiple of 64 rows and an even number of "
            "columns");
}
