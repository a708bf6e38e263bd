//===- BackwardTiles.h - Gradients of attention in tiles --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_BACKWARDTILES_H
#define ATTN_GRADIENT_BACKWARDTILES_H

#include "lib/Gradient/CaptureSums.h"

namespace mlir::attn {

/// What one parallel iteration computes of a sequence: the gradients of the
/// keys and values of one head, and of the queries of some heads that read
/// them.
struct BackwardUnit {
  Value number, keyHead; ///< `b` of regions; head of the keys.
  Value firstHead;       ///< Of the queries.
  OpFoldResult queryBatch, queryBegin, queryLength;
  OpFoldResult keyBatch, keyBegin, keyLength;
  Value offset; ///< Position of the first query.
};

/// A tile of queries of one head.
struct BackwardTile {
  Value head, position;
  OpFoldResult count;               ///< Of queries, at most as many as lanes.
  Value queries, columns;           ///< Scaled: `(L, Dk)` and `(Dk, L)`.
  Value gradients, gradientColumns; ///< Of the output: `(L, Dv)`, `(Dv, L)`.
  Value logSumExp, delta;           ///< `(L)`.
};

/// Emits the tiles of one op.
class BackwardTiles {
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
  SmallVector<Value> emitUnlessFinite(Value isFinite, ValueRange gradients);
  Value emitSum(Value parts, Value out);
  void emitIteration(scf::ForallOp forall);
  void emitSequences(scf::ForallOp forall, Value keyHead, Value part);
  BackwardUnit emitUnit(Value n, Value keyHead, Value part);
  std::pair<OpFoldResult, OpFoldResult> emitRange(Value cumulative, Value n);
  Boxes getBoxes(const BackwardUnit &unit, Value part, bool areOwnHeads);
  SmallVector<Value> emitGradients(const BackwardUnit &unit,
                                   ArrayRef<Value> outs, const Boxes &boxes,
                                   ValueRange ofCaptures);
  Value emitSumsOfKeys(Value out, const TensorBox &box);
  Value roundSums(Value sums, Value out, const TensorBox &box);

  // Tiles.
  SmallVector<Value> emitTile(const BackwardUnit &unit, Value number,
                              Value first, ValueRange before);
  Value emitPadded(Value rows, ArrayRef<OpFoldResult> offsets,
                   OpFoldResult count, int64_t size, bool scaled);
  Value emitLogSumExp(ArrayRef<OpFoldResult> offsets, OpFoldResult count);
  Value emitDelta(const BackwardTile &tile, ArrayRef<OpFoldResult> offsets);
  Value addToSink(const BackwardTile &tile, Value number, Value sums);
  std::pair<Value, Value> emitVisible(const BackwardUnit &unit,
                                      const BackwardTile &tile);
  Value insertQueryGradient(Value columns, const BackwardTile &tile,
                            Value number, Value first, Value sums);

  // Blocks.
  SmallVector<Value> emitUnlessHidden(const BackwardUnit &unit,
                                      const BackwardTile &tile, Value firstKey,
                                      Value end, ValueRange carried);
  SmallVector<Value> emitBlock(const BackwardUnit &unit,
                               const BackwardTile &tile, Value firstKey,
                               ValueRange carried);
  Value emitRowsOfBlock(Value rows, const BackwardUnit &unit, Value firstKey,
                        int64_t size);
  Value multiply(Value rows, Value columns);
  Value emitSlopes(const BackwardUnit &unit, const BackwardTile &tile,
                   Value firstKey, Value products, Region &slope);
  Value emitSoftmax(const BackwardUnit &unit, const BackwardTile &tile,
                    Value firstKey, ValueRange outs, Region &score,
                    bool masked);
  Value emitDropout(const BackwardUnit &unit, const BackwardTile &tile,
                    Value firstKey);
  Value multiplyInto(Value x, Value y, Value init);
  Value emitScoreGradients(Value ofWeights, Value weights, Value slopes,
                           const BackwardTile &tile);
  Value multiplyGradients(Value gradients, Value slopes);
  Value addProduct(Value factors, Value rows, Value sums, Value firstKey);
  Value firstRows(Value matrix);
  SmallVector<OpFoldResult> sizes() { return {numKeys, b.getIndexAttr(lanes)}; }

  Value empty(ArrayRef<int64_t> shape) { return b.empty(shape, type); }
  Value real(double value) { return b.real(type, value); }

  AttentionBackwardOp op;
  GradientBuilder b;
  FloatType type; ///< Of sums.
  int64_t lanes, keys;
  int64_t heads;    ///< Query heads of an iteration.
  int64_t numParts; ///< Iterations of one head of the keys.
  int64_t keySize, valueSize;
  bool isNarrow; ///< Elements are narrower than sums.
  Value scale;
  Region slope; ///< The derivative of the score.
  CaptureSums captures;
  // Of the block.
  Value isPartial, isDefined;
  OpFoldResult numKeys;
};

} // namespace mlir::attn

#endif // ATTN_GRADIENT_BACKWARDTILES_H
