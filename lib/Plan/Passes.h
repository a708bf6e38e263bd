//===- Passes.h - The plan of kernels ---------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_PASSES_H
#define ATTN_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Plan/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_PLAN_PASSES_H
