//===- LocalBackward.cpp - The gradients of attention on one rank ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// With the log-sum-exps of all keys, blocks of keys have nothing to do with
// each other: gradients are sums over pairs of a block of queries and one of
// keys. Where both are split along one axis, blocks of keys go around as they
// do forward, and the gradients of each go back to the rank whose it is:
//
//   for each step < ranks
//     keys, values = what is visible of those of rank (self - step)
//     for each pair of pieces of query and of keys with anything visible
//       query gradient, gradients of the block += those of the pair
//     gradients of keys and values += what came of them on rank (self + step)
//
// Or all keys come first, and the gradients of all of them are added on the
// ranks whose they are; or rows become heads, and gradients of these rows
// again.
//
// What is split of one side alone leaves parts of the gradients of the other
// one, which are summed over ranks. So are those of what is whole: of captures,
// and of the sink, which is computed apart from keys.
//

#include "lib/Sharding/LocalBackward.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Reference/TensorCode.h"
#include "lib/Sharding/Annotations.h"
#include "lib/Sharding/BlockForm.h"
#include "lib/Sharding/RingPieces.h"
#include "lib/Sharding/RowExchange.h"
#include "lib/Sharding/VisibleSpans.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits one op.
class LocalBackward {
public:
  LocalBackward(IndexBuilder &builder, AttentionBackwardOp whole,
                const AttentionExtents &extents, const BackwardGroups &groups)
      : b(builder.getLoc(), builder), whole(whole), extents(extents),
        groups(groups), sums(whole.getAccumulationType()) {
    ofRows = {whole.getOutput(), whole.getLogSumExp(),
              whole.getOutputGradient()};
    if (Value gradient = whole.getLogSumExpGradient())
      ofRows.push_back(gradient);
  }

  SmallVector<Value> emit(StringRef exchange) {
    Gradients gradients = compute(exchange);
    SmallVector<Value> results(
        llvm::map_range(ArrayRef(gradients).take_front(3), [&](Value sum) {
          return round(sum, whole.getElementType());
        }));
    if (whole.getOfSink())
      results.push_back(computeOfSink());
    for (auto [part, out] : llvm::zip_equal(ArrayRef(gradients).drop_front(3),
                                            whole.getCaptureGradients())) {
      Value sum = part;
      reduce(sum, {groups.batch, groups.heads, groups.queries,
                   extents.isRing ? RankGroup() : groups.keys});
      results.push_back(round(sum, getElementTypeOrSelf(out)));
    }
    return results;
  }

private:
  /// Of query, key and value, and then of captures.
  using Gradients = SmallVector<Value>;

  /// But for captures, the rank's own.
  Gradients compute(StringRef exchange) {
    if (extents.isRing) {
      if (exchange == kGather)
        return gatherKeys();
      return exchange == kUlysses ? exchangeHeads() : goAround();
    }
    Gradients gradients = computeAlone();
    reduce(gradients[0], {groups.keys});
    reduce(gradients[1], {groups.queries});
    reduce(gradients[2], {groups.queries});
    return gradients;
  }

  /// Sums over the ranks of some groups, one after the other.
  void reduce(Value &part, ArrayRef<RankGroup> over) {
    for (RankGroup group : over) {
      if (group.size == 1)
        continue;
      Value sum = convert(part, getSumType(part));
      part = AllReduceOp::create(b, sum.getType(), sum, b.emptyLike(sum),
                                 group.stride, group.size)
                 .getResult();
    }
  }
  Value convert(Value tensor, Type type) {
    return getElementTypeOrSelf(tensor) == type
               ? tensor
               : b.convertElements(tensor, type);
  }
  Value round(Value sum, Type type) { return convert(sum, type); }

  /// Of what the rank has of queries and of keys, which are one block.
  Gradients computeAlone() {
    RowSpan queries{extents.queries.first(b), extents.queries.count(b)},
        keys{extents.keys.first(b), extents.keys.count(b)};
    return computeBlock(extents, {whole.getQuery(), queries, ofRows},
                        whole.getKey(), whole.getValue(), keys);
  }

  Gradients computeBlock(const AttentionExtents &extents,
                         const BlockOperands &part, Value key, Value value,
                         RowSpan keys) {
    SmallVector<Value> outs = {b.emptyLike(part.query), b.emptyLike(key),
                               b.emptyLike(value)};
    for (Value out : whole.getCaptureGradients())
      outs.push_back(b.emptyLike(out, getSumType(out)));
    return emitBlock(b, whole, extents, part, key, value, keys, outs)
        .getResults();
  }

