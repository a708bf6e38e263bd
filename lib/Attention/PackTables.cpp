//===- PackTables.cpp - Captured tensors as vectors gather from them ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   score(%s, %b, %h, %p, %j) captures(%t = %table : tensor<32x8xbf16>)
//     %x = tensor.extract %t[%bucket, %h]
//
// where the bucket differs between queries, becomes
//
//   %words = linalg.generic, which extends the elements of %table to f32
//   score(%s, %b, %h, %p, %j) captures(%t = %words : tensor<32x8xf32>)
//     %y = tensor.extract %t[%bucket, %h]
//     %x = arith.truncf %y : f32 to bf16
//
// Vectors gather words of 32 bits; and of a tensor of known size without gaps
// between its rows, they count with 32 bits too.
//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"
#include "lib/Regions/RegionDependence.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PACKTABLES
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The word that holds an element; null if there is none.
Type getWord(Type type) {
  Builder b(type.getContext());
  if (type.isF32() || type.isF16() || type.isBF16())
    return b.getF32Type();
  if (type.isInteger() && type.getIntOrFloatBitWidth() <= 32)
    return b.getI32Type();
  return {};
}

/// Whether a table is copied in less time than is spent on loads from it: it is
/// small, or has fewer elements than there are pairs of queries and keys.
bool pays(AttentionOp op, RankedTensorType table) {
  constexpr int64_t kSmall = 1 << 12;
  if (!table.hasStaticShape())
    return false;
  if (table.getNumElements() <= kSmall)
    return true;
  ArrayRef<int64_t> query = op.getQueryType().getShape();
  int64_t pairs = 1;
  for (int64_t size :
       {query[0], query[1], query[2], op.getKeyType().getDimSize(2)})
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(pairs, size, pairs))
      return false;
  return table.getNumElements() <= pairs;
}

/// Whether lanes, which are queries, load any elements of a table, so that it
/// matters how these lie.
bool isLookup(tensor::ExtractOp load, const RegionDependence &dependence) {
  if (!dependence.onRow(load) || !dependence.onLane(load))
    return false;
  Type element = load.getType();
  bool isWord = getWord(element) == element;
  auto indices = llvm::enumerate(load.getIndices());
  return llvm::any_of(
      indices, [&, last = load.getIndices().size() - 1](const auto &entry) {
        auto [dim, index] = entry;
        if (!dependence.onLane(index))
          return false;
        std::optional<RegionDependence::Linear> linear =
            dependence.getLinear(index);
        // Those that move with the query are rows that are transposed, or
        // vectors.
        bool moves = linear && linear->position == 1 && linear->key == 0;
        return !moves && (!isWord || dim != last);
      });
}

/// Emits the elements of a table in words, right after the table.
Value emitWords(RewriterBase &rewriter, Value table) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfterValue(table);
  Location loc = table.getLoc();
  auto type = cast<RankedTensorType>(table.getType());
  Type word = getWord(type.getElementType());
  if (type.getElementType() == word)
    return bufferization::AllocTensorOp::create(
        rewriter, loc, type, /*dynamicSizes=*/ValueRange(), /*copy=*/table);
  IndexBuilder b(loc, rewriter);
  AffineMap map = b.getMultiDimIdentityMap(unsigned(type.getRank()));
  return b.generic(table, b.empty(type.getShape(), word), {map, map},
                   [&](ValueRange e) { return b.convert(e[0], word); });
}

/// Has a load read from `words`.
void loadWord(RewriterBase &rewriter, tensor::ExtractOp load, Value words) {
  Location loc = load.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(load);
  Value word =
      tensor::ExtractOp::create(rewriter, loc, words, load.getIndices());
  Type type = load.getType();
  // What is extended to a word is one already.
  for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
    if (isa<arith::ExtFOp, arith::ExtSIOp>(user) &&
        user->getResult(0).getType() == word.getType())
      rewriter.replaceOp(user, word);
  rewriter.replaceOp(load, convertScalarToDtype(rewriter, loc, word, type,
                                                /*isUnsignedCast=*/false));
}

void packTables(RewriterBase &rewriter, AttentionOp op, Region &region,
                MutableOperandRange captures, bool isScore) {
  if (region.empty())
    return;
  SmallVector<tensor::ExtractOp> lookups;
  RegionDependence dependence(region, isScore);
  for (auto load : region.front().getOps<tensor::ExtractOp>()) {
    auto argument = dyn_cast<BlockArgument>(load.getTensor());
    if (isLookup(load, dependence) && argument &&
        argument.getOwner() == &region.front() &&
        !op.getCapture(argument).getDefiningOp<WithBlockRangeOp>() &&
        getWord(load.getType()) && pays(op, load.getTensor().getType()))
      lookups.push_back(load);
  }
  DenseMap<Value, Value> packed;
  for (tensor::ExtractOp load : lookups) {
    auto argument = cast<BlockArgument>(load.getTensor());
    Value &words = packed[argument];
    if (!words) {
      Value emitted = emitWords(rewriter, op.getCapture(argument));
      rewriter.modifyOpInPlace(op, [&] {
        captures.append(emitted);
        words = region.addArgument(emitted.getType(), load.getLoc());
      });
    }
    loadWord(rewriter, load, words);
  }
}

struct PackTables : attn::impl::PackTablesBase<PackTables> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionOp op) {
      if (!getPlan(op))
        return;
      packTables(rewriter, op, op.getScore(), op.getScoreCapturesMutable(),
                 /*isScore=*/true);
      packTables(rewriter, op, op.getMask(), op.getMaskCapturesMutable(),
                 /*isScore=*/false);
    });
  }
};

} // namespace
