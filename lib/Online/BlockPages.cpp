//===- BlockPages.cpp - A block of keys in several pages ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/BlockPages.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/OnlineInPairs.h"
#include "lib/Plan/Plan.h"

using namespace mlir;
using namespace mlir::attn;

FailureOr<BlockPages> BlockPages::match(OpBuilder &builder,
                                        OnlineAttentionOp block,
                                        scf::ForOp loop) {
  Value first = block.getFirstKey();
  auto match = [&](Value matrix) -> std::optional<CachedRows> {
    auto rows = CachedRows::match(matrix);
    bool suits = rows &&
                 rows->getRowsOfPack(OnlineAttentionOp::kKeysPerPack) > 0 &&
                 isEqualConstantIntOrValue(rows->getFirst(), first);
    return suits ? rows : std::nullopt;
  };
  auto key = match(block.getKey());
  if (!key)
    return failure();
  BlockPages pages(*key);
  if (block.getPackedValues())
    return pages;
  pages.value = match(block.getValue());
  if (!pages.value)
    return failure();
  PlanAttr plan = getPlan(block);
  if (!loop || !plan || plan.getChunk() == 0)
    return pages;
  IndexBuilder b(block.getLoc(), builder);
  pages.keysAhead = getConstantIntValue(loop.getStep()).value_or(0);
  pages.end = b.add(first, b.sub(loop.getUpperBound(), loop.getInductionVar()));
  return pages;
}

int64_t BlockPages::getRowsAtATime(CachedRows &rows) {
  return rows.getRowsOfPack(OnlineAttentionOp::kKeysPerPack);
}

void BlockPages::fetchValues(IndexBuilder &b, Value from) {
  if (keysAhead == 0)
    return;
  int64_t rows = getRowsAtATime(*value);
  Value values =
      value->extract(b, b.bitAnd(from, b.index(-rows)), b.getIndexAttr(rows))
          .elements;
  PrefetchOp::create(b, values, b.index(0), b.index(rows)).setSpread(true);
}

void BlockPages::fetchNextKeys(IndexBuilder &b, Value first) {
  int64_t rows = getRowsAtATime(key);
  SmallVector<Value> pages;
  for (int64_t row = 0; row < keysAhead; row += rows) {
    Value later = b.add(first, keysAhead + row);
    // Of the last block, its own.
    later = b.select(b.isLess(later, end), later, first);
    pages.push_back(key.extract(b, later, b.getIndexAttr(rows)).elements);
  }
  for (Value page : pages)
    PrefetchOp::create(b, page, b.index(0), b.index(rows)).setSpread(true);
}

Value BlockPages::multiplyKeys(IndexBuilder &b, Value first, OpFoldResult count,
                               Value scores, Product product) {
  OpFoldResult unit = b.getIndexAttr(getRowsAtATime(key));
  return forEachPart(
      b, first, b.add(first, count), unit, scores,
      [&](Value from, OpFoldResult count,
          ValueRange carried) -> SmallVector<Value> {
        Value keys = key.extract(b, from, count).elements;
        fetchValues(b, from);
        SmallVector<OpFoldResult> at = {b.sub(from, first), b.getIndexAttr(0)},
                                  sizes = {count, b.size(scores, 1)};
        Value part = product(keys, b.slice(carried[0], at, sizes));
        return {b.insert(part, carried[0], at, sizes)};
      })[0];
}

Value BlockPages::packValues(IndexBuilder &b, Value first, OpFoldResult count,
                             int64_t maximumPacks, OpFoldResult numPacks) {
  Value all = emitEmptyPacks(b, value->getElementType(), value->getSize(),
                             maximumPacks, numPacks);
  return b.loop(0, numPacks, 1, all, [&](Value number, Value packs) {
    Value row = b.mul(number, OnlineAttentionOp::kKeysPerPack);
    SmallVector<OpFoldResult> at = {number, b.getIndexAttr(0),
                                    b.getIndexAttr(0)},
                              sizes = b.sizes(packs);
    sizes[0] = b.getIndexAttr(1);
    OpFoldResult rows =
        b.min(b.sub(b.index(count), row), OnlineAttentionOp::kKeysPerPack);
    Value pack = value->emitPack(b, b.add(first, row), rows,
                                 b.slice(packs, at, sizes, /*rank=*/2));
    return b.insert(pack, packs, at, sizes);
  });
}

Value BlockPages::addValues(IndexBuilder &b, Value first, OpFoldResult count,
                            Value weights, Value accumulator, Sum sum) {
  OpFoldResult unit = b.getIndexAttr(getRowsAtATime(*value));
  return forEachPart(b, first, b.add(first, count), unit, accumulator,
                     [&](Value from, OpFoldResult count,
                         ValueRange carried) -> SmallVector<Value> {
                       Value values = value->extract(b, from, count).elements;
                       Value part = b.slice(
                           weights, {b.sub(from, first), b.getIndexAttr(0)},
                           {count, b.size(weights, 1)});
                       return {sum(values, part, carried[0])};
                     })[0];
}
