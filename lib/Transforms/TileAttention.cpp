//===- TileAttention.cpp - Parallel tiles of batch, head and queries ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TILEATTENTION
#include "lib/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Why an op stays whole, for the reference lowering; empty if it is tiled.
static StringRef findObstacle(AttentionOp op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  if (op.isKnownEmpty())
    return "it is empty";
  if (!op.getElementType().isF32())
    return "its element type is not f32";
  if (op.isPacked())
    return "its sequences are packed";
  if (op.hasDropout())
    return "it has dropout";
  return {};
}

LogicalResult attn::tileAttention(RewriterBase &rewriter, AttentionOp op,
                                  int64_t queries) {
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return rewriter.notifyMatchFailure(op, obstacle);
  scf::SCFTilingOptions options;
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  options.setTileSizes({rewriter.getIndexAttr(1), rewriter.getIndexAttr(1),
                        rewriter.getIndexAttr(queries)});
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled))
    return failure();
  rewriter.replaceOp(op, tiled->replacements);
  return success();
}

namespace {
struct TileAttention : attn::impl::TileAttentionBase<TileAttention> {
  using TileAttentionBase::TileAttentionBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      if (StringRef obstacle = findObstacle(op); !obstacle.empty()) {
        op.emitRemark() << "is lowered by the reference path, because "
                        << obstacle;
        continue;
      }
      // A mask that ends within a tile wastes part of it, more so of a large
      // one; a captured tensor needs room in the cache beside the scores.
      bool isPlain = !op.hasMask() && !op.hasScore();
      int64_t queries = isPlain ? plainQueries : variantQueries;
      if (failed(tileAttention(rewriter, op, queries))) {
        op.emitError("could not be tiled");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
