//===- Exchange.cpp - How a rank comes to the keys of others --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Beside the blocks that go around, which LocalAttention.cpp has:
//
//   gather   keys and values of all ranks, and then one attention
//   ulysses  rows of query, key and value become heads, whose attention is that
//            of one machine; its output becomes rows again (Jacobs et al.,
//            "DeepSpeed Ulysses", arXiv:2309.14509)
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/Exchange.h"
#include "dialect/Plan/QueryRange.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/LocalAttention.h"

using namespace mlir;
using namespace mlir::attn;

StringRef attn::getExchange(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(kExchangeName);
  return name ? name.getValue() : StringRef(kRing);
}

template <typename Op>
LogicalResult attn::verifyExchange(Op op, const Splits &splits) {
  if (!op->hasAttr(kExchangeName))
    return success();
  StringRef exchange = getExchange(op);
  AttentionAxes axes = splits.getAxes(op);
  if (axes.keys == kWhole || axes.queries != axes.keys)
    return op.emitOpError("expected 'attn.exchange' where rows of query and "
                          "key are split along one axis, got query with "
                          "split_axes ")
           << describe(splits.get(op.getQuery())) << " and key with "
           << describe(splits.get(op.getKey()));
  if (isa<AttentionBackwardOp>(op) && exchange != kRing)
    return op.emitOpError("expected 'attn.exchange' to be \"ring\" for "
                          "gradients, got \"")
           << exchange << "\"";
  int64_t ranks = splits.getNumRanks(axes.keys),
          heads = op.getNumKeyValueHeads() / splits.getNumRanks(axes.heads);
  if (exchange == kUlysses && heads % ranks != 0)
    return op.emitOpError("expected key/value heads that ")
           << ranks << " ranks can share evenly for 'attn.exchange' = \""
           << kUlysses << "\", got " << heads;
  return success();
}
template LogicalResult attn::verifyExchange(AttentionOp, const Splits &);
template LogicalResult attn::verifyExchange(AttentionBackwardOp,
                                            const Splits &);

namespace {

/// Emits what ranks exchange for one op.
class Exchange {
public:
  Exchange(IndexBuilder &b, AttentionOp whole, const AttentionExtents &extents)
      : b(b), whole(whole), extents(extents) {}

  SmallVector<Value> gather() {
    AttentionExtents of = extents;
    of.keys = makeWhole(extents.keys);
    of.numKeyRanks = 1;
    of.isRing = false;
    Value bounds = createBounds(extents.keys);
    auto local = cast<AttentionOp>(b.clone(*whole));
    // Rows that ranks share are many.
    QueryRange{QueryRange::kAny, QueryRange::kAny}.setOn(local);
    local.getKeyMutable().assign(reshard(Reshard::RowsToWhole, whole.getKey(),
                                         bounds, getHeads(whole.getKey()),
                                         extents.keys.total));
    local.getValueMutable().assign(
        reshard(Reshard::RowsToWhole, whole.getValue(), bounds,
                getHeads(whole.getValue()), extents.keys.total));
    return emit(local, of);
  }

