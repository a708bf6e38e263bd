//===- LowerPacks.cpp - linalg.pack in parallel ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/CachedRows.h"
#include "lib/Online/Passes.h"
#include "lib/Online/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERPACKS
#include "lib/Online/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the packing of one matrix of `(..., S, D)` after the other.
class PackLoop {
public:
  PackLoop(linalg::PackOp op, OpBuilder &builder)
      : op(op), b(builder), loc(op.getLoc()), zero(b.getIndexAttr(0)),
        one(b.getIndexAttr(1)), rank(op.getSourceRank()),
        type(cast<RankedTensorType>(op.getSource().getType())),
        rowsPerPack(op.getStaticInnerTiles().front()) {}

  Value emit() {
    SmallVector<OpFoldResult> count =
        tensor::getMixedSizes(b, loc, op.getDest());
    count.resize(rank - 1);
    if (op->getParentOfType<scf::ForallOp>())
      return emitInOrder(count);
    auto loop = scf::ForallOp::create(b, loc, count, op.getDest(),
                                      /*mapping=*/std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    fetchNextRows(loop.getInductionVars());
    Pack pack = emitPack(loop.getInductionVars(), loop.getRegionIterArgs()[0]);
    SmallVector<OpFoldResult> strides(rank + 1, one);
    b.setInsertionPointToStart(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, loc, pack.rows,
                                          loop.getRegionIterArgs()[0], pack.to,
                                          pack.sizes, strides);
    return loop.getResult(0);
  }

private:
  /// A pack, and its place.
  struct Pack {
    Value rows;
    SmallVector<OpFoldResult> to, sizes;
  };

  /// Within an iteration of a parallel loop.
  Value emitInOrder(ArrayRef<OpFoldResult> count) {
    auto bounds = [&](OpFoldResult bound) {
      return SmallVector<Value>(count.size(),
                                getValueOrCreateConstantIndexOp(b, loc, bound));
    };
    scf::LoopNest nest = scf::buildLoopNest(
        b, loc, bounds(zero), getValueOrCreateConstantIndexOp(b, loc, count),
        bounds(one), op.getDest(),
        [&](OpBuilder &nested, Location, ValueRange ivs, ValueRange packs) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
          Pack pack = emitPack(ivs, packs[0]);
          SmallVector<OpFoldResult> strides(rank + 1, one);
          return scf::ValueVector{tensor::InsertSliceOp::create(
              b, loc, pack.rows, packs[0], pack.to, pack.sizes, strides)};
        });
    return nest.results.front();
  }

  /// Fetches the rows of the pack after that at `ivs`, unless they are in a
  /// cache, where they may be anywhere.
  void fetchNextRows(ValueRange ivs) {
    if (op.getSource().getDefiningOp<CacheReadOp>() ||
        !type.getElementType().isIntOrFloat())
      return;
    SmallVector<Value> at(ivs);
    AffineExpr i = b.getAffineDimExpr(0), n = b.getAffineSymbolExpr(0);
    OpFoldResult end = affine::makeComposedFoldedAffineMin(
        b, loc,
        AffineMap::get(1, 1, {(i + 2) * rowsPerPack, n}, b.getContext()),
        {ivs.back(), tensor::getMixedSize(b, loc, op.getSource(), rank - 2)});
    at.back() = affine::AffineApplyOp::create(
        b, loc, AffineMap::get(1, 0, (i + 1) * rowsPerPack), ivs.back());
    PrefetchOp::create(b, loc, op.getSource(), at,
                       getValueOrCreateConstantIndexOp(b, loc, end));
  }

  /// A tile of a tensor as a matrix.
  Value slice(Value tensor, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes) {
    auto matrix = RankedTensorType::get(decompose(sizes.take_back(2)),
                                        type.getElementType());
    SmallVector<OpFoldResult> strides(offsets.size(), one);
    return tensor::ExtractSliceOp::create(b, loc, matrix, tensor, offsets,
                                          sizes, strides);
  }

