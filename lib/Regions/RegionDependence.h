//===- RegionDependence.h - What the values of a region vary with -*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_REGIONDEPENDENCE_H
#define ATTN_REGIONS_REGIONDEPENDENCE_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Region.h"

namespace mlir::attn {

/// The leading arguments of a score or mask region.
struct RegionArguments {
  RegionArguments(Region &region, bool isScore);

  Value score; ///< Null in a mask region.
  Value batch, head, position, key;
  Block::BlockArgListType captures;
};

/// How a load that is not the same in all lanes is vectorized.
enum class LoadForm {
  /// The same in all rows: once per tile, lane by lane, into a buffer.
  PerLane,
  /// Lanes are rows of the captured buffer, rows its columns: transposed into a
  /// buffer before the loop over rows.
  Transposed,
  /// Lanes are consecutive elements.
  Contiguous,
  /// Lanes are any words of the captured buffer.
  Gather,
  /// Everything else: element by element, into a buffer before the loop.
  PerElement,
};

/// Which values of a region vary with the lane (the query), which with the row
/// (the key), and which of those only with the distance between both.
class RegionDependence {
public:
  /// `sameQuotients` says that quotients of the key by constants are the same
  /// in all rows.
  RegionDependence(Region &region, bool isScore, bool sameQuotients = false);

  bool hasSameQuotients() const { return sameQuotients; }
  const RegionArguments &getArguments() const { return arguments; }
  bool onLane(Value value) const { return lanes.contains(value); }
  bool onRow(Value value) const { return rows.contains(value); }
  /// Whether a value varies with position - key and with nothing else. It has
  /// the same result along each diagonal of a tile.
  bool onDistance(Value value) const { return distances.contains(value); }
  /// Whether it is `c * (position - key)` and something that is the same
  /// everywhere.
  bool isDistance(Value value) const;

  /// A value that is `position * p + key * j + something that depends on
  /// neither`, modulo its width.
  struct Linear {
    uint64_t position, key;
  };
  std::optional<Linear> getLinear(Value value) const;

  /// How to vectorize a load that depends on the lane.
  LoadForm getForm(memref::LoadOp load) const;

private:
  std::optional<Linear> computeLinear(Operation &op) const;
  bool isOfDistances(Operation &op) const;
  bool isComparedByDistance(arith::CmpIOp op) const;

  RegionArguments arguments;
  bool sameQuotients;
  DenseSet<Value> lanes, rows, distances;
  /// Of results that vary.
  DenseMap<Value, Linear> linear;
};

/// The constants, at least 2, that a region divides the key by; none of one
/// without a block.
SmallVector<int64_t> getKeyDivisors(Region &region, bool isScore);

/// Whether an op gives a quotient or a remainder of integers.
bool isDivision(Operation *op);

/// What keeps a region from being vectorized.
struct VectorizationObstacle {
  Operation *op;
  StringRef reason;
};
std::optional<VectorizationObstacle>
findVectorizationObstacle(Region &region, const RegionDependence &dependence);

} // namespace mlir::attn

#endif // ATTN_REGIONS_REGIONDEPENDENCE_H
