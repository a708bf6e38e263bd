//===- Passes.h - Passes of attention before its online form ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_PASSES_H
#define ATTN_ATTENTION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Attention/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_ATTENTION_PASSES_H
