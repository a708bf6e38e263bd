//===- StripBackward.h - Gradients of multi-token attention -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a tile of rows of the output gives to the gradients is linear in the
// gradients of these rows, so that each tile computes its strips again, goes
// back through them, and adds to the gradients of all that it has read.
//
//   forall batch entries, units of heads
//     for the groups of heads of the unit that are mixed
//       for tiles of rows
//         scores, probabilities      strips of all keys that the tile sees
//         gradient of the weights    a strip
//         gradient of probabilities  a strip, and in its place that of scores
//         blocks of keys             products with queries and keys
//
// Strips of gradients are 0 where a position is hidden, and -0.0 marks that in
// those of scores and probabilities.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MULTITOKEN_STRIPBACKWARD_H
#define ATTN_MULTITOKEN_STRIPBACKWARD_H

#include "lib/MultiToken/StripLowering.h"

namespace mlir::attn {

/// Emits the lowering of one op, of which `attention` is differentiated.
class StripBackward : StripLowering {
public:
  /// `slope` is the derivative of the score, empty without one.
  StripBackward(MultiTokenAttentionBackwardOp op,
                MultiTokenAttentionOp attention, Region &slope,
                OpBuilder &builder, PlanAttr plan);

  /// Returns the op's results.
  SmallVector<Value> emit();

private:
  // Iterations

  /// Where iterations put their parts.
  SmallVector<Value> createParts();
  void emitIteration(scf::ForallOp forall);
  /// The part of an iteration in what all have: a box.
  Box getPart(unsigned number, Value batch, Value unit);
  /// Of the results of iterations, those of the op.
  Value emitGradient(unsigned number, Value parts);
  RankedTensorType getDifferentiatedType(unsigned number) {
    return cast<RankedTensorType>(
        gradients.getDifferentiated()[number].first.getType());
  }

  // Tiles

  struct Strips {
    Value scores;        ///< (heads, scoreRows, columns); null without stages.
    Value probabilities; ///< (heads, weightRows, columns)
    Value logSumExp;     ///< (heads, weightRows)
  };
  /// The sums with what a tile adds to them. `c` is the number in the unit of
  /// the tile's first head.
  SmallVector<Value> emitTile(const Tile &tile, Value c, Value row,
                              ValueRange carried);
  Strips emitStrips(const Tile &tile);
  /// Rows of the gradient of the output, 0 beyond the last.
  Value emitOutputRows(const Tile &tile, Value row, Value count);
  Value addToValues(const Tile &tile, Value c, const Strips &strips,
                    Value outputRows, Value sums);
  Value emitOfWeights(const Tile &tile, const Strips &strips, Value outputRows,
                      int64_t numRows, int64_t first);
  Value emitDelta(const Tile &tile, const Strips &strips, Value gradient,
                  Value row, Value count);
  Value addToSink(const Tile &tile, Value c, const Strips &strips, Value delta,
                  Value sums);
  Value emitOfSoftmax(const Tile &tile, const Strips &strips, Value gradient,
                      Value delta);
  SmallVector<Value> addToRows(const Tile &tile, Value c, const Strips &strips,
                               Value gradient, ValueRange carried);
  Value emitOfProducts(const Tile &tile, Value c, Value block, Value column,
                       const Strips &strips, Value gradient);
  Value addQueryRows(const Tile &tile, Value c, Value rows, Value sums);

  // Stages

  /// A side of the softmax: a strip that its stages read, of which the last
  /// rows have the gradients that are in rows of another strip.
  struct Side {
    Stages stages, transposed;
    Value read;           ///< -0.0 where hidden.
    int64_t numRows;      ///< That have gradients.
    int64_t first;        ///< Of them in the strip of gradients.
    unsigned firstResult; ///< Number of the gradient of the first stage.
  };
  /// Adds to the gradients of mixing and goes back through it, in place.
  Value goBackThroughMixing(const Tile &tile, Value c, const Side &side,
                            Value gradient, MutableArrayRef<Value> sums);
  /// What mixing read, as a block (heads, rows, kKeys).
  Value emitMixingInput(const Tile &tile, const Side &side, Value column);
  /// Adds to the gradient of a kernel.
  Value addToKernel(const Tile &tile, Value c, const Side &side, Value gradient,
                    Value sums);
  /// What is behind the convolution of a block, in `numRows` rows from
  /// `destinationColumn` of a tensor on.
  Value emitTransposed(const Tile &tile, Stages transposed, Value gradient,
                       Value column, int64_t numRows, Value destination);

  // Strips

  /// Some rows of one block of a strip, of all heads.
  Box getBlock(const Tile &tile, int64_t row, int64_t numRows, Value column) {
    return {{0, row, column}, {tile.numHeads, numRows, kKeys}};
  }
  MultiTokenAttentionBackwardOp gradients;
  Region &slope;
  int64_t unitHeads; ///< Query heads of an iteration.
  Stages transposedBefore, transposedAfter;
  /// Rows of the strip of the gradient of scores before those of weights, and
  /// all of them.
  int64_t frontRows, gradientRows;
  Value past, numRows, valueBlocks;
};

} // namespace mlir::attn

#endif // ATTN_MULTITOKEN_STRIPBACKWARD_H
