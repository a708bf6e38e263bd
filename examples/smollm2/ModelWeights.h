//===- ModelWeights.h - A file's weights as arguments of kernels -*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_MODELWEIGHTS_H
#define ATTN_EXAMPLES_SMOLLM2_MODELWEIGHTS_H

#include "attn/error.h"
#include "attn/kernel.h"
#include "examples/gguf/File.h"
#include "examples/smollm2/Kernels.h"
#include "examples/smollm2/Panels.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smollm2 {

/// The weights that a kernel takes, in the order of its arguments.
struct KernelWeights {
  PanelMemory memory; ///< Of all panels.
  std::vector<Panels> panels;
  std::vector<std::vector<float>> vectors;
  std::vector<attn::TensorView> views; ///< Of both, and of scales.
};

/// How many tokens the model of a file was made for. Errors: a model of another
/// kind, no such number, or one that is not from 1 to 2^20.
attn::Expected<std::int64_t> readContext(const gguf::File &file);

/// What a file says of a model of the llama kind.
struct ModelWeights {
  std::vector<KernelWeights> layers;
  /// The embeddings are its only panels.
  KernelWeights logits;
  std::int64_t keyValueHeads = 0;
  double epsilon = 0;       ///< Of root mean squares.
  double rotaryBase = 0;    ///< Of the rotary embedding's frequencies.
  std::int64_t context = 0; ///< Tokens that the model was made for.

  /// Dequantises a file, with all processors. Errors: a model of another kind,
  /// a tensor that is missing or of another shape than the kernels take, no
  /// memory.
  static attn::Expected<ModelWeights> load(const gguf::File &file,
                                           const Kernels &kernels);
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_MODELWEIGHTS_H
