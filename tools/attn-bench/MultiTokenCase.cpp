//===- MultiTokenCase.cpp - Cases of multi-token attention ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/MultiTokenCase.h"

#include <cmath>
#include <random>

using namespace attn;
using namespace attn::bench;

double MultiTokenCase::countFlops(double products, double stages) const {
  double ofPair = 2 * products * double(headSize);
  for (const Side &side : {before, after}) {
    ofPair +=
        side.convolves ? 2 * stages * double(kernelQueries * kernelKeys) : 0;
    ofPair += side.mixed > 1 ? 2 * stages * double(side.mixed) : 0;
  }
  return ofPair * double(heads) * double(length) * double(length + 1) / 2;
}

static std::string tensorText(const std::vector<Index> &sizes,
                              ElementType type) {
  std::string text = "tensor<";
  for (Index size : sizes)
    text += std::to_string(size) + "x";
  return text + std::string(nameOf(type)) + ">";
}

std::string MultiTokenCase::text(ElementType type) const {
  std::string rows = tensorText(rowSizes(), type), arguments, clauses;
  auto addStage = [&](const char *clause, const char *name,
                      const std::vector<Index> &sizes) {
    std::string stage = tensorText(sizes, type);
    arguments += std::string(", %") + name + ": " + stage;
    clauses += std::string(" ") + clause + "(%" + name + " : " + stage + ")";
  };
  if (before.convolves)
    addStage("convolve_before", "kernel_before", kernelSizes());
  if (before.mixed > 1)
    addStage("mix_before", "weights_before", mixingSizes(before));
  if (after.convolves)
    addStage("convolve_after", "kernel_after", kernelSizes());
  if (after.mixed > 1)
    addStage("mix_after", "weights_after", mixingSizes(after));
  return "func.func @attention(%query: " + rows + ", %key: " + rows +
         ", %value: " + rows + arguments + ") -> " + rows +
         " {\n  %init = tensor.empty() : " + rows +
         "\n  %output = attn.multi_token_attention\n      ins(%query, %key, "
         "%value : " +
         rows + ", " + rows + ", " + rows + ")\n      outs(%init : " + rows +
         ")" + clauses + " mask causal\n  return %output : " + rows + "\n}\n";
}

AttentionCase MultiTokenCase::causal() const {
  Variant variant;
  variant.clauses = "mask causal";
  variant.visibility.after = 0;
  return {"causal", heads, heads, length, headSize, variant};
}

std::vector<Buffer> bench::createInputs(const MultiTokenCase &attention,
                                        ElementType type) {
  std::vector<Buffer> inputs;
  std::mt19937_64 random(1);
  for (int i = 0; i < 3; ++i)
    inputs.emplace_back(type, attention.rowSizes()).fillNormal(random);
  auto addStage = [&](const std::vector<Index> &sizes, Index terms) {
    std::normal_distribution<double> normal(0, 1 / std::sqrt(double(terms)));
    inputs.emplace_back(type, sizes).fill([&](Index) {
      return normal(random);
    });
  };
  for (const MultiTokenCase::Side &side : {attention.before, attention.after}) {
    if (side.convolves)
      addStage(attention.kernelSizes(),
               MultiTokenCase::kernelQueries * MultiTokenCase::kernelKeys);
    if (side.mixed > 1)
      addStage(attention.mixingSizes(side), side.mixed);
  }
  return inputs;
}

std::vector<MultiTokenCase> bench::getMultiTokenCases(Index length) {
  constexpr Index heads = 16;
  return {{"pre-kq", {true, 1}, {}, heads, length},
          {"post-kq", {}, {true, 1}, heads, length},
          {"pre-heads", {false, 2}, {}, heads, length},
          {"post-heads", {}, {false, 2}, heads, length},
          {"post-heads-of-4", {}, {false, 4}, heads, length},
          {"post-heads-of-8", {}, {false, 8}, heads, length},
          {"post-heads-of-16", {}, {false, 16}, heads, length},
          {"paper", {true, 1}, {false, 2}, heads, length}};
}
