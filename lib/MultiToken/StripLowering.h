//===- StripLowering.h - Multi-token attention by strips --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fast form of the lowering: parallel tiles of some rows of the output and
// the heads that are mixed with each other. A tile has strips
// (heads, rows, columns) of f32, which are computed in blocks of kKeys keys
// that stay in the first-level cache: keys are lanes. A strip has all keys that
// a tile sees, or a chunk of them, if what follows can be computed by chunks.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MULTITOKEN_STRIPLOWERING_H
#define ATTN_MULTITOKEN_STRIPLOWERING_H

#include "dialect/AttnOps.h"
#include "lib/Plan/Plan.h"
#include "lib/Reference/PositionCode.h"
#include "lib/Regions/MaskAnalysis.h"

namespace mlir::attn {

/// Keys that are computed together.
constexpr int64_t kKeys = kKeysOfStripBlock;

/// Rows of strips, but of the smallest, are a multiple of it.
constexpr int64_t kRowMultiple = kRowsOfStripPart;

/// Rows of a part of so many rows: few, and a multiple of kRowMultiple; or all
/// of them. Parts whose keys are hidden are left out.
inline int64_t choosePartRows(int64_t rows) {
  for (int64_t part : {18, 24, 12, 6})
    if (rows % part == 0)
      return part;
  return rows;
}

/// The rows and keys of a tile.
struct StripTile {
  Value batch;
  int64_t numHeads; ///< That a strip has.
  Value firstHead;
  Value first;      ///< Row of the query that row 0 of scores is; may be < 0.
  Value position;   ///< Position of row 0 of scores.
  Value queries;    ///< (heads, scoreRows, D): times the scale, 0 for none.
  Value firstBlock; ///< Of keys.
  Value numBlocks;  ///< Of keys that some row may see, or of a chunk of them.
  Value end;        ///< Of the keys that some row may see.
  Value chunk;      ///< Its number, if these are its blocks.
};

/// Emits the lowering of one op.
class StripLowering : protected PositionCode<MultiTokenAttentionOp> {
public:
  StripLowering(MultiTokenAttentionOp op, OpBuilder &builder, PlanAttr plan);

  /// Returns the op's results.
  SmallVector<Value> emit();

protected:
  using Stages = MultiTokenAttentionOp::Stages;
  using Tile = StripTile;

  /// Of an op whose gradients are computed, which chooses sizes of its own.
  StripLowering(MultiTokenAttentionOp op, OpBuilder &builder);

  /// The tile whose rows of the output begin at row `first` of the query.
  Tile createTile(Value batch, Value firstHead, Value first);
  /// Sets what all tiles have in common.
  void prepare();
  /// Transposes keys, or values, to blocks (D, kKeys), 0 beyond the last, as
  /// f32: a tensor (B, Hkv, blocks, D, kKeys).
  Value emitKeyBlocks(Value keys);
  /// The blocks of keys that some row of the tile may see.
  void emitKeys(Tile &tile);
  void emitQueries(Tile &tile);
  /// Whether the mask tells what keys some positions see, of all heads.
  bool canBoundKeys() {
    return op.hasMask() && op.getMask().getArgument(1).use_empty();
  }
  /// Output (heads, tileRows, Dv) and log-sum-exp (heads, tileRows).
  std::pair<Value, Value> emitTile(const Tile &tile);

  // Scores

  /// A strip of scores after the regions, -inf where hidden, and after the
  /// stages before the softmax. These are given what windows overlap by at the
  /// first block, and it becomes that at the last one's end; or null.
  Value emitStrip(const Tile &tile, Value &overlap);
  Value emitScores(const Tile &tile);
  /// The scores (heads, scoreRows, 2 * lead) of the keys around a tile's first
  /// one, or null if windows do not overlap.
  Value emitOverlap(const Tile &tile);
  /// Writes a block of keys of the strip, of the heads that stages before the
  /// softmax mix, from `head` on: scores in a window
  /// (mixed heads, scoreRows, 2 * lead + kKeys), and what stages make of it.
  /// Carried are the strip, and what windows overlap by if they do.
  SmallVector<Value> emitWindow(const Tile &tile, Value head, Value block,
                                ValueRange carried);
  /// Products (numRows, lanes) of rows with lanes of a block of keys.
  Value emitDots(const Tile &tile, Value c, Value block, Value row,
                 int64_t numRows, Value lane, int64_t lanes) {
    return multiplyBlock(tile, tile.queries, keyBlocks, c, block, row, numRows,
                         lane, lanes);
  }
  /// The same of any rows (heads, rows, D) and blocks.
  Value multiplyBlock(const Tile &tile, Value rows, Value blocks, Value c,
                      Value block, Value row, int64_t numRows, Value lane,
                      int64_t lanes);
  /// Writes the products with a block of keys into a window, but for parts in
  /// which the mask hides all.
  Value emitVisibleDots(const Tile &tile, Value c, Value block, Value column,
                        Value window);
  /// What the mask makes of `numRows` rows of scores by `keys` keys.
  BlockVerdict emitVerdict(const Tile &tile, Value head, Value row,
                           int64_t numRows, Value key, int64_t keys);
  Value getFirstKey(const Tile &tile, Value block) {
    return mul(add(tile.firstBlock, block), kKeys);
  }
  /// How many keys there are of the block from `first` on.
  Value emitCount(const Tile &tile, Value first) {
    return minU(sub(tile.end, first), kKeys);
  }
  /// Rows of keys, or of values, as f32.
  Value emitKeyRows(const Tile &tile, Value tensor, Value c, Value first,
                    Value count) {
    return convertElements(extractRows(tensor, tile.batch,
                                       emitKeyHead(add(tile.firstHead, c)),
                                       first, count),
                           f32);
  }
  /// Makes scores of a block of products in a strip. Those of the columns
  /// before it may be hidden once more: of an operation on the block alone, the
  /// canonicalizer makes one on the products, which is then copied to a strip.
  Value emitRegionBlock(const Tile &tile, Value c, Value block, Value column,
                        Value strip, int64_t columnsBefore = 0);
  /// Products (scoreRows, lanes) after the regions.
  Value emitRegions(const Tile &tile, Value head, Value firstKey, Value dots);

