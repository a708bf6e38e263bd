//===- LocalLayer.h - What of a layer one rank computes ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_LOCALLAYER_H
#define ATTN_SHARDING_LOCALLAYER_H

#include "lib/Sharding/LocalSizes.h"

namespace mlir::attn {

/// Makes an op that is no attention, and that `verifySplits` covers, the one
/// of a rank: its tensors have the sizes of the rank by now.
void makeOpLocal(Operation *op, IndexBuilder &b, const Splits &splits,
                 LocalSizes &sizes);

} // namespace mlir::attn

#endif // ATTN_SHARDING_LOCALLAYER_H
