//===- CacheLowering.cpp - Ops of the cache as loops --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Rows that lie side by side are copied at once: all of a sequence in a
// contiguous cache, one by one in a ring and in pages. Rows that attn.rope
// computes for the cache alone are rotated one by one, where they are stored.
// What is out of its bounds has been refused by checks before.
//
//===----------------------------------------------------------------------===//

#include "dialect/Cache/CacheRows.h"
#include "lib/Layer/RowFusion.h"
#include "lib/Online/StoredElements.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/TensorCode.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What lowering a cache of any kind takes.
template <typename Op> struct CacheLowering : TensorCode {
  CacheLowering(Op op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op) {}

  /// `count` rows of all heads, from row `first` of entry `n` of dimension 0.
  Box box(Value n, Value first, Number count, bool hasElements = true) {
    Box result{{n, 0, first}, {1, op.getNumHeads(), count}};
    if (hasElements) {
      result.offsets.push_back(0);
      result.sizes.push_back(op.getHeadSize());
    }
    return result;
  }

  /// Carries tensors through all rows of a sequence with positions from `begin`
  /// up to `end`. `copy` gets the first position of rows that lie side by side,
  /// and their number.
  using Copy = function_ref<SmallVector<Value>(Value position,
                                               OpFoldResult count, ValueRange)>;
  SmallVector<Value> copyRows(Value begin, Value end, ValueRange carried,
                              Copy copy, bool oneByOne = false) {
    if (!op.isPaged() && !op.getRing() && !oneByOne) // C1
      return copy(begin, sub(end, begin), carried);
    return loop(begin, end, carried, [&](Value position, ValueRange carried) {
      return copy(position, getIndexAttr(1), carried);
    });
  }

  Op op;
};

struct AppendLowering : CacheLowering<CacheAppendOp> {
  AppendLowering(CacheAppendOp op, RewriterBase &rewriter)
      : CacheLowering(op, rewriter), rewriter(rewriter) {
    if (isa_and_nonnull<TilingInterface>(op.getRows().getDefiningOp()))
      producers = getFusableRows(op.getRows());
  }

  SmallVector<Value> emit() {
    auto perSequence = [&](Value n, ValueRange outs) {
      Value begin = loadIndex(op.getLengths(), n), count, entry = n,
            first = index(0);
      if (op.getSequences()) { // C6
        entry = first;
        first = loadIndex(op.getSequences(), n);
        count = sub(loadIndex(op.getSequences(), add(n, 1)), first);
      } else {
        count = op.getCounts() ? loadIndex(op.getCounts(), n)
                               : dim(op.getRows(), 2);
      }
      return copyRows(
          begin, add(begin, count), outs,
          [&](Value position, OpFoldResult count, ValueRange outs) {
            RowPlace place = createRowPlace(*this, getLoc(), op, n, position);
            Box elements = box(entry, add(first, sub(position, begin)), count);
            Value rows = producers.empty()
                             ? extract(op.getRows(), elements)
                             : compute(elements, place, outs.front());
            return store(rows, place, count, outs);
          },
          /*oneByOne=*/!producers.empty());
    };
    return loop(0, size(op.getLengths(), 0), op.getOuts(), perSequence);
  }

  /// One of the rows, in its place in the cache if nothing converts it.
  Value compute(const Box &elements, RowPlace place, Value cache) {
    Type type = getElementTypeOrSelf(op.getRows());
    Value destination = type == op.getCacheType().getElementType()
                            ? extract(cache, box(place.entry, place.row, 1))
                            : Value();
    auto slice =
        extract(op.getRows(), elements).getDefiningOp<tensor::ExtractSliceOp>();
    rewriter.restoreInsertionPoint(saveInsertionPoint());
    FailureOr<Value> row = fuseRows(rewriter, producers, slice, destination);
    // Heads are static, and rows are whole.
    return failed(row) ? Value(slice) : *row;
  }

  /// Stores rows of all heads; `carried` are the cache and the scales.
  SmallVector<Value> store(Value rows, RowPlace place, OpFoldResult count,
                           ValueRange carried) {
    Box elements = box(place.entry, place.row, count);
    Type type = op.getCacheType().getElementType();
    if (!op.isQuantized()) {
      if (getElementTypeOrSelf(rows) != type)
        rows = map(rows, extract(carried[0], elements), [&](ValueRange x) {
          return convert(x[0], type); // C5
        });
      return {insert(rows, carried[0], elements)};
    }
    // C7
    Box perRow = box(place.entry, place.row, count, /*hasElements=*/false);
    FloatType f32 = getF32Type();
    Value largest = findLargest(rows, extract(carried[1], perRow));
    Value scales = map({}, largest,
                       [&](ValueRange x) { return emitRowScale(*this, x[0]); });
    Value quantized =
        map({rows, scales}, extract(carried[0], elements), [&](ValueRange x) {
          return emitQuantized(*this, convert(x[0], f32), x[1]);
        });
    return {insert(quantized, carried[0], elements),
            insert(scales, carried[1], perRow)};
  }

  /// `max|x|` of each row, NaN if it has one, into `destination`.
  Value findLargest(Value rows, Value destination) {
    FloatType f32 = getF32Type();
    auto type = cast<RankedTensorType>(rows.getType());
    AffineMap whole = getMultiDimIdentityMap(type.getRank());
    return generic(rows, fill(destination, 0.0),
                   {whole, whole.getMajorSubMap(type.getRank() - 1)},
                   [&](ValueRange x) -> Value {
                     Value magnitude =
                         math::AbsFOp::create(*this, convert(x[0], f32));
                     return maximumF(x[1], magnitude);
                   });
  }

  RewriterBase &rewriter;
  /// What computes the rows, the last one first; none if others do.
  SmallVector<TilingInterface> producers;
};

struct ReadLowering : CacheLowering<CacheReadOp> {
  using CacheLowering::CacheLowering;

  Value emit() {
    RankedTensorType type = op.getResultType();
    ReifiedRankedShapedTypeDims sizes;
    (void)op.reifyResultShapes(*this, sizes);
    // C12: to other ops than attention, absent rows are zeros.
    Value rows = fill(empty(sizes[0], type.getElementType()), 0.0);
    auto perSequence = [&](Value n, ValueRange rows) {
      StoredPositions stored = createStoredPositions(*this, getLoc(), op, n);
      return copyRows(stored.begin, stored.end, rows,
                      [&](Value position, OpFoldResult count, ValueRange rows) {
                        return copyRun(n, position, count, rows.front());
                      });
    };
    return loop(0, size(op.getLengths(), 0), rows, perSequence).front();
  }

  SmallVector<Value> copyRun(Value n, Value position, OpFoldResult count,
                             Value rows) {
    Box to = box(n, position, count);
    auto [stored, scales] =
        extractStoredRows(*this, getLoc(), op, n, getIndexAttr(0),
                          getIndexAttr(op.getNumHeads()), position, count);
    Type type = op.getResultType().getElementType();
    if (op.isQuantized()) // C11
      stored =
          map({stored, scales}, extract(rows, to), [&](ValueRange x) -> Value {
            Value number = convert(x[0], getF32Type());
            return convert(mulF(number, x[1]), type);
          });
    else if (op.getCacheType().getElementType() != type)
      stored = map(stored, extract(rows, to),
                   [&](ValueRange x) { return convert(x[0], type); });
    return {insert(stored, rows, to)};
  }
};

} // namespace

void attn::populateCacheLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerOp<CacheAppendOp, AppendLowering>,
               LowerOp<CacheReadOp, ReadLowering>>(patterns.getContext());
}
