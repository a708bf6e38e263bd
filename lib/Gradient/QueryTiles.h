//===- QueryTiles.h - Derivatives of attention, by tiles --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_QUERYTILES_H
#define ATTN_GRADIENT_QUERYTILES_H

#include "dialect/AttnOps.h"
#include "lib/Gradient/GradientBuilder.h"
#include "lib/Reference/SequenceCode.h"

namespace mlir::attn {

/// A sequence, or batch entry, and a head of its keys and values.
struct DerivativeUnit : Sequence {
  Value keyHead;
};

/// A tile of queries of one head.
struct QueryTile {
  Value head, position;
  OpFoldResult count; ///< Of queries, at most as many as lanes.
  Value columns;      ///< Queries, as `toColumns` has them.
  Value logSumExp;    ///< `(L)`.
};

/// What derivatives of attention in tiles have in common. Queries are lanes: of
/// a block of `K` keys and a tile of `L` queries, there is `(K, L)`. The
/// log-sum-exp of queries is known, and weights are relative to it.
///
/// Of `layout<pairs>`, products are of pairs of bf16, and sums of f32: of rows
/// of queries, keys and values as they are, and of weights and what is computed
/// from them once they are rounded. The scale is then that of products.
template <typename Op> class QueryTiles {
protected:
  /// Of an op with a plan.
  QueryTiles(Op op, OpBuilder &builder);

  // Sequences.
  Value emitScale();
  OpFoldResult emitNumSequences();
  /// But for the head of keys.
  DerivativeUnit emitUnit(Value n);

  // Tiles.
  Value emitPadded(Value rows, ArrayRef<OpFoldResult> offsets,
                   OpFoldResult count, int64_t size, Value factor,
                   Type element);
  Value emitFactors(Value rows, ArrayRef<OpFoldResult> offsets,
                    OpFoldResult count, int64_t size, bool scaled);
  Value toColumns(Value factors);
  Value toRows(Value factors);
  Value emitLogSumExp(ArrayRef<OpFoldResult> offsets, OpFoldResult count);
  std::pair<Value, Value> emitVisible(const DerivativeUnit &unit,
                                      const QueryTile &tile);

  // Blocks.
  SmallVector<Value>
  emitUnlessHidden(const DerivativeUnit &unit, const QueryTile &tile,
                   Value firstKey, Value end, ValueRange carried,
                   function_ref<SmallVector<Value>()> emitBlock);
  Value emitRowsOfBlock(Value rows, const DerivativeUnit &unit, Value firstKey,
                        int64_t size);
  void emitFetch(Value rows, const DerivativeUnit &unit, Value firstKey);
  Value multiply(Value rows, Value columns);
  Value multiplyAdd(Value rows, Value columns, Value sums);
  Value multiplyAdd(Value rows, Value columns, Value part, Value all);
  Value emitSlopes(const DerivativeUnit &unit, const QueryTile &tile,
                   Value firstKey, Value products, Region &slope);
  Value evaluate(const DerivativeUnit &unit, const QueryTile &tile,
                 Value firstKey, Value products, Region &region,
                 ValueRange captures);
  Value emitWeights(const DerivativeUnit &unit, const QueryTile &tile,
                    Value firstKey, Value products);
  Value emitDropout(const DerivativeUnit &unit, const QueryTile &tile,
                    Value firstKey);
  Value multiplyInto(Value x, Value y, Value init);
  Value round(Value matrix, Value factor = {});
  Value mapRounded(ValueRange inputs, ArrayRef<AffineMap> maps,
                   function_ref<Value(ValueRange)> body);
  Value emitZeros(int64_t size);
  Value emitPacksOfKeys(Value rows);
  Value slicePacks(Value packs, ArrayRef<OpFoldResult> at, Value firstKey);
  Value addTransposed(Value rows, Value packs, Value factors, Value sums);
  /// Whether they are `(q, d)`.
  bool sumsOfKeysAreRows() const { return isInPairs && !isPacked; }
  Value firstRows(Value matrix);
  SmallVector<OpFoldResult> sizes() { return {numKeys, b.getIndexAttr(lanes)}; }

  Value empty(ArrayRef<int64_t> shape) { return b.empty(shape, type); }
  Value real(double value) { return b.real(type, value); }

  Op op;
  GradientBuilder b;
  FloatType type; ///< Of sums.
  int64_t lanes, keys;
  int64_t keySize, valueSize;
  bool isNarrow; ///< Elements are narrower than sums.
  bool isInPairs;
  bool isPacked; ///< Sums over keys are of packs of these.
  Value scale;
  // Of the block.
  Value isPartial, isDefined;
  OpFoldResult numKeys;

private:
  Value fillRows(Value matrix, OpFoldResult first, OpFoldResult count);
  Value copyRows(Value rows);
  Value emitPairsOfKeys(Value matrix);
  OpFoldResult getNumMissing();
  Value emitPairsOfRows(Value matrix, OpFoldResult count, int64_t most);
  Value emitRegions(const DerivativeUnit &unit, const QueryTile &tile,
                    Value firstKey, ValueRange outs, Region &score,
                    ValueRange scoreCaptures, bool rounded, bool masked);
};

extern template class QueryTiles<AttentionBackwardOp>;
extern template class QueryTiles<AttentionTangentOp>;

} // namespace mlir::attn

#endif // ATTN_GRADIENT_QUERYTILES_H
