//===- CheckCacheReads.cpp - Masks that keep absent rows ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The keys that the mask may keep at all are one range for each sequence and
// head, from the mask analysis. Where it reaches beyond the rows that are
// stored, the mask is evaluated there, position by position. With the masks
// that belong to a cache (causal, a sliding window, a padding of keys) it does
// not.
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/CheckCacheReads.h"
#include "dialect/Cache/CacheRows.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/RuntimeChecks.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

using Describe = function_ref<std::string(Operation *, StringRef)>;

/// Emits the check of one attention and one read.
template <typename Op> class ReadCheck {
public:
  ReadCheck(OpBuilder &builder, Op op, CacheReadOp read, StringRef operand,
            Describe describe)
      : b(op.getLoc(), builder), loc(op.getLoc()), op(op), read(read),
        message(describe(op, ("operand '" + operand +
                              "': the mask keeps a row that is absent from the "
                              "cache")
                                 .str())) {}

  void emit() {
    zero = b.index(0);
    one = b.index(1);
    Value numSequences = dim(read.getLengths(), 0);
    Value numRows = dim(op.getOutput(), 2);
    firstQuery = emitFirstQuery(numRows);
    // Without rows, no mask is asked.
    Value isEmpty = b.isEqual(numRows, zero);
    numSequences = b.select(isEmpty, zero, numSequences);
    // Heads differ only in masks that look at them.
    bool dependsOnHead =
        op.hasMask() && !op.getMask().getArgument(1).use_empty();
    Value numHeads = b.index(dependsOnHead ? op.getNumQueryHeads() : 1);
    loop(zero, numSequences, [&](Value n) {
      numQueries = emitNumQueries(n);
      Value some = b.select(b.isEqual(numQueries, zero), zero, numHeads);
      loop(zero, some, [&](Value head) { check(n, head); });
    });
  }

private:
  /// Whether sequences have parts of one key and value.
  bool arePackedKeys() {
    if constexpr (std::is_same_v<Op, AttentionOp>)
      return bool(op.getCumulativeKey());
    return false;
  }

  Value emitNumQueries(Value n) {
    if constexpr (std::is_same_v<Op, AttentionOp>)
      return op.createNumQueries(b, n);
    return dim(op.getQuery(), 2);
  }

  /// The first row of the query that some row of the output depends on.
  Value emitFirstQuery(Value numRows) {
    if constexpr (std::is_same_v<Op, MultiTokenAttentionOp>) { // T2
      Value past = b.sub(dim(op.getQuery(), 2), numRows);
      past = b.sub(past, op.getHalo());
      return b.max(past, zero);
    }
    return zero;
  }

  void check(Value n, Value head) {
    Value size = dim(read.getResult(), 2);
    auto [begin, end] = createStoredPositions(b, loc, read, n);
    if (arePackedKeys()) { // Of the one cache, all rows have to be there.
      Value isAll = b.bitAnd(b.isEqual(begin, zero), b.isEqual(end, size));
      assertWithNumbers(b, loc, isAll, message,
                        "of {2} rows, those from {0} to before {1} are there",
                        {begin, end, size});
      return;
    }
    Value first = op.createFirstPosition(b, n, numQueries, size);
    Value visibleBegin = zero, visibleEnd = size;
    if (op.hasMask()) {
      Value begin = b.add(first, firstQuery);
      Value last = b.add(first, numQueries);
      last = b.sub(last, one);
      VisibleKeys keys =
          emitVisibleKeys(b, loc, op.getMask(), n, head, {begin, last}, size,
                          op.getMaskCaptures());
      visibleBegin = keys.begin;
      visibleEnd = keys.end;
    }
    Value before = arith::MinUIOp::create(b, loc, begin, visibleEnd);
    Value after = arith::MaxUIOp::create(b, loc, end, visibleBegin);
    for (auto [from, to] :
         {std::pair(visibleBegin, before), std::pair(after, visibleEnd)})
      loop(from, to, [&](Value key) {
        loop(firstQuery, numQueries, [&](Value i) {
          Value position = b.add(first, i);
          assertWithNumbers(b, loc, emitIsHidden(n, head, position, key),
                            message,
                            "key {3}, in batch entry {0}, query head {1}, "
                            "query position {2}",
                            {n, head, position, key});
        });
      });
  }

  /// A mask that is undefined is an error of the attention's own (A12).
  Value emitIsHidden(Value n, Value head, Value position, Value key) {
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    if (!op.hasMask())
      return arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    SmallVector<Value> arguments = {n, head, position, key};
    llvm::append_range(arguments, op.getMaskCaptures());
    RegionValue keep = evaluateRegion(b, op.getMask(), arguments);
    Value isHidden = arith::XOrIOp::create(b, loc, keep.value, yes);
    if (!keep.undefined)
      return isHidden;
    return b.bitOr(isHidden, keep.undefined);
  }

  void loop(Value begin, Value end, function_ref<void(Value)> body) {
    scf::ForOp::create(b, loc, begin, end, one, ValueRange(),
                       [&](OpBuilder &, Location, Value i, ValueRange) {
                         body(i);
                         scf::YieldOp::create(b, loc);
                       });
  }
  Value dim(Value tensor, int64_t dimension) {
    return createFirstDim(b, loc, tensor, dimension);
  }

  IndexBuilder b;
  Location loc;
  Op op;
  CacheReadOp read;
  std::string message;
  Value zero, one, numQueries, firstQuery;
};

/// The read that a key or a value is; null if it is something else.
CacheReadOp getCacheRead(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value.getDefiningOp<CacheReadOp>();
}

} // namespace

template <typename Op>
static void checkReads(OpBuilder &builder, Op op, Describe describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, op);
  CacheReadOp key = getCacheRead(op.getKey());
  CacheReadOp value = getCacheRead(op.getValue());
  if (key)
    ReadCheck(builder, op, key, "key", describe).emit();
  // The same rows are absent from both, as a rule.
  auto isSame = [&] {
    return key && key.getLengths() == value.getLengths() &&
           key.getRing() == value.getRing() &&
           (!key.getRing() || key.getCacheType().getDimSize(2) ==
                                  value.getCacheType().getDimSize(2)) &&
           !(key.getRing() && key.getCacheType().isDynamicDim(2));
  };
  if (value && !isSame())
    ReadCheck(builder, op, value, "value", describe).emit();
}

void attn::checkCacheReads(OpBuilder &builder, Operation *op,
                           Describe describe) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    checkReads(builder, attention, describe);
  else if (auto attention = dyn_cast<MultiTokenAttentionOp>(op))
    checkReads(builder, attention, describe);
}