  // Stages

  /// What the stages read: a strip in which hidden positions are marked.
  struct StageInput {
    Value strip;
    /// Factors of the last rows (heads, weightRows), or null.
    Value factors = {};
    /// Marks are -0.0, which count as 0 as they are, or else -inf.
    bool marksAreZero = true;
    /// Of what is hidden in the result; none if nothing is.
    std::optional<double> mark = {};
    Value firstKey = {}; ///< Of the block, before the softmax.

    int64_t getNumRows() const {
      return cast<RankedTensorType>(strip.getType()).getDimSize(1);
    }
  };

  Value isHidden(const StageInput &input, Value mark) {
    return input.marksAreZero ? isMinusZero(mark) : isMinusInfinity(mark);
  }

  /// What stages make of a block of keys of a strip, in `numRows` rows from
  /// `destinationColumn` on of a tensor of as many heads,
  /// (heads, numRows, columns).
  Value emitStages(const Tile &tile, Stages stages, const StageInput &input,
                   Value column, int64_t numRows, Value destination,
                   Number destinationColumn);
  /// Writes a head's block convolved, with `mark`, if any, where it is hidden.
  Value emitConvolution(const Tile &tile, Stages stages,
                        const StageInput &input, Value column, Value c,
                        int64_t numRows, std::optional<double> mark,
                        Value destination, Number destinationColumn);
  /// What mixing makes of a block of keys that has been convolved, if it has
  /// been: what is hidden is so in `input`.
  Value emitMixed(const Tile &tile, Stages stages, const StageInput &input,
                  Value column, int64_t numRows, Value convolved,
                  Value destination, Number destinationColumn);
  /// The blocks of `count` heads from `c` on.
  SmallVector<Value> emitMixing(const Tile &tile, Stages stages,
                                const StageInput &input, Value column, Value c,
                                int64_t count, int64_t numRows,
                                Value convolved);
  /// The same of many heads: products of weights and what all heads of a group
  /// have in a row. In place of the destination's.
  Value emitMixingProducts(const Tile &tile, Stages stages,
                           const StageInput &input, Value column,
                           int64_t numRows, Value convolved, Value destination,
                           Number destinationColumn);
  /// Weights (heads read, heads written) times the factors of the heads from
  /// `first` on, for the last rows: (heads written, heads read, numRows).
  Value emitRowWeights(Value weights, Value factors, Value first,
                       int64_t numRows);
  /// `block`, of as many rows and lanes, with `mark` where what stages read
  /// from a row and a column on is hidden.
  Value emitHidden(const StageInput &input, Value row, Value column, Value c,
                   Value block, double mark);

  // Softmax and output

  /// The rows of a softmax, all (heads, weightRows).
  struct Softmax {
    Value largest; ///< Score; -inf if all are hidden.
    Value sum;     ///< Of exp(s - largest).
  };
  struct Normalization {
    Value inverse; ///< What exp(s - largest) is multiplied by; 0 if T7.
    Value logSumExp;
  };

