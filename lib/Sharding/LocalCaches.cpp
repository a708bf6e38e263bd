//===- LocalCaches.cpp - Caches of which a rank has some positions --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Positions follow each other from rank to rank. Of a contiguous cache a rank
// has some rows; of a paged one it has some columns of the table and some
// pages, which the table numbers through all ranks. With `first` and `count` of
// its positions, of a sequence of `length` rows to which `n` are added:
//
//   its length      clamp(length - first, 0, count)
//   its new rows    from clamp(first - length, 0, n) on, as many as its length
//                   grows by
//   its keys        those of the whole from min(first, size) on
//
// All that has to be checked of the whole is checked before anything is
// written.
//

#include "lib/Sharding/LocalCaches.h"
#include "dialect/Shared/RuntimeChecks.h"
#include "lib/Reference/TensorCode.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

template <typename Op> class LocalCache {
public:
  LocalCache(Op op, IndexBuilder &builder, const Splits &splits,
             LocalSizes &sizes)
      : op(op), b(op.getLoc(), builder), splits(splits), sizes(sizes) {
    // As early as all of them are known: checks come before what is written.
    SmallVector<Value> known = {op.getLengths()};
    if (op.isPaged())
      known.push_back(op.getTable());
    if constexpr (std::is_same_v<Op, CacheAppendOp>) {
      known.push_back(getFirstDestination(op.getRows()));
      if (op.getCounts())
        known.push_back(op.getCounts());
    } else if (op.getSize()) {
      known.push_back(op.getSize());
    }
    sizes.goAfter(b, known);
  }

  void makeLocal() {
    setPositions();
    if constexpr (std::is_same_v<Op, CacheAppendOp>)
      append();
    else
      read();
    if (op.isPaged())
      op.getTableMutable().assign(createTable());
  }

  Extent createKeys() {
    setPositions();
    return getKeys();
  }

private:
  void setPositions() {
    positions = op.isPaged() ? sizes.get(b, op.getTable(), 1)
                             : sizes.get(b, op.getCache(), kRows);
    if (op.isPaged()) {
      Value pageSize = b.dim(op.getCache(), kRows);
      positions.total = b.mul(positions.total, pageSize);
      if (positions.share)
        positions.share = b.mul(positions.share, pageSize);
      else
        positions.bounds = createBounds([&, ofPages = positions](Value rank) {
          return b.mul(ofPages.first(b, rank), pageSize);
        });
    }
    first = positions.first(b);
    count = positions.count(b);
  }

  /// Where the part of each rank begins, and the end.
  Value createBounds(function_ref<Value(Value)> begin) {
    int64_t ranks = splits.getNumRanks(splits.getPositionsAxis(op));
    auto bounds = tensor::GenerateOp::create(
        b, RankedTensorType::get({ranks + 1}, b.getIndexType()), ValueRange());
    enterBody(bounds.getBody(), begin);
    return bounds;
  }
  void enterBody(Region &body, function_ref<Value(Value)> element) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&body, {}, b.getIndexType(), b.getLoc());
    tensor::YieldOp::create(b, element(body.getArgument(0)));
  }

  /// Numbers of sequences, of the type of the lengths.
  Value createNumbers(function_ref<Value(Value)> number) {
    auto type = cast<RankedTensorType>(op.getLengths().getType());
    SmallVector<Value> dynamic;
    if (type.isDynamicDim(0))
      dynamic.push_back(b.dim(op.getLengths(), 0));
    auto numbers = tensor::GenerateOp::create(b, type, dynamic);
    enterBody(numbers.getBody(), [&](Value n) -> Value {
      return arith::IndexCastOp::create(b, type.getElementType(), number(n));
    });
    return numbers;
  }

  Value clamp(Value value, Value most) { return b.min(b.max(value, 0), most); }
  /// How many of the first `length` positions are the rank's.
  Value getPart(Value length) { return clamp(b.sub(length, first), count); }

  /// Errors where `isRight` does not hold of a sequence.
  void requireAll(function_ref<Value(Value)> isRight, StringRef expected) {
    Value areRight = b.loop(0, b.dim(op.getLengths(), 0), 1, b.boolean(true),
                            [&](Value n, Value areRight) {
                              return b.bitAnd(areRight, isRight(n));
                            });
    cf::AssertOp::create(b, areRight,
                         ("'" + op->getName().getStringRef() +
                          "' op expected " + expected +
                          ", in the parts of all ranks")
                             .str());
  }
  /// Of numbers that are at least 0, or wrong.
  Value isUpTo(Value number, Value most) {
    return b.compare(arith::CmpIPredicate::ule, number, most);
  }

  void read() {
    requireAll(
        [&](Value n) {
          return isUpTo(b.loadIndex(op.getLengths(), n), positions.total);
        },
        "lengths of rows that the cache has room for");
    Extent keys = getKeys();
    op.getLengthsMutable().assign(
        createNumbers([&, lengths = op.getLengths()](Value n) {
          return getPart(b.loadIndex(lengths, n));
        }));
    if (op.getSize())
      op.getSizeMutable().assign(keys.count(b));
  }

  /// The last rank has all rows behind its positions, too, which are absent.
  Extent getKeys() {
    if (!op.getSize())
      return sizes.get(b, op.getResult(), kRows);
    int64_t ranks = splits.getNumRanks(splits.getPositionsAxis(op));
    Value size = op.getSize();
    Value bounds = createBounds([&](Value rank) {
      Value isEnd = b.isEqual(rank, ranks);
      return b.select(isEnd, size, b.min(positions.first(b, rank), size));
    });
    return {size, {}, bounds, positions.self};
  }

  void append() {
    Value lengths = op.getLengths(), counts = op.getCounts(),
          numRows = createFirstDim(b, b.getLoc(), op.getRows(), kRows);
    auto countOf = [&](Value n) {
      return counts ? b.loadIndex(counts, n) : numRows;
    };
    requireAll(
        [&](Value n) {
          Value length = b.loadIndex(lengths, n), added = countOf(n);
          Value areNumbers =
              b.bitAnd(isUpTo(length, positions.total), isUpTo(added, numRows));
          return b.bitAnd(areNumbers,
                          isUpTo(b.add(length, added), positions.total));
        },
        "lengths and counts of rows that the cache has room for");
    Value own = createNumbers(
        [&](Value n) { return getPart(b.loadIndex(lengths, n)); });
    Value added = createNumbers([&](Value n) {
      Value length = b.loadIndex(lengths, n);
      return b.sub(getPart(b.add(length, countOf(n))), getPart(length));
    });
    op.getLengthsMutable().assign(own);
    op.getCountsMutable().assign(added);
    // Of one row, the first one is the rank's or nothing is.
    if (cast<ShapedType>(op.getRows().getType()).getDimSize(kRows) == 1)
      return;
    Value firstRows = createNumbers([&](Value n) {
      return clamp(b.sub(first, b.loadIndex(lengths, n)), countOf(n));
    });
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    op.getRowsMutable().assign(moveRows(firstRows, added));
  }

  /// The new rows of a rank as the first ones.
  Value moveRows(Value firstRows, Value counts) {
    Value rows = op.getRows();
    return b.loop(0, b.dim(rows, kBatch), 1, b.emptyLike(rows),
                  [&](Value n, Value moved) {
                    SmallVector<OpFoldResult> sizes = b.sizes(rows),
                                              from = b.zeros(4), to = from;
                    from[kBatch] = to[kBatch] = n;
                    from[kRows] = b.loadIndex(firstRows, n);
                    sizes[kBatch] = b.getIndexAttr(1);
                    sizes[kRows] = b.loadIndex(counts, n);
                    return b.insert(b.slice(rows, from, sizes), moved, to,
                                    sizes);
                  });
  }

  /// Pages by their numbers on this rank. Those of others have none.
  Value createTable() {
    Value table = op.getTable();
    Type integer = getElementTypeOrSelf(table);
    Value firstPage = arith::IndexCastOp::create(
        b, integer, sizes.get(b, op.getCache(), 0).first(b));
    Value none = arith::ConstantOp::create(b, b.getIntegerAttr(integer, -1));
    return b.map({table}, b.emptyLike(table), [&](ValueRange e) -> Value {
      Value isBefore =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, e[0], firstPage);
      Value number = arith::SubIOp::create(b, e[0], firstPage);
      return arith::SelectOp::create(b, isBefore, none, number);
    });
  }

  Op op;
  TensorCode b;
  const Splits &splits;
  LocalSizes &sizes;
  /// Of the cache, of all ranks.
  Extent positions;
  /// The positions of this rank.
  Value first, count;
};

} // namespace

Extent attn::createLocalKeys(IndexBuilder &b, CacheReadOp read,
                             const Splits &splits, LocalSizes &sizes) {
  return LocalCache<CacheReadOp>(read, b, splits, sizes).createKeys();
}

void attn::makePositionsLocal(CacheAppendOp op, IndexBuilder &b,
                              const Splits &splits, LocalSizes &sizes) {
  LocalCache<CacheAppendOp>(op, b, splits, sizes).makeLocal();
}

void attn::makePositionsLocal(CacheReadOp op, IndexBuilder &b,
                              const Splits &splits, LocalSizes &sizes) {
  LocalCache<CacheReadOp>(op, b, splits, sizes).makeLocal();
}
