//===- PrefetchShares.cpp - Rows fetched while something computes ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/PrefetchShares.h"
#include "lib/Plan/CacheLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::touchesNoMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return isMemoryEffectFree(op) || isa<PrefetchOp, memref::PrefetchOp>(op) ||
         (effects && effects.onlyHasEffect<MemoryEffects::Allocate>());
}

/// Whether `op` may write what a product is added to, which it does at once.
static bool isElementwise(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumLoops() == linalgOp.getNumParallelLoops();
}

PrefetchShares::PrefetchShares(Operation *op) {
  for (previous = op->getPrevNode(); previous;
       previous = previous->getPrevNode()) {
    if (auto prefetch = dyn_cast<PrefetchOp>(previous)) {
      if (prefetch.getStream() && !stream)
        stream = prefetch;
      else if (prefetch.getSpread())
        prefetches.push_back(prefetch);
    } else if (!isElementwise(previous) && !touchesNoMemory(previous)) {
      return;
    }
  }
}

/// Elements in a cache line.
static int64_t getLineSize(PrefetchOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  return std::max<int64_t>(kCacheLineBytes * 8 / type.getElementTypeBitWidth(),
                           1);
}

/// Elements of a row that are fetched; 0 where they are no neighbours.
static int64_t getRowSize(PrefetchOp op) {
  // More of a row comes soon enough once it is read.
  constexpr int64_t kMostLines = 1024;
  if (!cast<MemRefType>(op.getSource().getType()).isLastDimUnitStride())
    return 0;
  int64_t elements = 1, most = kMostLines * getLineSize(op);
  for (int64_t size : op.getRowShape())
    elements = std::min(elements * std::min(size, most), most);
  return elements;
}

/// Elements from the beginning of a row to that of the next where that is known
/// to follow, else to the end of its last line.
static int64_t getPitch(PrefetchOp op) {
  int64_t size = getRowSize(op);
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(op.getSource().getType());
  bool follows = succeeded(type.getStridesAndOffset(strides, offset)) &&
                 strides[op.getIndices().size() - 1] == size;
  return follows ? size
                 : int64_t(llvm::alignTo(uint64_t(size), getLineSize(op)));
}

/// Fetches the line of element `element`, an index, of row `row`.
static void emitLine(OpBuilder &b, Location loc, PrefetchOp op, Value row,
                     Value element) {
  SmallVector<Value> at(op.getIndices());
  at.back() = row;
  ArrayRef<int64_t> shape = op.getRowShape();
  size_t dim = at.size();
  at.resize(dim + shape.size());
  for (size_t inner = shape.size(); inner-- > 1;) {
    Value size = arith::ConstantIndexOp::create(b, loc, shape[inner]);
    at[dim + inner] = b.createOrFold<arith::RemUIOp>(loc, element, size);
    element = b.createOrFold<arith::DivUIOp>(loc, element, size);
  }
  at[dim] = element;
  // To the second level: the first has few lines under way at a time.
  memref::PrefetchOp::create(b, loc, op.getSource(), at, op.getForWrite(),
                             /*localityHint=*/op.getForWrite() ? 3 : 2,
                             /*isDataCache=*/true);
}

/// Fetches row `row`.
static void emitRow(OpBuilder &b, Location loc, PrefetchOp op, Value row) {
  for (int64_t at = 0; at < getRowSize(op); at += getLineSize(op))
    emitLine(b, loc, op, row, arith::ConstantIndexOp::create(b, loc, at));
}

