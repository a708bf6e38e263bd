//===- TangentTiles.h - Tangents of attention in tiles ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_TANGENTTILES_H
#define ATTN_GRADIENT_TANGENTTILES_H

#include "lib/Gradient/QueryTiles.h"
#include "lib/Regions/RegionDerivative.h"

namespace mlir::attn {

/// A tile of queries that move.
struct TangentTile : QueryTile {
  SmallVector<OpFoldResult> offsets; ///< Of the queries.
  Value tangentColumns; ///< Of the queries, as `columns`; may be null.
};

/// Emits the tiles of one op: a parallel iteration has a tile of queries.
class TangentTiles : QueryTiles<AttentionTangentOp> {
public:
  /// An op with a plan.
  TangentTiles(AttentionTangentOp op, OpBuilder &builder)
      : QueryTiles(op, builder) {}

  /// Finds the derivatives of the score; an error where there is none.
  LogicalResult prepare() { return slopes.prepare(op); }
  /// The results of the op.
  SmallVector<Value> emit();

private:
  void emitIteration(scf::ForallOp forall);
  SmallVector<Value> emitTile(const DerivativeUnit &unit, TangentTile tile);
  Value emitOfSink(const TangentTile &tile);
  SmallVector<Value> emitBlock(const DerivativeUnit &unit,
                               const TangentTile &tile, Value firstKey,
                               ValueRange carried);
  Value emitProductTangents(const DerivativeUnit &unit, const TangentTile &tile,
                            Value firstKey, Value key);
  Value addValues(Value rows, Value packs, const DerivativeUnit &unit,
                  Value firstKey, Value factors, Value sums);
  Value emitWeightTangents(Value weights, Value ofProducts, Value slopes,
                           Value ofCaptures);
  Value addColumns(Value rows, Value sums);
  Value emitRows(const TangentTile &tile, Value sums, Value mu);
  /// Whether scores move.
  bool movesScores() {
    return op.getQueryTangent() || op.getKeyTangent() ||
           !op.getCaptureTangents().empty();
  }

  ScoreSlopes slopes;
  Value values, valueTangents; ///< Packs of all; null where blocks have their
                               ///< own, or none.
};

} // namespace mlir::attn

#endif // ATTN_GRADIENT_TANGENTTILES_H