  Softmax createSoftmax(int64_t numHeads);
  /// Of a power of at most 0.
  Value emitExp(Value power);
  /// Makes of scores exp(s - largest), -0.0 where hidden: in their place, or in
  /// that of `destination` if it is not null.
  Value emitWeights(Value scores, Value largest, Value destination);
  /// The largest scores and sums that scores add to those so far, with their
  /// weights, as `emitWeights` places them, and what sums so far are multiplied
  /// by.
  struct Update {
    Softmax softmax;
    Value weights, factor;
  };
  Update emitUpdate(Value scores, const Softmax &softmax,
                    Value destination = {});
  Normalization emitNormalization(const Tile &tile, const Softmax &softmax);
  /// All keys of each row combined, with what they were before: (heads, rows).
  template <typename Combine> Value emitRowSums(Value strip, Value initial);
  /// Adds the products of a strip's weights with the values to (heads,
  /// tileRows, Dv), without those of hidden keys if `exact`.
  Value emitSums(const Tile &tile, Value strip, Value factors, Value exact,
                 Value sums);
  /// Keys of the block from `first` on that rows of the output from `row` on
  /// may see, without those after the last one.
  Value emitKeyCount(const Tile &tile, Value row, int64_t numRows, Value first);
  /// T5: whatever a hidden value row holds.
  Value emitExactSums(Value weights, Value value, Value sums);
  /// What `body` makes of its arguments, of which the first must be finite:
  /// otherwise once more, exactly.
  SmallVector<Value>
  emitUntilFinite(ValueRange destinations,
                  function_ref<SmallVector<Value>(ValueRange, Value exact)>);

  // Tiles

  struct TileResult {
    Value sums; ///< (heads, tileRows, Dv)
    Normalization normalization;
  };
  /// Of one strip.
  TileResult emitWholeTile(const Tile &tile);
  /// Of a strip for each chunk of keys: an online softmax.
  TileResult emitChunkedTile(const Tile &tile);
  /// The same where mixing after the softmax needs its sums first: from the
  /// stored weights of all chunks.
  TileResult emitStoredTile(const Tile &tile);
  /// `body` for each chunk of the tile's keys.
  SmallVector<Value> loopOverChunks(
      const Tile &tile, ValueRange initial,
      function_ref<SmallVector<Value>(const Tile &, ValueRange)> body);
  /// The same with a strip of scores after the stages before the softmax.
  SmallVector<Value> forEachChunk(
      const Tile &tile, ValueRange initial,
      function_ref<SmallVector<Value>(const Tile &, Value, ValueRange)> body);
  /// What the chunks of all heads leave.
  struct Store {
    Value weights; ///< (chunks, heads, weightRows, columns of a chunk)
    Value largest; ///< Scores up to each chunk: (chunks, heads, weightRows).
    Softmax softmax;
  };
  Store createStore();
  Store storeWeights(const Tile &tile);
  Value createSums() {
    return empty({heads, tileRows, op.getValueType().getDimSize(3)}, f32);
  }

  // Strips

  /// Sets the sizes of tiles and strips.
  void setTile(PlanAttr plan);
  /// Heads of a chunk: without mixing after the softmax, of which the weights
  /// of all heads are stored first, those of the tile.
  int64_t getChunkHeads() {
    return after.mixing ? before.getNumMixedHeads() : heads;
  }
  Number getStripWidth(const Tile &tile);
  /// What a strip of weights has of keys.
  Box getKeyColumns(const Tile &tile) {
    return getKeyColumns(tile, 0, weightRows);
  }
  /// What some rows of a strip have of keys.
  Box getKeyColumns(const Tile &tile, int64_t row, int64_t numRows) {
    return {{0, row, firstColumn},
            {tile.numHeads, numRows, mul(tile.numBlocks, kKeys)}};
  }
  Value getColumn(Value block) { return add(mul(block, kKeys), firstColumn); }
  /// Zeros in the margins around a strip's keys.
  Value fillMargins(const Tile &tile, Value strip);
  /// `body` for the first column of each block of keys of a strip.
  Value
  forEachBlock(const Tile &tile, Value initial,
               function_ref<Value(Value block, Value column, Value)> body);
  /// `count` columns and `numRows` rows of one head.
  Value extractBlock(Value strip, Value head, int64_t row, int64_t numRows,
                     Number column, int64_t count) {
    return extract(strip, {{head, row, column}, {1, numRows, count}}, 2);
  }
  Value insertBlock(Value block, Value strip, Value head, Number column) {
    auto type = cast<RankedTensorType>(block.getType());
    return insert(
        block, strip,
        {{head, 0, column}, {1, type.getDimSize(0), type.getDimSize(1)}});
  }

  /// Of a weight, which no visible position has.
  Value isMinusZero(Value weight);

  Stages before, after;
  FloatType f32;
  int64_t heads; ///< That are mixed with each other.
  int64_t halo;  ///< Rows before those of the output that they depend on.
  /// Rows of a tile: of the output, of what the softmax is of, and of scores.
  int64_t tileRows, weightRows, scoreRows;
  /// Columns before and after those of a block that a convolution reads.
  int64_t margin;
  /// Blocks of keys of a chunk; 0 if strips have all that a tile sees.
  int64_t chunkBlocks;
  /// Scores of a window begin so many keys after its block's first: those
  /// before are of the block before it. Blocks of keys that they reach beyond
  /// the last one.
  int64_t lead, leadBlocks;
  int64_t firstColumn; ///< Of a strip's keys.
  Value zero, scale, numKeys, numQueries, keyBlocks;
};

} // namespace mlir::attn

#endif // ATTN_MULTITOKEN_STRIPLOWERING_H
