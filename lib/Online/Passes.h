//===- Passes.h - Passes of online attention --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_PASSES_H
#define ATTN_ONLINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Online/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_ONLINE_PASSES_H
