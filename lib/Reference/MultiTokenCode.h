//===- MultiTokenCode.h - Strips of multi-token attention -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTITOKENCODE_H
#define ATTN_REFERENCE_MULTITOKENCODE_H

#include "dialect/AttnOps.h"
#include "lib/Reference/PositionCode.h"

namespace mlir::attn {

/// Emits what the reference lowerings of multi-token attention and of its
/// gradients have in common: strips (Hq, rows, Skv) of scores, which are those
/// of a few rows of the output, and before them of the rows that their
/// convolutions see. Memory is linear in the key length so.
class MultiTokenCode : protected PositionCode<MultiTokenAttentionOp> {
protected:
  using Stages = MultiTokenStages;

  /// A tile of output rows with the rows before it, and its strip's sizes.
  struct Tile {
    Value batch;
    Value first;    ///< Row of the query that strip row 0 is.
    Value rows;     ///< Rows of the strip.
    Value before;   ///< Those before the rows of the output.
    Value begin;    ///< First row of the output.
    Value count;    ///< Rows of the output.
    Value position; ///< Position of row 0 of the query.
  };

  MultiTokenCode(MultiTokenAttentionOp op, OpBuilder &builder)
      : PositionCode(builder, op), before(op.getStagesBefore()),
        after(op.getStagesAfter()), numHeads(op.getNumQueryHeads()) {}

  /// Sets what the members are.
  void prepare();
  /// `body` for all tiles, one after the other.
  SmallVector<Value> loopOverTiles(
      ValueRange initial,
      function_ref<SmallVector<Value>(const Tile &, ValueRange)> body);

  /// The scores of a strip, -inf where hidden.
  Value emitScores(const Tile &tile);
  /// The products of a row of a strip with all keys.
  Value emitDots(const Tile &tile, Value head, Value r);
  RowPosition getPosition(const Tile &tile, Value head, Value r) {
    return {tile.batch, head, add(add(tile.position, tile.first), r)};
  }

  /// What the stages of one side read and make, 0 where hidden (T5).
  struct StagedStrip {
    Value read, convolved, result;
  };
  StagedStrip emitStages(Stages stages, Value strip, Value scores);
  /// `strip`, and `value` where the score is -inf.
  Value hide(Value strip, Value scores, double value);

  /// Probabilities, and the log-sum-exp `(Hq, rows)` (T6).
  std::pair<Value, Value> emitSoftmax(const Tile &tile, Value weights);
  Value emitDropouts(const Tile &tile, Value strip);

  Value emptyStrip(const Tile &tile) {
    return empty({numHeads, tile.rows, numKeys}, accumulation);
  }
  SmallVector<Value> loopHeadsAndRows(
      const Tile &tile, ValueRange initial,
      function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);
  Value loopRows(const Tile &tile, Value initial,
                 function_ref<Value(Value, Value, Value)> body);

  Stages before, after;
  int64_t numHeads;
  Value scale, numKeys;
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_MULTITOKENCODE_H
