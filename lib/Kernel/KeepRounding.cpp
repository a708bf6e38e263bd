//===- KeepRounding.cpp - Round results of small floats -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::attn {
#define GEN_PASS_DEF_KEEPROUNDING
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct KeepRounding : attn::impl::KeepRoundingBase<KeepRounding> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto wide = dyn_cast<arith::ExtFOp>(op))
        wide.removeFastmathAttr();
      else if (auto narrow = dyn_cast<arith::TruncFOp>(op))
        narrow.removeFastmathAttr();
    });
  }
};
} // namespace
