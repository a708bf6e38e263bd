//===- RareLoop.h - Loops that seldom run -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_RARELOOP_H
#define ATTN_GPU_RARELOOP_H

#include "mlir/Support/LLVM.h"

namespace mlir::attn {

/// A unit attribute of loops that seldom run, such as the exact round over keys
/// (A13): their code and memory are to be small.
inline constexpr StringLiteral kRareLoopAttr = "attn.rare";

} // namespace mlir::attn

#endif // ATTN_GPU_RARELOOP_H
