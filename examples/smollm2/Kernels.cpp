//===- Kernels.cpp - The model's kernels ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Kernels.h"

#include "examples/smollm2/ModelText.h"

using namespace smollm2;
using attn::Expected;
using attn::Kernel;

Expected<Kernels> Kernels::compile(const attn::Engine &engine) {
  auto compileOne = [&](const char *entry) {
    return engine.compile(modelText,
                          {.entry = entry, .fileName = "model.mlir"});
  };
  Expected<Kernel> layer = compileOne("layer");
  if (!layer)
    return layer.error();
  Expected<Kernel> logits = compileOne("logits");
  if (!logits)
    return logits.error();
  return Kernels{*layer, *logits};
}
