//===- PrefetchShares.cpp - Rows fetched while something computes ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/PrefetchShares.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Plan/CacheModel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
  return std::max<int64_t>(
      getTarget(op).getLineBytes() * 8 / type.getElementTypeBitWidth(), 1);
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
static void emitLine(IndexBuilder &b, PrefetchOp op, Value row, Value element) {
  SmallVector<Value> at(op.getIndices());
  at.back() = row;
  ArrayRef<int64_t> shape = op.getRowShape();
  size_t dim = at.size();
  at.resize(dim + shape.size());
  for (size_t inner = shape.size(); inner-- > 1;) {
    at[dim + inner] = b.rem(element, shape[inner]);
    element = b.div(element, shape[inner]);
  }
  at[dim] = element;
  constexpr unsigned kToFirst = 3, kToSecond = 2;
  bool toFirst = op.getForWrite() || getTarget(op).getFetchLevel() == 1;
  memref::PrefetchOp::create(b, op.getSource(), at, op.getForWrite(),
                             toFirst ? kToFirst : kToSecond,
                             /*isDataCache=*/true);
}

/// Fetches row `row`.
static void emitRow(IndexBuilder &b, PrefetchOp op, Value row) {
  for (int64_t at = 0; at < getRowSize(op); at += getLineSize(op))
    emitLine(b, op, row, b.index(at));
}

void attn::emitPrefetches(OpBuilder &builder, PrefetchOp op) {
  IndexBuilder b(op.getLoc(), builder);
  Value first = op.getFirst(), end = op.getEnd();
  if (op.getShare()) {
    Value rows = b.emit<arith::CeilDivSIOp>(b.sub(end, first),
                                            int64_t(op.getNumShares()));
    first = b.add(first, b.mul(op.getShare(), rows));
    end = b.min(end, b.add(first, rows));
  }
  auto rows = scf::ForOp::create(b, first, end, b.index(1));
  b.setInsertionPointToStart(rows.getBody());
  emitRow(b, op, rows.getInductionVar());
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

/// Lines of a share, `lines` or somewhat more, which are whole rows or whole
/// parts of one if there are such: these have one address.
static int64_t roundToRows(PrefetchOp op, int64_t lines) {
  int64_t pitch = getPitch(op), line = getLineSize(op);
  if (pitch % line != 0)
    return lines;
  int64_t perRow = pitch / line, rounded = lines;
  if (lines > perRow)
    rounded = int64_t(llvm::alignTo(uint64_t(lines), uint64_t(perRow)));
  else
    while (perRow % rounded != 0)
      ++rounded;
  return 2 * rounded <= 3 * lines ? rounded : lines;
}

void PrefetchShares::cut(ImplicitLocOpBuilder &builder, Value numShares) {
  IndexBuilder b(builder.getLoc(), builder);
  std::optional<int64_t> count = getConstantIntValue(numShares);
  shares.clear();
  for (PrefetchOp prefetch : prefetches) {
    int64_t of = prefetch.getNumShares();
    Value first;
    if (of > 1)
      first = b.mul(prefetch.getShare(), numShares);
    if (int64_t lines = countLines(prefetch); count && lines > 0) {
      int64_t all = std::max<int64_t>(*count, 1) * of;
      int64_t each =
          roundToRows(prefetch, int64_t(llvm::divideCeil(lines, all)));
      shares.push_back({first, each, each * all > lines ? lines : 0, Value()});
      continue;
    }
    // Where nothing is computed, there are no shares.
    Value all = b.max(b.mul(numShares, of), 1),
          numRows = b.max(b.sub(prefetch.getEnd(), prefetch.getFirst()), 0);
    shares.push_back({first, 0, 0, b.emit<arith::CeilDivUIOp>(numRows, all)});
  }
}

/// Fetches `count` lines, those of share `number` of the share of `op`, of all
/// lines of its rows, up to line `end` if that is not 0. The first share of
/// that has number `first`, or 0 if it is null.
static void emitLines(IndexBuilder &b, PrefetchOp op, Value number, Value first,
                      int64_t count, int64_t end) {
  auto multiply = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(b, value, b.index(factor),
                                 arith::IntegerOverflowFlags::nuw);
  };
  int64_t pitch = getPitch(op), line = getLineSize(op), size = count * line,
          all = size * int64_t(op.getNumShares());
  auto emitAt = [&](Value row, Value element) {
    emitLine(b, op, b.add(op.getFirst(), row), element);
  };
  // Mostly, shares are a part of a row, or rows, whose lines have one address.
  if (end == 0 && size > 0 && pitch % all == 0) {
    Value perRow = b.index(pitch / all), part = b.rem(number, perRow);
    if (first)
      part = b.add(multiply(part, int64_t(op.getNumShares())), op.getShare());
    part = multiply(part, size);
    Value row = b.div(number, perRow);
    for (int64_t i = 0; i < count; ++i)
      emitAt(row, b.add(part, i * line));
    return;
  }
  Value place = first ? b.add(first, number) : number;
  // Lines go up to `end`, which is a whole number of shares.
  bool isWhole = end % count == 0;
  auto getPlace = [&] {
    return end > 0 ? b.emit<arith::MinUIOp>(place, end / count - 1) : place;
  };
  if (isWhole && size % pitch == 0) {
    Value row = multiply(getPlace(), size / pitch);
    for (int64_t at = 0; at < size; at += line)
      emitAt(b.add(row, at / pitch), b.index(at % pitch));
    return;
  }
  if (isWhole && size > 0 && pitch % size == 0) {
    Value perRow = b.index(pitch / size), which = getPlace(),
          row = b.div(which, perRow),
          part = multiply(b.rem(which, perRow), size);
    for (int64_t i = 0; i < count; ++i)
      emitAt(row, b.add(part, i * line));
    return;
  }
  place = multiply(place, count);
  for (int64_t i = 0; i < count; ++i) {
    Value at = b.add(place, i);
    if (end > 0)
      at = b.emit<arith::MinUIOp>(at, end - 1);
    at = multiply(at, line);
    emitAt(b.div(at, pitch), b.rem(at, pitch));
  }
}

void PrefetchShares::emit(ImplicitLocOpBuilder &builder, Value number) const {
  IndexBuilder b(builder.getLoc(), builder);
  for (auto [which, share] : llvm::enumerate(shares)) {
    PrefetchOp prefetch = prefetches[which];
    if (!share.numRows) {
      emitLines(b, prefetch, number, share.first, share.numLines, share.end);
      continue;
    }
    Value place = share.first ? b.add(share.first, number) : number;
    Value first = b.add(prefetch.getFirst(), b.mul(place, share.numRows));
    Value last = b.sub(prefetch.getEnd(), 1);
    b.loop(0, share.numRows, 1, [&](Value row) {
      emitRow(b, prefetch, b.min(b.add(first, row), last));
    });
  }
}

void PrefetchShares::erase() {
  for (PrefetchOp prefetch : prefetches)
    prefetch.erase();
  if (stream)
    stream.erase();
  *this = {};
}
