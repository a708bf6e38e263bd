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
#include "lib/Sharding/LocalAttention.h"
#include "lib/Sharding/RowExchange.h"

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

static SmallVector<Value> emitLocal(IndexBuilder &b, AttentionOp local,
                                    const AttentionExtents &extents) {
  SmallVector<Value> results = emitLocalAttention(b, local, extents);
  local.erase();
  return results;
}

static SmallVector<Value> gather(IndexBuilder &b, AttentionOp whole,
                                 const AttentionExtents &extents) {
  RowExchange exchange(b, extents);
  AttentionExtents ofAll = exchange.getOfAllKeys();
  auto local = cast<AttentionOp>(b.clone(*whole));
  // Rows that ranks share are many.
  QueryRange{QueryRange::kAny, QueryRange::kAny}.setOn(local);
  local.getKeyMutable().assign(exchange.gatherKeys(whole.getKey()));
  local.getValueMutable().assign(exchange.gatherKeys(whole.getValue()));
  return emitLocal(b, local, ofAll);
}

static SmallVector<Value> exchangeHeads(IndexBuilder &b, AttentionOp whole,
                                        const AttentionExtents &extents) {
  RowExchange exchange(b, extents);
  Value query = whole.getQuery();
  AttentionExtents ofHeads = exchange.getOfHeads(whole.getNumQueryHeads());
  auto local = cast<AttentionOp>(b.clone(*whole));
  local.getQueryMutable().assign(exchange.shareHeads(query, extents.queries));
  local.getKeyMutable().assign(
      exchange.shareHeads(whole.getKey(), extents.keys));
  local.getValueMutable().assign(
      exchange.shareHeads(whole.getValue(), extents.keys));
  SmallVector<Value> results = emitLocal(b, local, ofHeads);
  for (Value &result : results)
    result = exchange.toRows(result, extents.queries, query);
  return results;
}

SmallVector<Value> attn::emitExchange(IndexBuilder &b, AttentionOp whole,
                                      StringRef exchange,
                                      const AttentionExtents &extents) {
  if (extents.numKeyRanks == 1)
    return emitLocalAttention(b, whole, extents);
  if (exchange == kGather)
    return gather(b, whole, extents);
  if (exchange == kUlysses)
    return exchangeHeads(b, whole, extents);
  return emitLocalAttention(b, whole, extents);
}
