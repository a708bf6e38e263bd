//===- Kernels.h - The model's kernels --------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_KERNELS_H
#define ATTN_EXAMPLES_SMOLLM2_KERNELS_H

#include "attn/engine.h"
#include "attn/ranks.h"
#include "examples/smollm2/ModelShape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smollm2 {

using NamedSizes = std::vector<std::pair<std::string_view, std::int64_t>>;

/// Replaces "{name}" in a text by a size of the model, such as "{width}", or by
/// one of `sizes`, and "{name/number}" by a quotient, rounded up.
std::string fillSizes(const std::string &text, const ModelShape &shape,
                      NamedSizes sizes = {});

/// The functions of model.mlir, which is part of the program. Their arguments
/// of static shape are weights, under the names that they have in a file; of
/// more than one dimension they are those of `Panels`, each with an argument
/// for its scales after it.
struct Kernels {
  attn::Kernel layer;
  attn::Kernel logits;
  /// Of what weights are multiplied by, and of keys and values: f32, or bf16,
  /// to which activations are rounded then.
  attn::ElementType factors;
  /// That of the layer's arguments: of several ranks, with heads that they
  /// share.
  ModelShape shape;
  /// What this rank has of the layer's arguments, and which one it is; none of
  /// one process.
  std::optional<attn::RankKernel> ofRank;
  int rank = 0;

  /// Heads of keys that this process computes.
  std::int64_t countKeyHeads() const {
    return ofRank ? shape.keyHeads / ofRank->grid[0] : shape.keyHeads;
  }

  /// For models of one shape. `weights` are bf16 or i8. Of several `ranks`,
  /// each has some of the heads, and a part of the feed-forward network.
  static attn::Expected<Kernels>
  compile(const attn::Engine &engine, const ModelShape &shape,
          attn::ElementType factors = attn::ElementType::f32,
          attn::ElementType weights = attn::ElementType::bf16,
          const attn::Ranks *ranks = nullptr);
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_KERNELS_H
