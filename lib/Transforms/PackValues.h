//===- PackValues.h - Values as instructions on pairs want them -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_PACKVALUES_H
#define ATTN_TRANSFORMS_PACKVALUES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn {

/// Packs the values of attention, `(B, Hkv, Skv, Dv)`, into
/// `(B, Hkv, ceil(Skv/32), Dv, 32)`, each tensor once.
class ValuePacks {
public:
  /// The packs `(ceil(n/32), Dv, 32)` of `value`, `(1, 1, n, Dv)`. What it is a
  /// slice of is packed as a whole, outside of the parallel loops around the
  /// insertion point, and shared by all the tiles and heads that use it.
  Value get(OpBuilder &b, Location loc, Value value);

private:
  /// By what is packed and where.
  llvm::DenseMap<std::pair<Value, Block *>, Value> packs;
};

} // namespace mlir::attn

#endif // ATTN_TRANSFORMS_PACKVALUES_H