  static SmallVector<int64_t> decompose(ArrayRef<OpFoldResult> sizes) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, shape);
    return shape;
  }

  /// The pack at `ivs` of all.
  Pack emitPack(ValueRange ivs, Value all) {
    SmallVector<OpFoldResult> at = llvm::to_vector_of<OpFoldResult>(ivs);
    OpFoldResult columns = b.getIndexAttr(type.getShape().back());
    OpFoldResult rows = b.getIndexAttr(rowsPerPack);
    SmallVector<OpFoldResult> offsets(at), sizes(rank, one);
    offsets.push_back(zero);
    AffineExpr i = b.getAffineDimExpr(0), n = b.getAffineSymbolExpr(0);
    offsets[rank - 2] = affine::makeComposedFoldedAffineApply(
        b, loc, i * rowsPerPack, at.back());
    sizes[rank - 2] = rows;
    sizes[rank - 1] = columns;
    int64_t length = type.getDimSize(rank - 2);
    bool isRagged = ShapedType::isDynamic(length) || length % rowsPerPack != 0;
    if (isRagged)
      sizes[rank - 2] = affine::makeComposedFoldedAffineMin(
          b, loc,
          AffineMap::get(
              1, 1, {b.getAffineConstantExpr(rowsPerPack), n - i * rowsPerPack},
              b.getContext()),
          {at.back(), tensor::getMixedSize(b, loc, op.getSource(), rank - 2)});
    Pack pack = {Value(), at, SmallVector<OpFoldResult>(rank - 1, one)};
    pack.to.append({zero, zero});
    pack.sizes.append({columns, rows});
    Value destination = slice(all, pack.to, pack.sizes);
    auto transpose = [&](Value matrix) {
      return linalg::TransposeOp::create(b, loc, matrix, destination,
                                         ArrayRef<int64_t>{1, 0})
          ->getResult(0);
    };
    auto read = op.getSource().getDefiningOp<CacheReadOp>();
    if (read && rank == 4) {
      CachedRows cached(read, at[0], at[1], zero);
      pack.rows = transpose(cached.gatherPack(b, loc, offsets[rank - 2],
                                              sizes[rank - 2], rowsPerPack,
                                              type.getElementType()));
      return pack;
    }
    if (!isRagged) {
      pack.rows = transpose(slice(op.getSource(), offsets, sizes));
      return pack;
    }
    // Only the last pack is padded.
    Value numRows = getValueOrCreateConstantIndexOp(b, loc, sizes[rank - 2]);
    Value isWhole =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, numRows,
                              getValueOrCreateConstantIndexOp(b, loc, rows));
    auto choice = scf::IfOp::create(b, loc, destination.getType(), isWhole,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.elseBlock());
    Value part = slice(op.getSource(), offsets, sizes);
    scf::YieldOp::create(b, loc, transpose(pad(part, sizes[rank - 2])));
    b.setInsertionPointToStart(choice.thenBlock());
    sizes[rank - 2] = rows;
    part = slice(op.getSource(), offsets, sizes);
    scf::YieldOp::create(b, loc, transpose(part));
    pack.rows = choice.getResult(0);
    return pack;
  }

  /// A matrix of `rows` rows with all those of a pack.
  Value pad(Value matrix, OpFoldResult rows) {
    int64_t columns = type.getShape().back();
    Value empty = tensor::EmptyOp::create(
        b, loc, ArrayRef<int64_t>{rowsPerPack, columns}, type.getElementType());
    Value padded = linalg::FillOp::create(b, loc, op.getPaddingValue(), empty)
                       .getResult(0);
    return tensor::InsertSliceOp::create(
        b, loc, matrix, padded, ArrayRef<OpFoldResult>{zero, zero},
        ArrayRef<OpFoldResult>{rows, b.getIndexAttr(columns)},
        ArrayRef<OpFoldResult>{one, one});
  }

  linalg::PackOp op;
  OpBuilder &b;
  Location loc;
  OpFoldResult zero, one;
  int64_t rank;
  RankedTensorType type;
  int64_t rowsPerPack;
};

} // namespace

LogicalResult attn::lowerPack(RewriterBase &rewriter, linalg::PackOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (!type || type.getRank() < 2 || type.isDynamicDim(type.getRank() - 1) ||
      op.getInnerDimsPos() != ArrayRef<int64_t>{type.getRank() - 2} ||
      ShapedType::isDynamic(op.getStaticInnerTiles().front()) ||
      !op.getOuterDimsPerm().empty() || !op.getPaddingValue())
    return rewriter.notifyMatchFailure(op, "not packs of padded rows");
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(op, PackLoop(op, rewriter).emit());
  return success();
}

namespace {
struct LowerPacks : attn::impl::LowerPacksBase<LowerPacks> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::PackOp> ops;
    getOperation()->walk([&](linalg::PackOp op) { ops.push_back(op); });
    for (linalg::PackOp op : ops)
      (void)lowerPack(rewriter, op);
  }
};
} // namespace
