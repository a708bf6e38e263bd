//===- LowerPacks.cpp - linalg.pack in parallel ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/CachedRows.h"
#include "lib/Online/Passes.h"

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
      : op(op), b(op.getLoc(), builder), zero(b.getIndexAttr(0)),
        rank(op.getSourceRank()),
        type(cast<RankedTensorType>(op.getSource().getType())),
        rowsPerPack(op.getStaticInnerTiles().front()) {}

  Value emit() {
    SmallVector<OpFoldResult> count = b.sizes(op.getDest());
    count.resize(rank - 1);
    if (op->getParentOfType<scf::ForallOp>())
      return emitInOrder(count);
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp loop = b.enterForall(count, op.getDest());
    fetchNextRows(loop.getInductionVars());
    Value packs = loop.getRegionIterArgs()[0];
    Pack pack = emitPack(loop.getInductionVars(), packs);
    b.insertInParallel(loop, pack.rows, packs, pack.to, pack.sizes);
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
    SmallVector<Value> zeros(count.size(), b.index(0)),
        ones(count.size(), b.index(1)), ends = b.indices(count);
    scf::LoopNest nest = scf::buildLoopNest(
        b, b.getLoc(), zeros, ends, ones, op.getDest(),
        [&](OpBuilder &nested, Location, ValueRange ivs, ValueRange packs) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
          Pack pack = emitPack(ivs, packs[0]);
          return scf::ValueVector{
              b.insert(pack.rows, packs[0], pack.to, pack.sizes)};
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
    AffineExpr i = b.getAffineSymbolExpr(0), n = b.getAffineSymbolExpr(1);
    OpFoldResult end = b.minimum({(i + 2) * rowsPerPack, n},
                                 {at.back(), b.size(op.getSource(), rank - 2)});
    at.back() = b.index(b.apply((i + 1) * rowsPerPack, {at.back()}));
    PrefetchOp::create(b, op.getSource(), at, b.index(end));
  }

  /// The pack at `ivs` of all.
  Pack emitPack(ValueRange ivs, Value all) {
    SmallVector<OpFoldResult> at = llvm::to_vector_of<OpFoldResult>(ivs);
    OpFoldResult columns = b.getIndexAttr(type.getShape().back()),
                 rows = b.getIndexAttr(rowsPerPack);
    AffineExpr i = b.getAffineSymbolExpr(0), n = b.getAffineSymbolExpr(1);
    SmallVector<OpFoldResult> offsets(at), sizes = b.ones(rank);
    offsets[rank - 2] = b.apply(i * rowsPerPack, {at.back()});
    offsets.push_back(zero);
    sizes[rank - 2] = rows;
    sizes[rank - 1] = columns;
    int64_t length = type.getDimSize(rank - 2);
    bool isRagged = ShapedType::isDynamic(length) || length % rowsPerPack != 0;
    if (isRagged)
      sizes[rank - 2] =
          b.minimum({b.getAffineConstantExpr(rowsPerPack), n - i * rowsPerPack},
                    {at.back(), b.size(op.getSource(), rank - 2)});
    Pack pack = {Value(), at, b.ones(rank - 1)};
    pack.to.append({zero, zero});
    pack.sizes.append({columns, rows});
    Value destination = b.slice(all, pack.to, pack.sizes, /*rank=*/2);
    auto transpose = [&](Value matrix) {
      return b.transpose(matrix, destination, {1, 0});
    };
    auto slice = [&](OpFoldResult count) {
      sizes[rank - 2] = count;
      return b.slice(op.getSource(), offsets, sizes, /*rank=*/2);
    };
    OpFoldResult count = sizes[rank - 2];
    auto read = op.getSource().getDefiningOp<CacheReadOp>();
    if (read && rank == 4) {
      CachedRows cached(read, at[0], at[1], zero, read.getHeadSize());
      pack.rows = cached.emitPack(b, offsets[rank - 2], count, destination);
    } else if (isRagged) { // Only the last pack is padded.
      pack.rows = b.choose(
          b.isEqual(count, rows), [&] { return transpose(slice(rows)); },
          [&] {
            Value empty = b.empty(ArrayRef<OpFoldResult>{rows, columns},
                                  type.getElementType());
            Value padded = b.fill(empty, op.getPaddingValue());
            return transpose(
                b.insert(slice(count), padded, {zero, zero}, {count, columns}));
          });
    } else {
      pack.rows = transpose(slice(count));
    }
    return pack;
  }

  linalg::PackOp op;
  IndexBuilder b;
  OpFoldResult zero;
  int64_t rank;
  RankedTensorType type;
  int64_t rowsPerPack;
};

} // namespace

/// Replaces a pack of padded rows, whose other dimensions are kept, by a
/// parallel loop that transposes the rows of one pack after the other.
static LogicalResult lowerPack(RewriterBase &rewriter, linalg::PackOp op) {
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
    getOperation()->walk([&](linalg::PackOp op) {
      // Packs of another kind stay.
      (void)lowerPack(rewriter, op);
    });
  }
};
} // namespace
