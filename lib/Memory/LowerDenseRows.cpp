//===- LowerDenseRows.cpp - Copies of rows that are apart -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   %rows = attn.dense_rows %source when(%w)
//
// becomes
//
//   %apart = %w and distance of rows > size of a row
//   %copy = room for the rows, or for none if they are not %apart
//   if %apart
//     all threads copy
//   %rows = %apart ? %copy : %source
//
// The room is there in any case, so that it is freed without asking whose the
// rows are. Several sources are copied by one loop.
//

#include "lib/Memory/Passes.h"

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERDENSEROWS
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Rows that one iteration of the parallel loop copies.
static constexpr int64_t kRowsPerTile = 256;

/// Copies each of `sources` into its target, in parallel.
static void copy(IndexBuilder &b, ValueRange sources, ValueRange targets) {
  SmallVector<OpFoldResult> ends =
      memref::getMixedSizes(b, b.getLoc(), sources.front());
  ends.pop_back();
  SmallVector<OpFoldResult> steps = b.ones(ends.size());
  steps.back() = b.getIndexAttr(kRowsPerTile);
  auto loop = scf::ForallOp::create(b, b.zeros(ends.size()), ends, steps,
                                    /*outputs=*/ValueRange(),
                                    /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<OpFoldResult> at =
      llvm::to_vector_of<OpFoldResult>(loop.getInductionVars());
  AffineExpr first = b.getAffineSymbolExpr(0), end = b.getAffineSymbolExpr(1);
  SmallVector<OpFoldResult> extent = b.ones(ends.size());
  extent.back() =
      b.minimum({b.getAffineConstantExpr(kRowsPerTile), end - first},
                {at.back(), ends.back()});
  at.push_back(b.getIndexAttr(0));
  for (auto [source, target] : llvm::zip_equal(sources, targets)) {
    auto type = cast<MemRefType>(source.getType());
    SmallVector<OpFoldResult> sizes(extent);
    sizes.push_back(b.getIndexAttr(type.getShape().back()));
    auto view = [&](Value of) -> Value {
      return memref::SubViewOp::create(b, of, at, sizes, b.ones(at.size()));
    };
    Value from = view(source);
    linalg::CopyOp::create(b, from, view(target));
  }
}

static void lower(RewriterBase &rewriter, DenseRowsOp op) {
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  Value areApart;
  for (Value source : op.getSources()) {
    auto type = cast<MemRefType>(source.getType());
    auto parts = memref::ExtractStridedMetadataOp::create(b, source);
    Value isApart = b.isLess(type.getShape().back(),
                             parts.getStrides()[type.getRank() - 2]);
    areApart = areApart ? b.bitOr(areApart, isApart) : isApart;
  }
  if (Value when = op.getWhen())
    areApart = b.bitAnd(when, areApart);
  SmallVector<Value> rooms;
  for (Value source : op.getSources()) {
    auto type = cast<MemRefType>(source.getType());
    SmallVector<OpFoldResult> sizes =
        memref::getMixedSizes(b, op.getLoc(), source);
    OpFoldResult &numRows = sizes[type.getRank() - 2];
    numRows = b.select(areApart, numRows, 0);
    rooms.push_back(memref::AllocOp::create(b, sizes, type.getElementType()));
  }
  b.when(areApart, [&] { copy(b, op.getSources(), rooms); });
  SmallVector<Value> rows;
  for (auto [source, room, result] :
       llvm::zip_equal(op.getSources(), rooms, op.getRows())) {
    Value copied = memref::CastOp::create(b, result.getType(), room);
    Value same = memref::CastOp::create(b, result.getType(), source);
    rows.push_back(arith::SelectOp::create(b, areApart, copied, same));
  }
  rewriter.replaceOp(op, rows);
}

namespace {
struct LowerDenseRows : attn::impl::LowerDenseRowsBase<LowerDenseRows> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](DenseRowsOp op) { lower(rewriter, op); });
  }
};
} // namespace
