//===- MultiTokenLowering.cpp - attn.multi_token_attention to loops -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The reference lowering, as the op's documentation writes it, on a strip
// (Hq, rows, Skv) of scores: a few rows of the output, and before them the rows
// that their convolutions see. Memory is linear in the key length so.
//
//   for every batch entry n
//     for every tile of output rows
//       scores     = mask ? score(scale * dot(query, key)) : -inf
//       weights    = hide(stages before(hide(scores, 0)), -inf)
//       weights    = softmax of each row of weights
//       weights    = stages after(weights)
//       output     = sum of dropout(weights) * value
//
// where every stage hides what it gives at positions whose score is -inf.
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Lowerings.h"
#include "lib/Reference/MultiTokenCode.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class MultiTokenLowering : MultiTokenCode {
public:
  MultiTokenLowering(MultiTokenAttentionOp op, OpBuilder &builder)
      : MultiTokenCode(op, builder) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    prepare();
    return loopOverTiles(op.getOuts(), [&](const Tile &tile, ValueRange outs) {
      return emitTile(tile, outs);
    });
  }

private:
  /// Returns the results with the rows of a tile written.
  SmallVector<Value> emitTile(const Tile &tile, ValueRange outs) {
    Value scores = emitScores(tile);
    Value weights =
        emitStages(before, hide(scores, scores, 0.0), scores).result;
    weights = hide(weights, scores, -kInfinity); // T5
    auto [probabilities, logSumExp] = emitSoftmax(tile, weights);
    weights = emitStages(after, probabilities, scores).result;
    weights = emitDropouts(tile, weights);
    SmallVector<Value> results(outs);
    results[0] = emitOutput(tile, weights, scores, results[0]);
    if (op.getLogSumExp())
      results[1] = insert(
          extract(logSumExp, {{0, tile.before}, {numHeads, tile.count}}),
          results[1], {{tile.batch, 0, tile.begin}, {1, numHeads, tile.count}});
    return results;
  }

  /// `output` with the rows of the tile written.
  Value emitOutput(const Tile &tile, Value weights, Value scores,
                   Value output) {
    int64_t size = op.getValueType().getDimSize(3);
    return loop(0, numHeads, output, [&](Value head, Value output) {
      Box rows{{head, tile.before, 0}, {1, tile.count, numKeys}};
      Value value = extractRows(op.getValue(), tile.batch, emitKeyHead(head),
                                index(0), numKeys);
      // T5: whatever a value row of the hidden keys holds.
      AffineExpr r, d, j;
      bindDims(getContext(), r, d, j);
      Value sums = addVisible(
          extract(scores, rows, 2), extract(weights, rows, 2), value, Value(),
          fill(empty({tile.count, size}, accumulation), 0.0),
          {{r, j}, {r, j}, {j, d}, {r, d}});
      return insert(
          convertElements(sums, op.getElementType()), output,
          {{tile.batch, head, tile.begin, 0}, {1, 1, tile.count, size}});
    });
  }
};

} // namespace

void attn::populateMultiTokenLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerOp<MultiTokenAttentionOp, MultiTokenLowering>>(
      patterns.getContext());
}