  SmallVector<Value> exchangeHeads() {
    int64_t ranks = extents.numKeyRanks;
    Value query = whole.getQuery(), key = whole.getKey(),
          value = whole.getValue();
    int64_t heads = getHeads(query) / ranks;
    AttentionExtents of = extents;
    of.queries = makeWhole(extents.queries);
    of.keys = makeWhole(extents.keys);
    // Those of this rank along the axis of heads, if they are split too, are
    // shared.
    of.heads = {extents.heads.total,
                b.index(heads),
                {},
                b.add(b.mul(extents.heads.self, ranks), extents.keys.self)};
    of.numQueryRanks = of.numKeyRanks = 1;
    of.isRing = of.isZigzag = false;
    Value ofQueries = createBounds(extents.queries),
          ofKeys = createBounds(extents.keys);
    auto local = cast<AttentionOp>(b.clone(*whole));
    local.getQueryMutable().assign(reshard(
        Reshard::RowsToHeads, query, ofQueries, heads, extents.queries.total));
    int64_t keyHeads = getHeads(key) / ranks;
    local.getKeyMutable().assign(reshard(Reshard::RowsToHeads, key, ofKeys,
                                         keyHeads, extents.keys.total));
    local.getValueMutable().assign(reshard(Reshard::RowsToHeads, value, ofKeys,
                                           keyHeads, extents.keys.total));
    SmallVector<Value> results = emit(local, of);
    Value rows = b.dim(query, kRows);
    auto goBack = [&](Value result) {
      return reshard(Reshard::HeadsToRows, result, ofQueries, getHeads(query),
                     rows);
    };
    results[0] = goBack(results[0]);
    if (results.size() > 1)
      results[1] = dropLast(goBack(addLast(results[1])));
    return results;
  }

private:
  static int64_t getHeads(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getDimSize(kHeads);
  }
  Extent makeWhole(const Extent &rows) {
    return {rows.total, rows.total, {}, b.index(0)};
  }

  /// Where the pieces of rows begin, and the end.
  Value createBounds(const Extent &rows) {
    if (rows.bounds)
      return rows.bounds;
    int64_t pieces = extents.numKeyRanks * extents.getNumSlots();
    auto bounds = tensor::GenerateOp::create(
        b, RankedTensorType::get({pieces + 1}, b.getIndexType()), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&bounds.getBody(), {}, b.getIndexType(), b.getLoc());
    Value begin = b.mul(bounds.getBody().getArgument(0), rows.share);
    tensor::YieldOp::create(b, begin);
    return bounds;
  }

  Value reshard(Reshard kind, Value part, Value bounds, int64_t heads,
                Value rows) {
    SmallVector<OpFoldResult> sizes = b.sizes(part);
    sizes[kHeads] = b.getIndexAttr(heads);
    sizes[kRows] = getAsOpFoldResult(rows);
    Value init = b.empty(sizes, getElementTypeOrSelf(part));
    return ReshardOp::create(b, init.getType(), kind, part, init, bounds,
                             uint64_t(extents.keyStride),
                             uint64_t(extents.numKeyRanks))
        .getResult();
  }

  /// A log-sum-exp as rows of one element, and the other way round.
  Value addLast(Value lse) {
    SmallVector<OpFoldResult> sizes = b.sizes(lse);
    sizes.push_back(b.getIndexAttr(1));
    SmallVector<int64_t> shape(
        cast<RankedTensorType>(lse.getType()).getShape());
    shape.push_back(1);
    return tensor::ExpandShapeOp::create(
        b, RankedTensorType::get(shape, getElementTypeOrSelf(lse)), lse,
        getGroups(), sizes);
  }
  Value dropLast(Value rows) {
    return tensor::CollapseShapeOp::create(b, rows, getGroups());
  }
  static SmallVector<ReassociationIndices> getGroups() {
    return {{0}, {1}, {2, 3}};
  }

  SmallVector<Value> emit(AttentionOp local, const AttentionExtents &of) {
    SmallVector<Value> results = emitLocalAttention(b, local, of);
    local.erase();
    return results;
  }

  IndexBuilder &b;
  AttentionOp whole;
  const AttentionExtents &extents;
};

} // namespace

SmallVector<Value> attn::emitExchange(IndexBuilder &b, AttentionOp whole,
                                      StringRef exchange,
                                      const AttentionExtents &extents) {
  if (extents.numKeyRanks == 1)
    return emitLocalAttention(b, whole, extents);
  if (exchange == kGather)
    return Exchange(b, whole, extents).gather();
  if (exchange == kUlysses)
    return Exchange(b, whole, extents).exchangeHeads();
  return emitLocalAttention(b, whole, extents);
}
