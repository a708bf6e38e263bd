//===- Kernels.cpp - The model's kernels ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Kernels.h"

#include "examples/smollm2/ModelText.h"

#include <string>

using namespace smollm2;
using attn::ElementType;
using attn::Expected;
using attn::Kernel;

/// What activations.mlir expects before it, in its first line.
static const char *prefixFor(ElementType factors) {
  return factors == ElementType::bf16
             ? "!factor = bf16 "
               "func.func private @to_factor(%x: f32) -> bf16 { "
               "%y = arith.truncf %x : f32 to bf16 return %y : bf16 } "
               "func.func private @from_factor(%x: bf16) -> f32 { "
               "%y = arith.extf %x : bf16 to f32 return %y : f32 } "
             : "!factor = f32 "
               "func.func private @to_factor(%x: f32) -> f32 { "
               "return %x : f32 } "
               "func.func private @from_factor(%x: f32) -> f32 { "
               "return %x : f32 } ";
}

Expected<Kernels> Kernels::compile(const attn::Engine &engine,
                                   ElementType factors, ElementType weights) {
  std::string text = std::string(prefixFor(factors)) + activationsText;
  text += weights == ElementType::i8 ? i8WeightsText : bf16WeightsText;
  text += modelText;
  auto compileOne = [&](const char *entry) {
    return engine.compile(text, {.entry = entry, .fileName = "model.mlir"});
  };
  Expected<Kernel> layer = compileOne("layer");
  if (!layer)
    return layer.error();
  Expected<Kernel> logits = compileOne("logits");
  if (!logits)
    return logits.error();
  return Kernels{*layer, *logits, factors};
}
