//===- PanelLowering.h - Multi-token attention by panels --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fast form of the lowering: parallel tiles of some rows of the output and
// the heads that are mixed with each other. Each computes panels
// (heads, rows, visible keys) in f32, whose rows are computed by vectors: keys
// are lanes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ATTNTOLINALG_PANELLOWERING_H
#define ATTN_CONVERSION_ATTNTOLINALG_PANELLOWERING_H

#include "dialect/AttnOps.h"
#include "lib/Conversion/AttnToLinalg/PositionCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

namespace mlir::attn {

/// Keys that are computed together, which panels are padded to: four registers
/// of 512 bits.
constexpr int64_t kKeys = 64;

/// The rows and keys of a tile.
struct PanelTile {
  Value batch, group;
  Value firstHead;
  Value first;      ///< Row of the query that panel row 0 is; may be negative.
  Value position;   ///< Position of panel row 0.
  Value begin, end; ///< Visible keys.
  Value width;      ///< Columns of a panel, a multiple of kKeys.
};

/// Emits the lowering of one op.
class PanelLowering : PositionCode<MultiTokenAttentionOp> {
public:
  PanelLowering(MultiTokenAttentionOp op, OpBuilder &builder, int64_t tileRows)
      : PositionCode(builder, op), op(op), before(op.getStagesBefore()),
        after(op.getStagesAfter()), f32(builder.getF32Type()),
        heads(std::lcm(before.getNumMixedHeads(), after.getNumMixedHeads())),
        tileRows(tileRows), halo(op.getHalo()), rows(tileRows + halo) {}

  /// Returns the op's results.
  SmallVector<Value> emit();

private:
  using Stages = MultiTokenAttentionOp::Stages;
  using Tile = PanelTile;

  /// The keys that some row of the tile may see.
  void emitKeys(Tile &tile);
  /// Output (heads, tileRows, Dv) and log-sum-exp (heads, tileRows).
  std::pair<Value, Value> emitTile(const Tile &tile);
  /// Inserts those rows of a result that there are.
  void insertParallel(scf::ForallOp loop, Value source, Value destination,
                      SmallVector<OpFoldResult> offsets,
                      SmallVector<OpFoldResult> sizes);

  // Scores

  /// The products of query and key rows, 0 for rows and keys that are not
  /// there.
  Value emitDots(const Tile &tile);
  Value emitBlock(const Tile &tile, Value query, Value head, Value c,
                  Value column, Value panel);
  /// Scores after the regions, -inf where hidden.
  Value emitScores(const Tile &tile, Value dots);

  // Stages

  /// What the stages make of a panel; `hidden` where the score is -inf (T5).
  Value emitStages(const Tile &tile, Stages stages, Value panel, Value scores,
                   double hidden);
  Value hide(const Tile &tile, Value panel, Value scores, double value);
  Value emitConvolution(const Tile &tile, Stages stages, Value panel,
                        Value scores, double hidden);
  Value emitMixing(const Tile &tile, Stages stages, Value panel, Value scores,
                   double hidden);
  /// The sum of (rows, width) matrices times factors and of `start`, and
  /// `hidden` where the score is -inf, if scores are given.
  Value emitSums(const Tile &tile, ArrayRef<Value> matrices,
                 ArrayRef<Value> factors, Value start, Value scores,
                 double hidden);

  // Softmax and output

  struct Softmax {
    Value weights;   ///< exp(s - m), a panel.
    Value inverse;   ///< (heads, rows): 1 / sum, 0 for an empty row (T7).
    Value logSumExp; ///< (heads, rows)
  };

  Softmax emitSoftmax(const Tile &tile, Value panel);
  /// All keys of each row combined: (heads, rows).
  template <typename Combine> Value emitRowSums(Value panel, double initial);
  /// Sums over the keys that are not hidden: (heads, tileRows, Dv).
  Value emitOutput(const Tile &tile, Value weights, Value scores);
  /// T5: whatever a hidden value row holds.
  Value emitExactSums(Value weights, Value scores, Value value, Value sums);

  // Panels

  Value panelLike(const Tile &tile) {
    return empty(
        {b.getIndexAttr(heads), b.getIndexAttr(rows), OpFoldResult(tile.width)},
        f32);
  }
  Value extractBox(Value panel, const Box &box, ArrayRef<int64_t> shape) {
    SmallVector<OpFoldResult> strides(box.sizes.size(), b.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, f32), panel, box.offsets,
        box.sizes, strides);
  }
  /// (rows, width) of one head.
  Value extractMatrix(const Tile &tile, Value panel, Value head,
                      OpFoldResult row, OpFoldResult column) {
    return extractBox(panel,
                      {{head, row, column},
                       {b.getIndexAttr(1), b.getIndexAttr(rows), tile.width}},
                      {rows, ShapedType::kDynamic});
  }
  Value matrixOf(const Tile &tile, Value panel, Value head) {
    return extractMatrix(tile, panel, head, b.getIndexAttr(0),
                         b.getIndexAttr(0));
  }
  Value insertMatrix(const Tile &tile, Value matrix, Value panel, Value head) {
    return insert(matrix, panel,
                  {{head, b.getIndexAttr(0), b.getIndexAttr(0)},
                   {b.getIndexAttr(1), b.getIndexAttr(rows), tile.width}});
  }
  Value extractRows(Value source, Value batch, Value head, Value row,
                    Value count) {
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<OpFoldResult> offsets = {batch, head, row, b.getIndexAttr(0)},
                              sizes = {b.getIndexAttr(1), b.getIndexAttr(1),
                                       count,
                                       b.getIndexAttr(type.getDimSize(3))},
                              strides(4, b.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(
        b, loc,
        RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(3)},
                              type.getElementType()),
        source, offsets, sizes, strides);
  }

  Value emitKeyHead(Value head) { // A3
    return arith::DivUIOp::create(b, loc, head, index(op.getGroupSize()));
  }
  /// `hidden` where `score` is -inf.
  Value select(Value score, Value hidden, Value otherwise) {
    return arith::SelectOp::create(b, loc, isEqual(score, minusInfinity()),
                                   hidden, otherwise);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }
  Value emitConverted(Value tensor, FloatType type) {
    if (cast<ShapedType>(tensor.getType()).getElementType() == type)
      return tensor;
    return map(tensor, empty(tensor::getMixedSizes(b, loc, tensor), type),
               [&](ValueRange x) { return convert(x[0], type); });
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  MultiTokenAttentionOp op;
  Stages before, after;
  FloatType f32;
  int64_t heads; ///< That are mixed with each other.
  int64_t tileRows;
  int64_t halo; ///< Rows before those of the output that they depend on.
  int64_t rows; ///< Of a panel.
  Value zero, scale, numKeys, numQueries;
};

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOLINALG_PANELLOWERING_H
