//===- SharedRanges.h - What heads share of their tiles ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_SHAREDRANGES_H
#define ATTN_ONLINE_SHAREDRANGES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// A range of keys that every tile of queries searches for as one that is read
/// where a loop before the tiles has stored it. `tiles` is the loop over batch
/// entries, heads and tiles, in whose body the indices `range` are computed.
/// Gives `range` if it is not the result of a search, if it depends on the head
/// or on what tiles compute, or if there is one head only.
std::pair<Value, Value> shareAmongHeads(OpBuilder &b, scf::ForallOp tiles,
                                        std::pair<Value, Value> range);

} // namespace mlir::attn

#endif // ATTN_ONLINE_SHAREDRANGES_H
