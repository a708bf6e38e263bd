//===- CheckRegionSizes.cpp - Regions that are too large to compile -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KernelLimits.h"
#include "lib/Kernel/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKREGIONSIZES
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct CheckRegionSizes : attn::impl::CheckRegionSizesBase<CheckRegionSizes> {
  void runOnOperation() override {
    if (failed(attn::verifyRegionSizes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
