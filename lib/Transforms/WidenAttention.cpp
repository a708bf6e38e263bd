//===- WidenAttention.cpp - f16 and bf16 attention in f32 -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_WIDENATTENTION
#include "lib/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Rows that one iteration of the parallel loop converts.
constexpr int64_t kRowsPerTile = 256;

/// Converts a tensor (B, H, S, D) into the element type of `init`, in parallel.
FailureOr<Value> convert(RewriterBase &rewriter, Location loc, Value source,
                         Value init) {
  Type to = cast<RankedTensorType>(init.getType()).getElementType();
  AffineMap identity = rewriter.getMultiDimIdentityMap(4);
  SmallVector<utils::IteratorType> parallel(4, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      rewriter, loc, init.getType(), source, init, {identity, identity},
      parallel, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value from = arguments[0], converted;
        if (from.getType().getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
          converted = arith::ExtFOp::create(b, loc, to, from);
        else
          converted = arith::TruncFOp::create(b, loc, to, from);
        linalg::YieldOp::create(b, loc, converted);
      });
  scf::SCFTilingOptions options;
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  options.setTileSizes({rewriter.getIndexAttr(1), rewriter.getIndexAttr(1),
                        rewriter.getIndexAttr(kRowsPerTile),
                        rewriter.getIndexAttr(0)});
  OpBuilder::InsertionGuard guard(rewriter);
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(generic.getOperation()), options);
  if (failed(tiled))
    return failure();
  rewriter.replaceOp(generic, tiled->replacements);
  return tiled->replacements.front();
}

FailureOr<Value> widen(RewriterBase &rewriter, Location loc, Value source,
                       Type type) {
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, source), type);
  return convert(rewriter, loc, source, empty);
}

} // namespace

bool attn::canComputeInPairs(AttentionOp op) {
  int64_t headSize = op.getQueryType().getDimSize(3);
  return op.getElementType().isBF16() && !op.hasDropout() &&
         headSize % 2 == 0 && headSize > 0;
}

LogicalResult attn::widenAttention(RewriterBase &rewriter, AttentionOp op) {
  Location loc = op.getLoc();
  FloatType wide = op.getAccumulationType();
  rewriter.setInsertionPoint(op);
  FailureOr<Value> query = widen(rewriter, loc, op.getQuery(), wide);
  FailureOr<Value> key = widen(rewriter, loc, op.getKey(), wide);
  FailureOr<Value> value = widen(rewriter, loc, op.getValue(), wide);
  if (failed(query) || failed(key) || failed(value))
    return failure();
  Value narrow = op.getOutput();
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, narrow), wide);
  SmallVector<Value> outs(op.getOuts());
  outs.front() = empty;
  auto widened = cast<AttentionOp>(rewriter.clone(*op));
  widened.getQueryMutable().assign(*query);
  widened.getKeyMutable().assign(*key);
  widened.getValueMutable().assign(*value);
  widened.getOutsMutable().assign(outs);
  widened->getResult(0).setType(cast<RankedTensorType>(empty.getType()));
  FailureOr<Value> output =
      convert(rewriter, loc, widened->getResult(0), narrow);
  if (failed(output))
    return failure();
  SmallVector<Value> results(widened.getResults());
  results.front() = *output;
  rewriter.replaceOp(op, results);
  return success();
}

namespace {
struct WidenAttention : attn::impl::WidenAttentionBase<WidenAttention> {
  using WidenAttentionBase::WidenAttentionBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) {
      if (op->getNumResults() != 0 && !op.isKnownEmpty() &&
          op.getElementType() != op.getAccumulationType() &&
          !(keepBF16 && canComputeInPairs(op)))
        ops.push_back(op);
    });
    for (AttentionOp op : ops)
      if (failed(widenAttention(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
