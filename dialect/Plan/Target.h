//===- Target.h - The machine of a module -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PLAN_TARGET_H
#define ATTN_DIALECT_PLAN_TARGET_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// The `attn.target` of the module that `op` is or lies in; the default if none
/// of the modules around it has one.
TargetAttr getTarget(Operation *op);

/// The target of `parameters` as they are written in `#attn.target<...>`,
/// without the brackets. Emits an error and returns null for what is none.
TargetAttr parseTarget(StringRef parameters, MLIRContext *context);

} // namespace mlir::attn

#endif // ATTN_DIALECT_PLAN_TARGET_H