void attn::emitPrefetches(OpBuilder &b, PrefetchOp op) {
  Location loc = op.getLoc();
  Value first = op.getFirst(), end = op.getEnd();
  if (op.getShare()) {
    Value count = arith::ConstantIndexOp::create(b, loc, op.getNumShares());
    Value rows = arith::CeilDivSIOp::create(
        b, loc, arith::SubIOp::create(b, loc, end, first), count);
    first = arith::AddIOp::create(
        b, loc, first, arith::MulIOp::create(b, loc, op.getShare(), rows));
    end = arith::MinSIOp::create(b, loc, end,
                                 arith::AddIOp::create(b, loc, first, rows));
  }
  auto rows = scf::ForOp::create(b, loc, first, end,
                                 arith::ConstantIndexOp::create(b, loc, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rows.getBody());
  emitRow(b, loc, op, rows.getInductionVar());
}

/// The number of its rows, if it is known.
static std::optional<int64_t> getNumRows(PrefetchOp op) {
  FailureOr<int64_t> rows = ValueBoundsConstraintSet::computeConstantDelta(
      op.getEnd(), op.getFirst());
  if (failed(rows))
    return std::nullopt;
  return std::max<int64_t>(*rows, 0);
}

/// Lines of all its rows; 0 if it is not known how many there are.
static int64_t countLines(PrefetchOp op) {
  std::optional<int64_t> rows = getNumRows(op);
  return rows ? int64_t(llvm::divideCeil(*rows * getPitch(op), getLineSize(op)))
              : 0;
}

int64_t PrefetchShares::getNumLines() const {
  int64_t most = 0;
  for (PrefetchOp prefetch : prefetches) {
    int64_t lines = countLines(prefetch);
    if (lines == 0)
      return 0;
    most = std::max(most,
                    int64_t(llvm::divideCeil(lines, prefetch.getNumShares())));
  }
  return most;
}

void PrefetchShares::cut(OpBuilder &b, Location loc, Value numShares) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        one = arith::ConstantIndexOp::create(b, loc, 1);
  std::optional<int64_t> count = getConstantIntValue(numShares);
  shares.clear();
  for (PrefetchOp prefetch : prefetches) {
    int64_t of = prefetch.getNumShares();
    Value first;
    if (of > 1)
      first = arith::MulIOp::create(b, loc, prefetch.getShare(), numShares);
    if (int64_t lines = countLines(prefetch); count && lines > 0) {
      int64_t all = std::max<int64_t>(*count, 1) * of;
      auto each = int64_t(llvm::divideCeil(lines, all));
      shares.push_back({first, each, each * all > lines ? lines : 0, Value()});
      continue;
    }
    // Where nothing is computed, there are no shares.
    Value all = b.createOrFold<arith::MaxSIOp>(
        loc,
        b.createOrFold<arith::MulIOp>(
            loc, numShares, arith::ConstantIndexOp::create(b, loc, of)),
        one);
    Value numRows = b.createOrFold<arith::SubIOp>(loc, prefetch.getEnd(),
                                                  prefetch.getFirst());
    numRows = arith::MaxSIOp::create(b, loc, numRows, zero);
    shares.push_back(
        {first, 0, 0, arith::CeilDivUIOp::create(b, loc, numRows, all)});
  }
}

/// Fetches `count` lines, those of share `number` of the share of `op`, of all
/// lines of its rows, up to line `end` if that is not 0. The first share of
/// that has number `first`, or 0 if it is null.
static void emitLines(OpBuilder &b, Location loc, PrefetchOp op, Value number,
                      Value first, int64_t count, int64_t end) {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto multiply = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(b, loc, value, index(factor),
                                 arith::IntegerOverflowFlags::nuw);
  };
  auto add = [&](Value lhs, Value rhs) -> Value {
    return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
  };
  int64_t pitch = getPitch(op), line = getLineSize(op), size = count * line,
          all = size * int64_t(op.getNumShares());
  auto emitAt = [&](Value row, Value element) {
    emitLine(b, loc, op, add(op.getFirst(), row), element);
  };
  // Mostly, shares are a part of a row, or rows, whose lines have one address.
  if (end == 0 && size > 0 && pitch % all == 0) {
    Value perRow = index(pitch / all),
          part = b.createOrFold<arith::RemUIOp>(loc, number, perRow);
    if (first)
      part = add(multiply(part, int64_t(op.getNumShares())), op.getShare());
    part = multiply(part, size);
    Value row = b.createOrFold<arith::DivUIOp>(loc, number, perRow);
    for (int64_t i = 0; i < count; ++i)
      emitAt(row, add(part, index(i * line)));
    return;
  }
  Value place = first ? add(first, number) : number;
  if (end == 0 && size % pitch == 0) {
    Value row = multiply(place, size / pitch);
    for (int64_t at = 0; at < size; at += line)
      emitAt(add(row, index(at / pitch)), index(at % pitch));
    return;
  }
  place = multiply(place, count);
  for (int64_t i = 0; i < count; ++i) {
    Value at = add(place, index(i));
    if (end > 0)
      at = arith::MinUIOp::create(b, loc, at, index(end - 1));
    at = multiply(at, line);
    emitAt(b.createOrFold<arith::DivUIOp>(loc, at, index(pitch)),
           b.createOrFold<arith::RemUIOp>(loc, at, index(pitch)));
  }
}

void PrefetchShares::emit(OpBuilder &b, Location loc, Value number) const {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  for (auto [which, share] : llvm::enumerate(shares)) {
    PrefetchOp prefetch = prefetches[which];
    if (!share.numRows) {
      emitLines(b, loc, prefetch, number, share.first, share.numLines,
                share.end);
      continue;
    }
    Value place = number;
    if (share.first)
      place = arith::AddIOp::create(b, loc, share.first, number);
    Value first = arith::AddIOp::create(
        b, loc, prefetch.getFirst(),
        arith::MulIOp::create(b, loc, place, share.numRows));
    Value last = arith::SubIOp::create(b, loc, prefetch.getEnd(), index(1));
    auto rows = scf::ForOp::create(b, loc, index(0), share.numRows, index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    Value row = arith::AddIOp::create(b, loc, first, rows.getInductionVar());
    emitRow(b, loc, prefetch, arith::MinSIOp::create(b, loc, row, last));
  }
}

void PrefetchShares::erase() {
  for (PrefetchOp prefetch : prefetches)
    prefetch.erase();
  if (stream)
    stream.erase();
  *this = {};
}
