//===- Panels.cpp - Tensors of a file as kernels read them ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <sys/mman.h>

using namespace smollm2;
using attn::bf16;
using attn::ElementType;
using attn::Error;
using attn::Expected;

template <typename T> static T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

attn::Status smollm2::checkFinite(std::span<const float> weights) {
  for (float weight : weights)
    if (!std::isfinite(weight))
      return Error{"expected finite weights, got " + std::to_string(weight),
                   {}};
  return {};
}

static std::int64_t bytesOf(ElementType type) {
  return type == ElementType::i8 ? 1 : 2;
}

std::size_t PanelMemory::linesOf(std::span<const std::int64_t> sizes,
                                 ElementType type) {
  std::int64_t width = Panels::widthOf(type),
               panels = (sizes[0] + width - 1) / width;
  return std::size_t(panels * width * sizes[1] * bytesOf(type)) / sizeof(Line);
}

Expected<PanelMemory> PanelMemory::create(std::size_t lines) {
  constexpr std::size_t hugePage = std::size_t(1) << 21;
  std::size_t bytes =
      (lines * sizeof(Line) + hugePage - 1) / hugePage * hugePage;
  PanelMemory result;
  result.data.reset(static_cast<Line *>(std::aligned_alloc(hugePage, bytes)));
  if (!result.data)
    return Error{"cannot allocate " + std::to_string(bytes) + " bytes", {}};
  // Advice, which a system may not take.
  (void)madvise(result.data.get(), bytes, MADV_HUGEPAGE);
  result.count = lines;
  return result;
}

/// The row of a tensor that an output is.
static std::int64_t rowOf(std::int64_t output,
                          const std::optional<RotaryPairs> &pairs) {
  if (!pairs)
    return output;
  std::int64_t inHead = output % pairs->headSize, half = pairs->rotarySize / 2;
  if (inHead >= pairs->rotarySize)
    return output;
  return output - inHead + inHead % half * 2 + inHead / half;
}

Expected<Panels> Panels::create(const gguf::Tensor &tensor, ElementType type,
                                std::span<PanelMemory::Line> memory,
                                std::optional<RotaryPairs> pairs,
                                std::optional<Sizes> padded) {
  std::int64_t width = widthOf(type);
  if (tensor.sizes.size() != 2 || tensor.sizes[1] % 2 != 0)
    return Error{"expected a matrix of an even number of columns", {}};
  auto [outputs, inputs] =
      padded.value_or(Sizes{tensor.sizes[0], tensor.sizes[1]});
  if (outputs < tensor.sizes[0] || inputs < tensor.sizes[1] || inputs % 2 != 0)
    return Error{"expected at least the outputs and inputs of the matrix, and "
                 "an even number of inputs",
                 {}};
  std::size_t lines = PanelMemory::linesOf(std::array{outputs, inputs}, type);
  if (memory.size() != lines)
    return Error{"expected memory of " + std::to_string(lines) +
                     " lines, got " + std::to_string(memory.size()),
                 {}};
  Panels result;
  std::int64_t panels = (outputs + width - 1) / width;
  auto *bytes = reinterpret_cast<std::byte *>(memory.data());
  result.type = type;
  result.data = bytes;
  result.numOutputs = outputs;
  result.numInputs = inputs;
  bool isQuantized = type == ElementType::i8;
  if (isQuantized) {
    result.sizes = {panels, inputs, width};
    result.scales.resize(std::size_t(outputs));
  } else {
    result.sizes = {panels, inputs / 2, width, 2};
  }
  std::vector<float> rows(std::size_t(width * inputs));
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    std::int64_t first = panel * width,
                 used = std::clamp(tensor.sizes[0] - first, std::int64_t(0),
                                   width);
    if (used < width || inputs > tensor.sizes[1])
      std::ranges::fill(rows, 0.0f);
    for (std::int64_t output = 0; output < used; ++output)
      gguf::dequantizeRow(
          tensor, rowOf(first + output, pairs),
          std::span(rows).subspan(std::size_t(output * inputs),
                                  std::size_t(tensor.sizes[1])));
    if (!isQuantized) // What is too large for bf16 is refused, too.
      std::ranges::transform(rows, rows.begin(),
                             [](float weight) { return float(bf16(weight)); });
    if (attn::Status status = checkFinite(rows); !status)
      return status.error();
    if (isQuantized)
      result.writeQuantized(rows, first, bytes);
    else
      result.writePairs(rows, bytes);
    bytes += width * inputs * bytesOf(type);
  }
  return result;
}

void Panels::writePairs(std::span<const float> rows, std::byte *panel) const {
  std::int64_t width = widthOf(type);
  for (std::int64_t input = 0; input < numInputs; input += 2)
    for (std::int64_t output = 0; output < width; ++output)
      for (std::int64_t i : {0, 1}) {
        std::uint16_t bits =
            bf16(rows[std::size_t(output * numInputs + input + i)]).bits;
        std::memcpy(panel, &bits, sizeof(bits));
        panel += sizeof(bits);
      }
}

void Panels::writeQuantized(std::span<const float> rows,
                            std::int64_t firstOutput, std::byte *panel) {
  std::int64_t width = widthOf(type);
  for (std::int64_t output = 0; output < width; ++output) {
    auto row =
        rows.subspan(std::size_t(output * numInputs), std::size_t(numInputs));
    float most = 0;
    for (float weight : row)
      most = std::max(most, std::abs(weight));
    // Of zeros, any scale is one; smaller scales would not be exact.
    float scale = most / 127;
    if (scale < std::numeric_limits<float>::min())
      scale = 1;
    if (firstOutput + output < numOutputs)
      scales[std::size_t(firstOutput + output)] = scale;
    for (std::int64_t input = 0; input < numInputs; ++input)
      panel[input * width + output] = static_cast<std::byte>(
          std::int8_t(std::lround(row[std::size_t(input)] / scale)));
  }
}

void Panels::copyRow(std::int64_t row, std::span<float> result) const {
  std::int64_t width = widthOf(type), output = row % width;
  const std::byte *panel =
      data + row / width * width * numInputs * bytesOf(type);
  for (std::int64_t input = 0; input < numInputs; ++input)
    result[std::size_t(input)] =
        type == ElementType::i8
            ? scales[std::size_t(row)] *
                  float(load<std::int8_t>(panel + input * width + output))
            : float(bf16::fromBits(load<std::uint16_t>(
                  panel + 2 * ((input / 2 * width + output) * 2 + input % 2))));
}
