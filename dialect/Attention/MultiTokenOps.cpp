//===- MultiTokenOps.cpp - attn.multi_token_attention: its stages ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it shares with attn.attention is beside that: AttentionOp*.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

using namespace mlir;
using namespace mlir::attn;

/// A size of a kernel, from its last dimension on.
static int64_t getKernelSize(Value kernel, unsigned fromLast) {
  auto type = cast<ShapedType>(kernel.getType());
  return type.getDimSize(unsigned(type.getRank()) - 1 - fromLast);
}

int64_t MultiTokenAttentionOp::Stages::getQueryHalo() {
  return kernel ? getKernelSize(kernel, 1) - 1 : 0;
}

int64_t MultiTokenAttentionOp::Stages::getKeyHalo() {
  return kernel ? (getKernelSize(kernel, 0) - 1) / 2 : 0;
}

int64_t MultiTokenAttentionOp::Stages::getNumMixedHeads() {
  if (kernel && cast<ShapedType>(kernel.getType()).getRank() == 4)
    return getKernelSize(kernel, 2);
  return mixing ? cast<ShapedType>(mixing.getType()).getDimSize(1) : 1;
}
