//===- Panels.cpp - Tensors of a file as kernels read them ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Panels.h"

#include "attn/element_type.h"

#include <cstring>

#include <sys/mman.h>

using namespace smollm2;
using attn::bf16;
using attn::Error;
using attn::Expected;
using attn::f16;

template <typename T> static T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

static float loadHalf(const std::byte *from) {
  return f16::fromBits(load<std::uint16_t>(from));
}

void smollm2::dequantizeRow(const GgufTensor &tensor, std::int64_t row,
                            std::span<float> result) {
  GgufBlock block = blockOf(tensor.type);
  std::int64_t columns = tensor.sizes.back();
  const std::byte *from =
      tensor.data.data() + row * (columns / block.elements) * block.bytes;
  float *to = result.data();
  for (std::int64_t i = 0; i < columns;
       i += block.elements, from += block.bytes, to += block.elements) {
    switch (tensor.type) {
    case GgufType::f32:
      *to = load<float>(from);
      break;
    case GgufType::f16:
      *to = loadHalf(from);
      break;
    case GgufType::bf16:
      *to = bf16::fromBits(load<std::uint16_t>(from));
      break;
    case GgufType::q8_0: {
      float factor = loadHalf(from);
      for (int j = 0; j < 32; ++j)
        to[j] = factor * float(load<std::int8_t>(from + 2 + j));
      break;
    }
    case GgufType::q4_1: {
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

std::size_t PanelMemory::linesOf(std::span<const std::int64_t> sizes) {
  return std::size_t(sizes[0] * sizes[1] *
                     std::int64_t(sizeof(std::uint16_t))) /
         sizeof(Line);
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
static std::int64_t rowOf(std::int64_t output, RowOrder order) {
  if (order == RowOrder::plain)
    return output;
  std::int64_t inHead = output % headSize, half = headSize / 2;
  return output - inHead + inHead % half * 2 + inHead / half;
}

Expected<Panels> Panels::create(const GgufTensor &tensor,
                                std::span<PanelMemory::Line> memory,
                                RowOrder order) {
  if (tensor.sizes.size() != 2 || tensor.sizes[0] % width != 0 ||
      tensor.sizes[1] % 2 != 0)
    return Error{"expected a matrix of a multiple of " + std::to_string(width) +
                     " rows and an even number of columns",
                 {}};
  std::int64_t panels = tensor.sizes[0] / width, inputs = tensor.sizes[1];
  constexpr std::int64_t lines = width / 32; // Of each input.
  if (memory.size() != std::size_t(panels * inputs * lines))
    return Error{"expected memory of " +
                     std::to_string(panels * inputs * lines) + " lines, got " +
                     std::to_string(memory.size()),
                 {}};
  Panels result;
  result.sizes = {panels, inputs / 2, width, 2};
  result.data = memory.data();
  std::vector<float> rows(std::size_t(width * inputs));
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t output = 0; output < width; ++output)
      dequantizeRow(tensor, rowOf(panel * width + output, order),
                    std::span(rows).subspan(std::size_t(output * inputs),
                                            std::size_t(inputs)));
    PanelMemory::Line *line = memory.data() + panel * inputs * lines;
    for (std::int64_t input = 0; input < inputs; input += 2, line += 2 * lines)
      for (std::int64_t output = 0; output < width; ++output)
        for (std::int64_t i : {0, 1})
          line[output / 16].bits[output % 16 * 2 + i] =
              bf16(rows[std::size_t(output * inputs + input + i)]).bits;
  }
  return result;
}

void Panels::copyRow(std::int64_t row, std::span<float> result) const {
  constexpr std::int64_t lines = 2 * width / 32; // Of a pair of inputs.
  std::int64_t inputs = 2 * sizes[1], output = row % width;
  const PanelMemory::Line *line =
      data + row / width * sizes[1] * lines + output / 16;
  for (std::int64_t input = 0; input < inputs; ++input)
    result[std::size_t(input)] = bf16::fromBits(
        line[input / 2 * lines].bits[output % 16 * 2 + input % 2]);
}
