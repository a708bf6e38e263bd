//===- DropShardings.cpp - Functions of one rank --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/Annotations.h"
#include "lib/Sharding/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DROPSHARDINGS
#include "lib/Sharding/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct DropShardings : attn::impl::DropShardingsBase<DropShardings> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      dropAnnotations(func);
    getOperation().walk([](Operation *op) { op->removeAttr(kExchangeName); });
    for (auto grid :
         llvm::make_early_inc_range(getOperation().getOps<shard::GridOp>()))
      if (SymbolTable::symbolKnownUseEmpty(grid, getOperation()))
        grid.erase();
  }
};
} // namespace