  /// Of a gradient that ranks add, which is rounded once.
  Type getSumType(Value gradient) {
    auto element = cast<FloatType>(getElementTypeOrSelf(gradient));
    return element.getWidth() < sums.getWidth() ? sums : element;
  }
  Value createZeros(Value like) {
    return b.fill(b.emptyLike(like, getSumType(like)), 0.0);
  }
  /// `sum + part`, in the place of the sum.
  Value add(Value sum, Value part) {
    return b.map({part}, sum, [&](ValueRange e) {
      return b.addF(e[1], b.convert(e[0], e[1].getType()));
    });
  }

  /// All keys come first, and what ranks have computed of them goes back.
  Gradients gatherKeys() {
    RowExchange exchange(b, extents);
    AttentionExtents ofAll = exchange.getOfAllKeys();
    Value key = exchange.gatherKeys(whole.getKey()),
          value = exchange.gatherKeys(whole.getValue());
    RowSpan keys{b.index(0), extents.keys.total};
    Gradients initial = {createZeros(whole.getQuery()), createZeros(key),
                         createZeros(value)};
    for (Value out : whole.getCaptureGradients())
      initial.push_back(createZeros(out));
    Gradients all =
        b.loop(0, extents.getNumSlots(), 1, initial,
               [&](Value slot, ValueRange carried) {
                 const Extent &rows = extents.queries;
                 Value piece = extents.getPiece(b, rows.self, slot);
                 RowSpan ofWhole{rows.first(b, piece), rows.count(b, piece)},
                     own{extents.getSlotBegin(b, rows, rows.self, slot),
                         ofWhole.count};
                 return addAll(carried,
                               computeBlock(ofAll, sliceQueries(own, ofWhole),
                                            key, value, keys),
                               own, keys);
               });
    for (Value &ofKeys : MutableArrayRef(all).slice(1, 2))
      ofKeys = exchange.addKeys(ofKeys, whole.getKey());
    return all;
  }

  /// Rows become heads, and what one machine computes of these, rows again.
  Gradients exchangeHeads() {
    RowExchange exchange(b, extents);
    AttentionExtents ofHeads = exchange.getOfHeads(whole.getNumQueryHeads());
    BlockOperands part{exchange.shareHeads(whole.getQuery(), extents.queries),
                       {b.index(0), extents.queries.total}};
    for (Value rows : ofRows)
      part.ofRows.push_back(exchange.shareHeads(rows, extents.queries));
    Value key = exchange.shareHeads(whole.getKey(), extents.keys),
          value = exchange.shareHeads(whole.getValue(), extents.keys);
    Gradients all = computeBlock(ofHeads, part, key, value,
                                 {b.index(0), extents.keys.total});
    all[0] = exchange.toRows(all[0], extents.queries, whole.getQuery());
    all[1] = exchange.toRows(all[1], extents.keys, whole.getKey());
    all[2] = exchange.toRows(all[2], extents.keys, whole.getValue());
    return all;
  }

  Gradients goAround() {
    int64_t ranks = extents.numKeyRanks;
    Value spans = emitVisibleSpans(b, whole, extents);
    Value key = whole.getKey(), value = whole.getValue();
    Gradients initial = {createZeros(whole.getQuery()), createZeros(key),
                         createZeros(value)};
    for (Value out : whole.getCaptureGradients())
      initial.push_back(createZeros(out));
    return b.loop(0, ranks, initial, [&](Value step, ValueRange gradients) {
      Value from = b.rem(b.sub(b.add(extents.keys.self, ranks), step), ranks);
      RankBlockOp block = createRankBlock(b, step, key, value, spans, extents);
      Gradients carried(gradients);
      carried[1] = createZeros(block.getKeys());
      carried[2] = createZeros(block.getValues());
      carried = visitPieces(b, whole, extents, block, from, carried,
                            [&](ValueRange carried, const PiecePlaces &places) {
                              return addPieces(carried, block, places);
                            });
      SmallVector<Value> ofOwn = {gradients[1], gradients[2]};
      auto returned = RankSumsOp::create(b, ValueRange(ofOwn).getTypes(), step,
                                         carried[1], carried[2], spans, ofOwn,
                                         uint64_t(extents.keyStride));
      carried[1] = returned.getResult(0);
      carried[2] = returned.getResult(1);
      return carried;
    });
  }

