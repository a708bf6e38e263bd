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
#include "examples/smollm2/ModelShape.h"
#include "examples/smollm2/Panels.h"

#include <optional>
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

/// A weight of a model, and the tensor of a file that it is made of.
struct WeightSource {
  const gguf::Tensor *tensor;
  WeightShape shape;
};

/// That of a name, such as "attn_q", after a prefix, such as "blk.0.". Errors:
/// there is none, or of other sizes.
attn::Expected<WeightSource> findSource(const gguf::File &file,
                                        const ModelShape &shape,
                                        const std::string &prefix,
                                        const std::string &weight);

/// A model of the llama kind.
struct ModelWeights {
  ModelShape shape;
  std::vector<KernelWeights> layers;
  KernelWeights logits; ///< One matrix, in panels.
  /// Of tokens, where they are not the weight of the logits: one matrix.
  std::optional<KernelWeights> untied;

  const Panels &embeddings() const {
    return (untied ? *untied : logits).panels[0];
  }

  /// Dequantises a file, with all processors. Errors: a tensor that is missing
  /// or of another shape, no memory.
  static attn::Expected<ModelWeights>
  load(const gguf::File &file, const ModelShape &shape, const Kernels &kernels);
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_MODELWEIGHTS_H
