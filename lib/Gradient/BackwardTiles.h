//===- BackwardTiles.h - Gradients of attention in tiles --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_BACKWARDTILES_H
#define ATTN_GRADIENT_BACKWARDTILES_H

#include "lib/Gradient/CaptureSums.h"
#include "lib/Gradient/QueryTiles.h"

namespace mlir::attn {

/// What one parallel iteration computes of a sequence: what some queries, of
/// some heads, add to the gradients of the keys and values of one head, and the
/// gradients of these queries.
struct BackwardUnit : DerivativeUnit {
  explicit BackwardUnit(const DerivativeUnit &unit) : DerivativeUnit(unit) {}

  Value firstHead; ///< Of the queries.
  Value queryPart; ///< Which of the parts of the sequence's queries.
  Value packs;     ///< Of the keys, as `emitPacksOfKeys` has them.
  // Of a chunk of keys: the first, and one after the last. Null of all.
  Value chunkBegin, chunkEnd;
};

struct BackwardTile : QueryTile {
  Value queries;                    ///< As `toRows` has them.
  Value gradients, gradientColumns; ///< Of the output: the same, and columns.
  Value delta;                      ///< `(L)`.
};

/// Emits the tiles of one op.
class BackwardTiles : QueryTiles<AttentionBackwardOp> {
public:
  /// An op with a plan.
  BackwardTiles(AttentionBackwardOp op, OpBuilder &builder);

  /// Finds the derivatives of the score; an error where there is none.
  LogicalResult prepare();
  /// Why gradients are not tiled, after `prepare`; empty if they are.
  StringRef findObstacle() { return captures.findObstacle(); }
  /// The results of the op.
  SmallVector<Value> emit();

private:
  /// Where the part of a unit is in what iterations share.
  struct Boxes {
    TensorBox query, key, value, flags, sink;
  };

  // Iterations.
  Value emitSum(Value parts, Value out);
  void emitIteration(scf::ForallOp forall);
  void emitSequences(scf::ForallOp forall, Value keyHead, Value part);
  BackwardUnit emitUnit(Value n, Value keyHead, Value part);
  void restrictQueries(BackwardUnit &unit);
  Boxes getBoxes(const BackwardUnit &unit, Value part, bool areOwnHeads);
  SmallVector<Value> emitGradients(BackwardUnit unit, ArrayRef<Value> outs,
                                   const Boxes &boxes, ValueRange ofCaptures);
  SmallVector<Value> emitChunks(BackwardUnit unit, ArrayRef<Value> outs,
                                const Boxes &boxes, ValueRange ofCaptures);
  SmallVector<Value> emitRowsOfTiles(const BackwardUnit &unit, Value tiles,
                                     Value rows, Value ofSink);
  SmallVector<Value> emitHeads(const BackwardUnit &unit,
                               SmallVector<Value> sums);
  TensorBox getBoxOfTile(Value number, Value first);
  Value emitFlag(Value isFinite);
  Value emitSumsOfKeys(Value out, const TensorBox &box);
  Value roundSums(Value sums, Value out, const TensorBox &box);

  // Tiles.
  BackwardTile getTile(const BackwardUnit &unit, Value number, Value first);
  static CaptureHead getCaptureHead(const BackwardUnit &unit, Value head);
  SmallVector<OpFoldResult> placeOf(const BackwardUnit &unit,
                                    const BackwardTile &tile, Value first);
  SmallVector<Value> emitTile(const BackwardUnit &unit, Value number,
                              Value first, ValueRange before);
  SmallVector<Value> emitTile(const BackwardUnit &unit, BackwardTile tile,
                              Value number, Value first,
                              std::pair<Value, Value> visible,
                              ValueRange before);
  Value emitDelta(const BackwardTile &tile, ArrayRef<OpFoldResult> offsets);
  Value addToSink(const BackwardTile &tile, Value number, Value sums);
  Value insertQueryGradient(Value gradient, const BackwardTile &tile,
                            Value number, Value first, Value sums);

  // Blocks.
  SmallVector<Value> emitBlock(const BackwardUnit &unit,
                               const BackwardTile &tile, Value firstKey,
                               ValueRange carried);
  Value emitScoreGradients(Value ofWeights, Value weights, Value slopes,
                           const BackwardTile &tile, bool rounded);
  Value isTiny(Value number);
  Value multiplyGradients(Value gradients, Value slopes);
  Value addProduct(const BackwardUnit &unit, Value factors, Value rows,
                   Value sums, Value firstKey);

  int64_t heads;         ///< Query heads of an iteration.
  int64_t numQueryParts; ///< Iterations of the queries of a head.
  int64_t numParts;      ///< Iterations of one head of the keys.
  int64_t chunk;         ///< Keys that have sums at a time; 0: all.
  Region slope;          ///< The derivative of the score.
  CaptureSums captures;
};

} // namespace mlir::attn

#endif // ATTN_GRADIENT_BACKWARDTILES_H
