//===- DestinationStyle.h - What ops with destinations share ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_DESTINATIONSTYLE_H
#define ATTN_DIALECT_SHARED_DESTINATIONSTYLE_H

#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {

using MemoryEffectList =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Results have the types of the destinations that are tensors.
void inferResultTypes(ValueRange outs, SmallVectorImpl<Type> &types);

/// Results have the sizes of the destinations that are tensors.
void reifyDestinationShapes(OpBuilder &builder, Location loc, ValueRange outs,
                            ReifiedRankedShapedTypeDims &reified);

/// Buffers that the op reads, by `readsOperand`, and those that it writes.
void getDestinationEffects(DestinationStyleOpInterface op,
                           function_ref<bool(OpOperand &)> readsOperand,
                           MemoryEffectList &effects);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_DESTINATIONSTYLE_H
