//===- PanelsTest.cpp - Tensors of a file as kernels read them ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Panels.h"
#include "test/Unit/GgufTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace smollm2;
using attn::bf16;
using attn::ElementType;
using attn::Expected;

/// A matrix (outputs, inputs) of outputs / 4 and inputs * 64, added.
static gguf::File matrix(std::uint64_t outputs, std::uint64_t inputs = 4) {
  std::string elements;
  for (std::uint64_t output = 0; output < outputs; ++output)
    for (std::uint64_t input = 0; input < inputs; ++input)
      elements += bytesOf(float(output) / 4 + float(input) * 64);
  GgufWriter writer;
  writer.addTensor("w", {inputs, outputs}, 0, elements);
  return *parseGguf(writer.file());
}

TEST(Panels, Layout) {
  gguf::File file = matrix(128);
  Expected<PanelMemory> memory = PanelMemory::create(16);
  ASSERT_TRUE(memory) << memory.error().message;
  std::optional<RotaryPairs> plain, whole = {{64, 64}}, part = {{64, 16}};
  for (const auto &pairs : {plain, whole, part}) {
    Expected<Panels> panels = Panels::create(
        *file.findTensor("w"), ElementType::bf16, memory->lines(), pairs);
    ASSERT_TRUE(panels) << panels.error().message;
    attn::TensorView view = panels->view();
    ASSERT_EQ(std::vector(view.sizes().begin(), view.sizes().end()),
              (std::vector<std::int64_t>{4, 2, 32, 2}));
    auto *bits = static_cast<const std::uint16_t *>(view.data());
    for (int output = 0; output < 128; ++output)
      for (int input = 0; input < 4; ++input) {
        int place = output % 64; // In its head.
        if (pairs && place < pairs->rotarySize)
          place = place / 2 + place % 2 * int(pairs->rotarySize) / 2;
        int panel = output / 64 * 2 + place / 32, column = place % 32;
        EXPECT_EQ(bits[((panel * 2 + input / 2) * 32 + column) * 2 + input % 2],
                  bf16(float(output) / 4 + float(input) * 64).bits);
      }
  }
}

TEST(Panels, CopyRow) {
  gguf::File file = matrix(128);
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
  gguf::File file = matrix(128);
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
static gguf::File filled(float number) {
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
    gguf::File file = filled(number);
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
      gguf::File file = filled(number);
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

/// What a panel has after the last output is zeros.
TEST(Panels, LastIsNotFull) {
  gguf::File file = matrix(65);
  for (ElementType type : {ElementType::bf16, ElementType::i8}) {
    std::array<std::int64_t, 2> sizes = {65, 4};
    Expected<PanelMemory> memory =
        PanelMemory::create(PanelMemory::linesOf(sizes, type));
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_EQ(memory->lines().size(), type == ElementType::i8 ? 8u : 12u);
    Expected<Panels> panels =
        Panels::create(*file.findTensor("w"), type, memory->lines());
    ASSERT_TRUE(panels) << panels.error().message;
    EXPECT_EQ(panels->outputs(), 65);
    std::vector<float> row(4);
    panels->copyRow(64, row);
    EXPECT_NEAR(row[3], 16 + 192, 1);
    attn::TensorView view = panels->view();
    ASSERT_EQ(view.sizes()[0], type == ElementType::i8 ? 2 : 3);
    auto *bytes = static_cast<const char *>(view.data());
    std::size_t panel = 64 * 4; // Bytes; of it, one output is used.
    auto numUsed = std::count_if(bytes + memory->lines().size() * 64 - panel,
                                 bytes + memory->lines().size() * 64,
                                 [](char byte) { return byte != 0; });
    EXPECT_LE(numUsed, 4 * 2);
    if (type == ElementType::i8)
      EXPECT_EQ(panels->scalesView().sizes()[0], 65);
  }
}

/// More outputs and inputs than a matrix has are zeros.
TEST(Panels, Padded) {
  gguf::File file = matrix(64);
  for (ElementType type : {ElementType::bf16, ElementType::i8}) {
    constexpr std::int64_t outputs = 192, inputs = 6;
    Expected<PanelMemory> memory = PanelMemory::create(
        PanelMemory::linesOf(std::array{outputs, inputs}, type));
    ASSERT_TRUE(memory) << memory.error().message;
    Expected<PanelMemory> ofMatrix = PanelMemory::create(
        PanelMemory::linesOf(std::array<std::int64_t, 2>{64, 4}, type));
    ASSERT_TRUE(ofMatrix) << ofMatrix.error().message;
    Expected<Panels> padded =
        Panels::create(*file.findTensor("w"), type, memory->lines(), {},
                       Panels::Sizes{outputs, inputs});
    ASSERT_TRUE(padded) << padded.error().message;
    Expected<Panels> panels =
        Panels::create(*file.findTensor("w"), type, ofMatrix->lines());
    ASSERT_TRUE(panels) << panels.error().message;
    for (std::int64_t output = 0; output < outputs; ++output) {
      std::vector<float> row(inputs, 1), expected(inputs, 0);
      padded->copyRow(output, row);
      if (output < 64)
        panels->copyRow(output, std::span(expected).first(4));
      EXPECT_EQ(row, expected) << "output " << output;
    }
  }
}

TEST(Panels, Errors) {
  Expected<PanelMemory> memory = PanelMemory::create(15);
  ASSERT_TRUE(memory) << memory.error().message;
  gguf::File larger = matrix(128), odd = matrix(64, 3);
  Expected<Panels> panels =
      Panels::create(*odd.findTensor("w"), ElementType::bf16, memory->lines());
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message,
            "expected a matrix of an even number of columns");
  panels = Panels::create(*larger.findTensor("w"), ElementType::bf16,
                          memory->lines());
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message, "expected memory of 16 lines, got 15");
  panels = Panels::create(*larger.findTensor("w"), ElementType::bf16,
                          memory->lines(), {}, Panels::Sizes{64, 4});
  ASSERT_FALSE(panels);
  EXPECT_EQ(panels.error().message,
            "expected at least the outputs and inputs of the matrix, and an "
            "even number of inputs");
}
