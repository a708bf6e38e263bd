//===- Panels.h - Tensors of a file as kernels read them --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_PANELS_H
#define ATTN_EXAMPLES_SMOLLM2_PANELS_H

#include "attn/element_type.h"
#include "attn/error.h"
#include "attn/tensor_view.h"
#include "examples/gguf/Rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace smollm2 {

/// An error that gives the first weight that is NaN or infinite.
attn::Status checkFinite(std::span<const float> weights);

/// How the rows of a projection of heads that are rotated lie in a file: rows
/// 2k and 2k + 1 of the first `rotarySize` of each head are a pair of the
/// rotary embedding. As panels they become k and k + rotarySize / 2 ("half
/// split").
struct RotaryPairs {
  std::int64_t headSize, rotarySize;
};

/// Memory of panels, in huge pages where the system has them: a token reads all
/// weights once, and looking up small pages takes a sixth of that time.
class PanelMemory {
public:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  /// Lines of panels of a matrix of these sizes, of bf16 or i8.
  static std::size_t linesOf(std::span<const std::int64_t> sizes,
                             attn::ElementType type);
  static attn::Expected<PanelMemory> create(std::size_t lines);

  std::span<Line> lines() const { return {data.get(), count}; }

private:
  struct Free {
    void operator()(Line *lines) const { std::free(lines); }
  };
  std::unique_ptr<Line[], Free> data;
  std::size_t count = 0;
};

/// A weight (outputs, inputs) in panels, so that a kernel reads a panel from
/// front to back; the last one may have more outputs than there are, which are
/// zeros:
///
/// - of bf16, rounded to nearest, in 32 outputs and pairs of inputs,
///   (outputs / 32, inputs / 2, 32, 2), which a kernel multiplies as pairs
///   where the processor does;
/// - of i8, in 64 outputs, (outputs / 64, inputs, 64), each output with the
///   scale at which its largest weight is 127 or -127.
class Panels {
public:
  /// Outputs of a panel.
  static constexpr std::int64_t widthOf(attn::ElementType type) {
    return type == attn::ElementType::i8 ? 64 : 32;
  }

  struct Sizes {
    std::int64_t outputs, inputs;
  };
  /// Makes panels of `tensor`, of bf16 or i8, in `memory`, which outlives them;
  /// with zeros after its outputs and inputs, if there are to be more.
  /// Errors: not a matrix, an odd number of inputs, fewer outputs or inputs
  /// than it has, another size of the memory, weights that are not finite.
  static attn::Expected<Panels> create(const gguf::Tensor &tensor,
                                       attn::ElementType type,
                                       std::span<PanelMemory::Line> memory,
                                       std::optional<RotaryPairs> pairs = {},
                                       std::optional<Sizes> padded = {});

  std::int64_t outputs() const { return numOutputs; }
  std::int64_t inputs() const { return numInputs; }
  attn::TensorView view() const { return {data, type, sizes, true}; }
  /// (outputs) of i8, or (0).
  attn::TensorView scalesView() const {
    return {scales.data(), attn::ElementType::f32,
            std::array{std::int64_t(scales.size())}, true};
  }
  /// Writes the weights of one output, (inputs), as f32.
  void copyRow(std::int64_t row, std::span<float> result) const;

private:
  /// Writes weights (outputs, inputs) of a panel.
  void writePairs(std::span<const float> rows, std::byte *panel) const;
  void writeQuantized(std::span<const float> rows, std::int64_t firstOutput,
                      std::byte *panel);

  attn::ElementType type = attn::ElementType::bf16;
  const std::byte *data = nullptr;
  std::int64_t numOutputs = 0, numInputs = 0;
  std::vector<std::int64_t> sizes;
  std::vector<float> scales;
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_PANELS_H
