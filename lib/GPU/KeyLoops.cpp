//===- KeyLoops.cpp - Loops over blocks of keys ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/KeyLoops.h"

#include "dialect/Shared/KnownSizes.h"
#include "lib/GPU/OnlineToVector/BlockToVector.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

OnlineAttentionOp attn::findOnlyBlock(scf::ForOp loop) {
  auto blocks = loop.getBody()->getOps<OnlineAttentionOp>();
  return llvm::hasSingleElement(blocks) ? *blocks.begin() : OnlineAttentionOp();
}

std::optional<int64_t> attn::getBlockKeys(OnlineAttentionOp op) {
  std::optional<int64_t> bound = getKnownMost(op.getKey(), 0);
  if (!bound)
    return std::nullopt;
  return int64_t(llvm::alignTo(std::max<int64_t>(1, *bound), kMatrixUnit));
}

std::optional<unsigned> attn::findCarried(scf::ForOp loop, Value part,
                                          Value after) {
  auto before = dyn_cast<BlockArgument>(part);
  if (!before || !before.hasOneUse() || !after.hasOneUse())
    return std::nullopt;
  OpOperand *yielded = loop.getTiedLoopYieldedValue(before);
  if (!yielded || yielded->get() != after)
    return std::nullopt;
  return yielded->getOperandNumber();
}

void attn::foldWholeInsertions(scf::ForOp loop) {
  OpBuilder b(loop.getContext());
  for (auto insert : llvm::make_early_inc_range(
           loop.getBody()->getOps<tensor::InsertSliceOp>()))
    if (SmallVector<Value> whole;
        succeeded(b.tryFold(insert, whole)) && !whole.empty()) {
      insert.getResult().replaceAllUsesWith(whole.front());
      insert.erase();
    }
}
