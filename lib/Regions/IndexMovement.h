//===- IndexMovement.h - How indices follow positions -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_INDEXMOVEMENT_H
#define ATTN_REGIONS_INDEXMOVEMENT_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mlir::attn {

/// How an index of a load moves over a tile of queries and keys.
struct IndexMovement {
  bool withPosition = false, withKey = false;
  /// Positions or keys that share an index, at least.
  int64_t period = 1;

  bool isConstant() const { return !withPosition && !withKey; }
};

/// The movements of the integers of a score or mask region that are sums,
/// differences, quotients and remainders of positions, and loaded by such.
class IndexMovements {
public:
  explicit IndexMovements(Region &region);

  /// None if nothing is known.
  std::optional<IndexMovement> find(Value index) const;

private:
  std::optional<IndexMovement> evaluate(Operation *op) const;

  /// Of what depends on a position or a key.
  DenseMap<Value, std::optional<IndexMovement>> movements;
};

} // namespace mlir::attn

#endif // ATTN_REGIONS_INDEXMOVEMENT_H
