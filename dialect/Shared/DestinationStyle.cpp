//===- DestinationStyle.cpp - What ops with destinations share ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/DestinationStyle.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

void attn::inferResultTypes(ValueRange outs, SmallVectorImpl<Type> &types) {
  for (Type type : outs.getTypes())
    if (isa<RankedTensorType>(type))
      types.push_back(type);
}

void attn::reifyDestinationShapes(OpBuilder &builder, Location loc,
                                  ValueRange outs,
                                  ReifiedRankedShapedTypeDims &reified) {
  for (Value out : outs)
    if (isa<RankedTensorType>(out.getType()))
      reified.push_back(tensor::getMixedSizes(builder, loc, out));
}

void attn::getDestinationEffects(DestinationStyleOpInterface op,
                                 function_ref<bool(OpOperand &)> readsOperand,
                                 MemoryEffectList &effects) {
  auto add = [&](MemoryEffects::Effect *effect, OpOperand &operand, int stage) {
    effects.emplace_back(effect, &operand, stage, /*effectOnFullRegion=*/true,
                         SideEffects::DefaultResource::get());
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (readsOperand(operand))
      add(MemoryEffects::Read::get(), operand, 0);
    if (op.isDpsInit(&operand))
      add(MemoryEffects::Write::get(), operand, 1);
  }
}