  /// Adds what a piece of the queries and one of a block give to each other.
  Gradients addPieces(ValueRange carried, RankBlockOp block,
                      const PiecePlaces &places) {
    return addAll(
        carried,
        computeBlock(extents,
                     sliceQueries(places.queries, places.queriesOfWhole),
                     slice(block.getKeys(), places.keys),
                     slice(block.getValues(), places.keys), places.keysOfWhole),
        places.queries, places.keys);
  }

  Value slice(Value of, RowSpan rows) {
    return b.extract(of, getRowBox(b, of, rows));
  }
  /// Some rows of this rank, which are those of the whole.
  BlockOperands sliceQueries(RowSpan own, RowSpan ofWhole) {
    BlockOperands part{slice(whole.getQuery(), own), ofWhole};
    for (Value rows : ofRows)
      part.ofRows.push_back(slice(rows, own));
    return part;
  }
  /// Sums with what was computed of some rows of queries and some of keys.
  Gradients addAll(ValueRange sums, ArrayRef<Value> parts, RowSpan queries,
                   RowSpan keys) {
    Gradients next;
    for (auto [number, sum, part] : llvm::enumerate(sums, parts)) {
      if (number > 2) {
        next.push_back(add(sum, part));
        continue;
      }
      Box box = getRowBox(b, sum, number == 0 ? queries : keys);
      next.push_back(b.insert(add(b.extract(sum, box), part), sum, box));
    }
    return next;
  }

  /// Each row adds to the gradient of the sink once, whatever keys there are:
  /// that of an attention over none. All ranks have the rows of heads of others
  /// whole.
  Value computeOfSink() {
    Value sink = whole.getSink(), key = whole.getKey(),
          value = whole.getValue();
    RowSpan none{b.index(0), b.index(0)};
    key = b.extract(key, getRowBox(b, key, none));
    value = b.extract(value, getRowBox(b, value, none));
    OpFoldResult heads = b.size(whole.getQuery(), kHeads);
    sink = b.slice(sink, {getAsOpFoldResult(extents.heads.first(b))}, {heads});
    SmallVector<Value> outs = {
        b.emptyLike(whole.getQuery()), b.emptyLike(key), b.emptyLike(value),
        b.emptyLike(sink, getSumType(whole.getSinkGradient()))};
    auto op = AttentionBackwardOp::create(
        b, ValueRange(outs).getTypes(), whole.getQuery(), key, value,
        whole.getOutput(), whole.getLogSumExp(), whole.getOutputGradient(),
        whole.getLogSumExpGradient(), outs, /*scale=*/Value(),
        /*offset=*/Value(), sink, /*cumulative_query=*/Value(),
        /*cumulative_key=*/Value(), /*counts=*/Value(),
        /*dropout_seed=*/Value(), /*dropout_call=*/Value(),
        /*dropout_line=*/Value(), /*dropout_key=*/Value(),
        /*score_captures=*/ValueRange(), /*mask_captures=*/ValueRange(),
        /*static_scale=*/FloatAttr(), /*bottom_right=*/false,
        /*dropout_rate=*/FloatAttr(), /*dropout_heads=*/IntegerAttr(),
        /*of_sink=*/true, /*of_captures=*/ArrayRef<int64_t>());
    Value gradient = op.getResult(3);
    reduce(gradient, {groups.batch, groups.queries});
    if (groups.heads.size > 1) {
      int64_t ranks = int64_t(groups.heads.size);
      Value all = b.empty({b.getIndexAttr(ranks), heads},
                          getElementTypeOrSelf(gradient));
      all = AllGatherOp::create(b, all.getType(), gradient, all,
                                groups.heads.stride)
                .getResult();
      gradient = tensor::CollapseShapeOp::create(
          b, all, ArrayRef<ReassociationIndices>{{0, 1}});
    }
    return round(gradient, getElementTypeOrSelf(whole.getSinkGradient()));
  }

  TensorCode b;
  AttentionBackwardOp whole;
  const AttentionExtents &extents;
  const BackwardGroups &groups;
  FloatType sums;
  /// Outputs, log-sum-exps, and the gradients of these.
  SmallVector<Value> ofRows;
};

} // namespace

SmallVector<Value> attn::emitLocalBackward(IndexBuilder &b,
                                           AttentionBackwardOp whole,
                                           StringRef exchange,
                                           const AttentionExtents &extents,
                                           const BackwardGroups &groups) {
  return LocalBackward(b, whole, extents, groups).emit(exchange);
}
