//===- CapturedTiles.h - What a tile sees of captured buffers ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_CAPTUREDTILES_H
#define ATTN_CPU_ATTNTOVECTOR_CAPTUREDTILES_H

#include "lib/CPU/AttnToVector/LaneBuilder.h"
#include "lib/Regions/RegionDependence.h"

namespace mlir::attn {

/// The tile of scores that a region is evaluated on.
struct ScoreTile {
  Value scores; ///< Buffer, (K, L).
  Value scale;  ///< Of what it holds before the region; null if 1.
  Value batch, head;
  Value position; ///< `p` of lane 0.
  Value firstKey; ///< `j` of row 0.
  Value numQueries, numKeys;
  bool isInOrder; ///< What a lane gets does not depend on the others.
};

/// Copies what a tile loads from captured buffers into buffers with the lanes
/// as last dimension, before the loop over its rows. Only existing queries and
/// keys are read; lanes without a query hold 0.
class CapturedTiles {
public:
  CapturedTiles(LaneBuilder &b, const ScoreTile &tile,
                const RegionDependence &dependence, ValueRange captures);

  /// The value of a load in each lane; it is the same in all rows.
  Value buildPerLane(memref::LoadOp load);
  /// The value of a load in each row and lane.
  Value buildPerElement(memref::LoadOp load);
  /// The same for LoadForm::Transposed, widened to 32 bits: for i1, any number
  /// that is not 0 is true.
  Value buildTransposed(memref::LoadOp load);

private:
  using Scalars = DenseMap<Value, Value>;
  /// A value of the region for one lane and one row, null for row 0. Operations
  /// are built where they are needed.
  Value evaluate(Value value, Value lane, Value row, Scalars &known);
  SmallVector<Value> evaluateIndices(memref::LoadOp load, Value lane,
                                     Value row);
  Value loadElement(memref::LoadOp load, Value lane, Value row);
  Value widen(Value element);
  /// The rectangle of rows and lanes, element by element.
  void copyElements(memref::LoadOp load, Value buffer, Value firstRow,
                    Value endRow, Value firstLane, Value endLane, bool widened);
  /// Where no query is, so that nothing depends on what was in the buffer.
  void clearOtherLanes(Value buffer);
  /// The block that starts there.
  void transposeBlock(Value source, Value buffer, ValueRange origin,
                      unsigned laneDim, Value row, Value lane);

  LaneBuilder &b;
  ScoreTile tile;
  const RegionDependence &dependence;
  Scalars captured;
};

/// A buffer of i1, which has a byte per element, as one of i8; others as they
/// are. In vectors, i1 would be bits.
Value viewAsBytes(LaneBuilder &b, Value buffer);

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_CAPTUREDTILES_H
