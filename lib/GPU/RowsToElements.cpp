//===- RowsToElements.cpp - Rows beside attention, by element -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Cache/CacheRows.h"
#include "lib/GPU/ParallelElements.h"
#include "lib/GPU/Passes.h"
#include "lib/Online/StoredElements.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ROWSTOELEMENTS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// attn.rope
//===----------------------------------------------------------------------===//

/// The position of a row (R4).
static Value emitPosition(IndexBuilder &b, RopeOp op, Value n, Value i) {
  if (Value positions = op.getPositions())
    return b.loadIndex(positions, {n, i});
  Value offset = op.getOffset();
  if (!offset)
    return i;
  offset = isa<RankedTensorType>(offset.getType()) ? b.loadIndex(offset, n)
                                                   : b.toIndex(offset);
  return b.add(offset, i);
}

/// `first ? x * c - y * s : x * c + y * s`, of an element `x` and the other one
/// of its pair.
static Value emitTurned(IndexBuilder &b, RopeOp op, ArrayRef<Value> at) {
  int64_t pairs = op.getNumPairs();
  Value d = at[3], k, other, isSecond;
  if (op.getPairing() == RopePairing::HalfSplit) { // R3
    isSecond = b.isAtMost(pairs, d);
    k = b.select(isSecond, b.sub(d, pairs), d);
    other = b.select(isSecond, k, b.add(d, pairs));
  } else {
    isSecond = b.isEqual(b.rem(d, 2), 1);
    k = b.div(d, 2);
    other = b.select(isSecond, b.sub(d, 1), b.add(d, 1));
  }
  Type type = op.getInputType().getElementType(), f32 = b.getF32Type();
  auto load = [&](Value tensor, ValueRange indices) {
    return b.convert(b.load(tensor, indices), f32);
  };
  Value position = emitPosition(b, op, at[0], at[2]);
  Value along =
      b.mulF(load(op.getInput(), at), load(op.getCosine(), {position, k}));
  Value across = arith::MulFOp::create(
      b, load(op.getInput(), {at[0], at[1], at[2], other}),
      load(op.getSine(), {position, k}));
  Value turned = arith::SelectOp::create(b, isSecond, b.addF(along, across),
                                         b.subF(along, across));
  return b.convert(turned, type); // R1
}

static Value lower(IndexBuilder &b, RopeOp op) {
  int64_t rotary = 2 * op.getNumPairs();
  return emitEachElement(b, op.getOutput(), [&](ArrayRef<Value> at) -> Value {
    auto turn = [&] { return emitTurned(b, op, at); };
    if (rotary == op.getInputType().getDimSize(3))
      return turn();
    return b.choose(b.isLess(at[3], rotary), turn, [&]() -> Value { // R2
      return b.load(op.getInput(), at);
    });
  });
}

//===----------------------------------------------------------------------===//
// attn.cache_append
//===----------------------------------------------------------------------===//

namespace {
class AppendLowering {
public:
  AppendLowering(IndexBuilder &builder, CacheAppendOp op)
      : b(builder), op(op), sizes(b.sizes(op.getRows())),
        stored(op.getCacheType().getElementType()) {}

  SmallVector<Value> emit() {
    using Indices = ArrayRef<Value>;
    if (!op.isQuantized())
      return {emitNew(op.getCache(), /*rank=*/4, [&](Indices at, Indices) {
        return b.convert(load(at), stored); // C5
      })};
    // C7
    Value scales =
        emitNew(op.getScales(), /*rank=*/3, [&](Indices at, Indices) {
          return emitRowScale(b, emitLargest(at));
        });
    Value cache =
        emitNew(op.getCache(), /*rank=*/4, [&](Indices at, Indices place) {
          Value scale = b.load(scales, place.take_front(3));
          return emitQuantized(b, b.convert(load(at), b.getF32Type()), scale);
        });
    return {cache, scales};
  }

private:
  Value load(ValueRange at) { return b.load(op.getRows(), at); }

  /// One of `rows`: its sequence, which of the new rows of that it is, and
  /// whether it is one.
  struct NewRow {
    Value sequence, number, isNew;
  };

  NewRow findRow(Value entry, Value row) {
    if (Value counts = op.getCounts())
      return {entry, row, b.isLess(row, b.loadIndex(counts, entry))};
    Value begins = op.getSequences();
    if (!begins)
      return {entry, row, b.boolean(true)};
    // C6: the last sequence that begins there or before it, if there is one.
    // One more begins where the last one ends.
    Value numSequences = b.index(b.size(op.getLengths(), 0));
    Value n = b.findLast(b.add(numSequences, 1), [&](Value n) {
      return b.isAtMost(b.loadIndex(begins, n), row);
    });
    Value begin = b.loadIndex(begins, n);
    return {n, b.sub(row, begin),
            b.bitAnd(b.isAtMost(begin, row), b.isLess(n, numSequences))};
  }

  /// Stores what `element` emits for each element of the new rows, or for each
  /// row, which has the first `rank` indices, and for its place. Others are in
  /// no place of their own, nothing is read or written there.
  Value emitNew(Value init, int64_t rank,
                function_ref<Value(ArrayRef<Value>, ArrayRef<Value>)> element) {
    Value isNew; // Of the iteration whose place was emitted last.
    auto place = [&](ArrayRef<Value> at) {
      NewRow row = findRow(at[0], at[2]);
      isNew = row.isNew;
      SmallVector<Value> zeros(2, b.index(0));
      SmallVector<Value> found = b.choose(
          isNew,
          [&]() -> SmallVector<Value> {
            Value length = b.loadIndex(op.getLengths(), row.sequence);
            RowPlace place = createRowPlace(b, b.getLoc(), op, row.sequence,
                                            b.add(length, row.number));
            return {place.entry, place.row};
          },
          [&] { return zeros; });
      SmallVector<Value> indices = {found[0], at[1], found[1]};
      llvm::append_range(indices, at.drop_front(3));
      return indices;
    };
    return emitEachElement(
        b, ArrayRef(sizes).take_front(rank), init, place,
        [&](ArrayRef<Value> at, ArrayRef<Value> place, Value slice) {
          return b.choose(
              isNew,
              [&] { return insertElement(b, element(at, place), slice); },
              [&] { return slice; });
        });
  }

  /// `max|x|` of a row, NaN if it has one.
  Value emitLargest(ArrayRef<Value> at) {
    Type f32 = b.getF32Type();
    return b.loop(0, op.getHeadSize(), 1, b.zero(f32),
                  [&](Value d, Value largest) -> Value {
                    Value x = b.convert(load({at[0], at[1], at[2], d}), f32);
                    return b.maximumF(largest, math::AbsFOp::create(b, x));
                  });
  }

  IndexBuilder &b;
  CacheAppendOp op;
  SmallVector<OpFoldResult> sizes; ///< Of rows.
  Type stored;
};
} // namespace

namespace {
struct RowsToElements : attn::impl::RowsToElementsBase<RowsToElements> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      if (op->getNumResults() == 0)
        return;
      rewriter.setInsertionPoint(op);
      IndexBuilder b(op->getLoc(), rewriter);
      if (auto rope = dyn_cast<RopeOp>(op))
        rewriter.replaceOp(op, lower(b, rope));
      else if (auto append = dyn_cast<CacheAppendOp>(op))
        rewriter.replaceOp(op, AppendLowering(b, append).emit());
    });
  }
};
} // namespace
