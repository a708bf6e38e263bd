//===- CheckConstantOperands.cpp - Constants that leave ops undefined -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KernelForm.h"
#include "lib/Kernel/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKCONSTANTOPERANDS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct CheckConstantOperands
    : attn::impl::CheckConstantOperandsBase<CheckConstantOperands> {
  void runOnOperation() override {
    if (failed(attn::verifyConstantOperands(getOperation())))
      signalPassFailure();
  }
};
} // namespace
