//===- VectorBlocks.cpp - Blocks of a product in vectors ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/VectorBlocks.h"
#include "lib/CPU/HideRelation.h"
#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"
#include "lib/Plan/CacheModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::hasEqualRows(linalg::LinalgOp op) {
  auto isRead = [&](OpOperand &operand) {
    return isa<MemRefType>(operand.get().getType()) &&
           op.payloadUsesValueFromOperand(&operand);
  };
  return !op.hasIndexSemantics() && llvm::none_of(op->getOpOperands(), isRead);
}

void VectorBlocks::emit(Value row, Value column, int64_t numRows,
                        int64_t numVectors) {
  SmallVector<Value> rows, columns, acc;
  for (int64_t i = 0; i < numRows; ++i)
    rows.push_back(b.add(row, i));
  for (int64_t i = 0; i < numVectors; ++i)
    columns.push_back(b.add(column, i * width));
  for (Value start : columns)
    acc.push_back(loadRows(rows, start));
  splitsColumns = canSplit(contraction.b.getType().getElementType()) &&
                  contraction.getElementType().isF32() &&
                  !contraction.hasPairs() && numVectors % 2 == 0;
  if (splitsColumns)
    reorderColumns(acc, numRows, splitLanes);
  // One step of few products has too much of the loop's own. Of two, LLVM loads
  // all scalars that are side by side at once, and many spill.
  bool hasManyScalars = numRows > 4 && !contraction.hasRowsApart() &&
                        !contraction.hasRowsInSteps() && !loadsScalarsLate;
  stepsAtOnce = hasManyScalars ? 1 : 2;
  cutShares(row, column, numRows, numVectors);
  SmallVector<Value> rowsOfA = rows;
  if (contraction.hasRowsApart() && numRows > 1)
    rowsOfA = llvm::map_to_vector(
        rows, [&](Value row) { return hideRelation(b, row); });
  if (contraction.hasPairsOfRows())
    for (Value &row : rowsOfA)
      row = b.mul(row, 2);
  if (contraction.stream)
    emitInStreams(rowsOfA, columns, acc);
  else
    emitAllSteps(rowsOfA, columns, {}, acc);
  if (splitsColumns)
    reorderColumns(acc, numRows, joinLanes);
  for (auto [vectors, start] : llvm::zip_equal(acc, columns))
    for (auto [i, index] : llvm::enumerate(rows))
      vector::StoreOp::create(b, vector::ExtractOp::create(b, vectors, i),
                              contraction.c, ValueRange{index, start});
}

void VectorBlocks::reorderColumns(
    SmallVector<Value> &acc, int64_t numRows,
    function_ref<std::pair<Value, Value>(ImplicitLocOpBuilder &, Value, Value)>
        reorder) {
  for (size_t i = 0; i < acc.size(); i += 2)
    for (int64_t row = 0; row < numRows; ++row) {
      auto [first, second] =
          reorder(b, vector::ExtractOp::create(b, acc[i], row),
                  vector::ExtractOp::create(b, acc[i + 1], row));
      acc[i] = insertRow(first, acc[i], row);
      acc[i + 1] = insertRow(second, acc[i + 1], row);
    }
}

Value VectorBlocks::insertRow(Value lanes, Value rows, int64_t row) {
  // Not vector.insert, chains of which fold into single elements.
  return vector::InsertStridedSliceOp::create(
      b, lanes, rows, ArrayRef<int64_t>{row, 0}, ArrayRef<int64_t>{1});
}

Value VectorBlocks::loadRows(ValueRange rows, Value column) {
  Type type = contraction.getElementType();
  auto numRows = static_cast<int64_t>(rows.size());
  auto blockType = VectorType::get({numRows, width}, type);
  linalg::LinalgOp producer = contraction.producer;
  if (producer && hasEqualRows(producer)) {
    Value lanes = computeSlice(b, producer, {rows[0], column}, width)[0];
    return vector::BroadcastOp::create(b, blockType, lanes);
  }
  Value vectors = ub::PoisonOp::create(b, blockType);
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value indices[] = {row, column};
    Value lanes =
        producer ? computeSlice(b, producer, indices, width)[0]
                 : Value(vector::LoadOp::create(b, VectorType::get(width, type),
                                                contraction.c, indices));
    vectors = insertRow(lanes, vectors, static_cast<int64_t>(i));
  }
  return vectors;
}

//===----------------------------------------------------------------------===//
// Reading a matrix from memory in streams
//===----------------------------------------------------------------------===//

// How blocks of a product are computed where memory is all that they wait for,
// as of one token and a weight. Two streams come sooner than one, since a
// processor that fetches ahead by itself begins anew in each page. What it does
// not see, where the next block begins, is fetched as the same streams.

static constexpr int64_t mostStreams = 2;
/// Vectors of sums that leave registers for everything else.
static constexpr int64_t mostSums = 16;

void VectorBlocks::emitInStreams(ValueRange rows, ValueRange columns,
                                 SmallVector<Value> &acc) {
  int64_t steps = contraction.getNumSteps(0);
  numStreams = steps % mostStreams == 0 ? mostStreams : 1;
  steps /= numStreams;
  size_t numVectors = columns.size();
  // Streams have sums of their own if there is room, which are rounded less.
  if (rows.size() * numVectors * numStreams <= mostSums)
    acc.append(
        (numStreams - 1) * numVectors,
        arith::ConstantOp::create(b, b.getZeroAttr(acc.front().getType())));
  fetched = contraction.next;
  stepsAhead = 0;
  if (rows.size() == 1) {
    MemRefType type = contraction.b.getType();
    int64_t bytes = type.getNumElements() / contraction.getNumSteps(0) *
                    type.getElementTypeBitWidth() / 8;
    int64_t ahead =
        std::clamp<int64_t>(contraction.bytesAhead / bytes, 1, steps);
    // The end of a stream has the next block's beginning fetched.
    fetched = contraction.stream;
    stepsAhead = ahead;
    emitSteps(rows, columns, {}, 0, steps - ahead, acc);
    fetched = contraction.next;
    stepsAhead = ahead - steps;
    emitSteps(rows, columns, {}, steps - ahead, steps, acc);
  } else {
    // Other rows read these again, so that there is time to fetch all.
    emitSteps(rows, columns, {}, 0, steps, acc);
  }
  while (acc.size() > numVectors) {
    Value sums = acc.pop_back_val();
    Value &first = acc[acc.size() % numVectors];
    first = arith::AddFOp::create(b, first, sums);
  }
}

void VectorBlocks::emitStreams(ValueRange rows, ValueRange columns,
                               ValueRange k, SmallVector<Value> &acc) {
  size_t numVectors = columns.size();
  bool hasOwnSums = acc.size() > numVectors;
  for (int64_t i = 0; i < numStreams; ++i) {
    SmallVector<Value> ofStream(k);
    if (i > 0)
      ofStream[0] =
          b.add(ofStream[0], i * (contraction.getNumSteps(0) / numStreams));
    emitStep(rows, columns, ofStream,
             MutableArrayRef(acc).slice(hasOwnSums ? i * numVectors : 0,
                                        numVectors));
  }
}

void VectorBlocks::fetchRow(ValueRange k, Value column) {
  SmallVector<Value> later(k);
  later[0] = b.add(later[0], stepsAhead);
  SmallVector<Value> at =
      getIndices(contraction.mapOfB, /*row=*/{}, column, later);
  if (contraction.hasPairs())
    at.push_back(b.index(0));
  // To the second level: the first has few lines under way at a time.
  memref::PrefetchOp::create(b, fetched, at, /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
}

//===----------------------------------------------------------------------===//
// What is fetched in shares
//===----------------------------------------------------------------------===//

/// Steps of the innermost dimension that fetch together where a block has few
/// lines to fetch, or there are few registers. In the innermost loop, their
/// addresses would have the registers of others, and be computed in each step.
static constexpr int64_t manySteps = 16;

void VectorBlocks::cutShares(Value row, Value column, int64_t numRows,
                             int64_t numVectors) {
  if (shares.empty())
    return;
  int64_t numColumns = numVectors * width,
          columnBlocks = contraction.getNumLanes() / numColumns,
          numBlocks = columnBlocks *
                      int64_t(llvm::divideCeil(contraction.mostRows, numRows)),
          steps = contraction.mostSteps;
  unsigned depth = contraction.getNumContracted();
  bool isStatic = ShapedType::isStatic(contraction.getNumSteps(depth - 1));
  stepsPerShare = isStatic ? stepsAtOnce : 1;
  // Of a known number of steps, those at once fetch together in any case.
  int64_t lines = shares.getNumLines(), all = numBlocks * steps;
  bool hasFewLines = (isStatic ? 4 : 1) * lines < all;
  if (depth == 1 && steps >= manySteps && (hasFewRegisters || hasFewLines))
    stepsPerShare = manySteps;
  // Of many steps, those that are left over fetch nothing.
  auto sharesOfBlock = stepsPerShare == manySteps
                           ? steps / manySteps
                           : int64_t(llvm::divideCeil(steps, stepsPerShare));
  shares.cut(b, b.index(numBlocks * sharesOfBlock));
  Value number = b.add(b.mul(b.div(row, numRows), columnBlocks),
                       b.div(column, numColumns));
  firstShare = b.mul(number, sharesOfBlock);
}

void VectorBlocks::emitShare(ValueRange k) {
  Value step = k.front();
  for (auto [i, inner] : llvm::enumerate(k.drop_front()))
    step = b.add(b.mul(step, contraction.getNumSteps(unsigned(i) + 1)), inner);
  Value number = b.div(step, stepsPerShare);
  shares.emit(b, b.add(firstShare, number));
}

Value VectorBlocks::emitStepsOfShares(ValueRange rows, ValueRange columns,
                                      Value first, Value end, int64_t stride,
                                      SmallVector<Value> &acc) {
  Value steps = b.sub(end, first);
  Value rest = b.rem(steps, stepsPerShare);
  end = b.sub(end, rest);
  emitLoop(b, first, end, stepsPerShare, acc, [&](Value at) {
    emitShare(at);
    emitInnerLoop(rows, columns, {}, at, b.add(at, stepsPerShare), stride, acc);
  });
  return end;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void VectorBlocks::emitAllSteps(ValueRange rows, ValueRange columns,
                                ValueRange outer, SmallVector<Value> &acc) {
  emitSteps(rows, columns, outer, 0, contraction.getNumSteps(outer.size()),
            acc);
}

void VectorBlocks::emitSteps(ValueRange rows, ValueRange columns,
                             ValueRange outer, int64_t first, int64_t end,
                             SmallVector<Value> &acc) {
  unsigned depth = outer.size();
  bool isInner = depth + 1 == contraction.getNumContracted();
  int64_t stride = numStreams > 1 ? 1 : stepsAtOnce;
  if (isInner && !ShapedType::isDynamic(end)) {
    if (stepsPerShare > stride)
      first = *getConstantIntValue(emitStepsOfShares(
          rows, columns, b.index(first), b.index(end), stride, acc));
    int64_t rest = (end - first) % stride;
    if (first < end - rest)
      emitInnerLoop(rows, columns, outer, b.index(first), b.index(end - rest),
                    stride, acc);
    for (; rest > 0; --rest) {
      SmallVector<Value> k(outer);
      k.push_back(b.index(end - rest));
      emitStreams(rows, columns, k, acc);
    }
    return;
  }
  Value upper = b.index(end);
  if (ShapedType::isDynamic(end))
    upper =
        memref::DimOp::create(b, contraction.b, contraction.getDimOfB(depth));
  if (isInner) {
    Value rest = b.index(first);
    if (stepsPerShare > 1)
      rest = emitStepsOfShares(rows, columns, rest, upper, stride, acc);
    return emitInnerLoop(rows, columns, outer, rest, upper, 1, acc);
  }
  emitLoop(b, b.index(first), upper, 1, acc, [&](Value i) {
    SmallVector<Value> k(outer);
    k.push_back(i);
    emitAllSteps(rows, columns, k, acc);
  });
}

void VectorBlocks::emitInnerLoop(ValueRange rows, ValueRange columns,
                                 ValueRange outer, Value first, Value end,
                                 int64_t stride, SmallVector<Value> &acc) {
  emitLoop(b, first, end, stride, acc, [&](Value begin) {
    SmallVector<Value> k(outer);
    k.push_back(begin);
    if (stepsPerShare == stride)
      emitShare(k);
    for (int64_t i = 0; i < stride; ++i) {
      k.back() = b.add(begin, i);
      // Loop strength reduction gives each vector of a row an address with an
      // index, of which f16 costs more: its conversion reads from memory.
      if (contraction.b.getType().getElementType().isF16())
        k.back() = hideRelation(b, k.back());
      emitStreams(rows, columns, k, acc);
    }
  });
}

void VectorBlocks::emitStep(ValueRange rows, ValueRange columns, ValueRange k,
                            MutableArrayRef<Value> acc) {
  int64_t factor = contraction.hasPairs() ? 2 : 1;
  Type type = contraction.a.getType().getElementType();
  // Scalars, which become broadcasts from memory; loading a vector and
  // broadcasting its elements would keep the shuffle unit busy.
  SmallVector<Value> scalars, lanes, oddScalars, oddLanes;
  SmallVector<Value> kOfA(k);
  if (!contraction.hasPairsOfRows())
    kOfA.back() = b.mul(k.back(), factor);
  for (Value row :
       contraction.inPairs || loadsScalarsLate ? ValueRange() : rows) {
    SmallVector<Value> indices =
        getIndices(contraction.mapOfA, row, /*column=*/{}, kOfA);
    scalars.push_back(memref::LoadOp::create(b, contraction.a, indices));
    if (!contraction.widensPairs)
      continue;
    indices.back() = b.add(indices.back(), 1);
    oddScalars.push_back(memref::LoadOp::create(b, contraction.a, indices));
  }
  // Of each of A's terms.
  SmallVector<SmallVector<Value>, 1> pairs(
      contraction.inPairs ? contraction.getNumTerms() : 0);
  kOfA.emplace_back();
  for (auto [term, ofTerm] : llvm::enumerate(pairs)) {
    kOfA.back() = b.index(int64_t(term));
    for (Value row : rows)
      ofTerm.push_back(vector::LoadOp::create(
          b, VectorType::get(2, type), contraction.a,
          getIndices(contraction.mapOfA, row, /*column=*/{}, kOfA)));
  }
  Type typeOfB = contraction.b.getType().getElementType();
  for (auto [i, column] : llvm::enumerate(columns)) {
    SmallVector<Value> indices =
        getIndices(contraction.mapOfB, /*row=*/{}, b.mul(column, factor), k);
    int64_t bytes =
        int64_t(i) * factor * width * typeOfB.getIntOrFloatBitWidth() / 8;
    if (contraction.stream && bytes % contraction.lineBytes == 0)
      fetchRow(k, column);
    if (contraction.widensPairs) {
      auto [even, odd] = loadSplit(b, contraction.b, indices, width);
      lanes.push_back(even);
      oddLanes.push_back(odd);
      continue;
    }
    if (splitsColumns) {
      if (i % 2 == 0) {
        auto [even, odd] = loadSplit(b, contraction.b, indices, width);
        lanes.append({even, odd});
      }
      continue;
    }
    Value vector = vector::LoadOp::create(
        b, VectorType::get(factor * width, typeOfB), contraction.b, indices);
    lanes.push_back(typeOfB == type ? vector : widenLanes(b, vector, type));
  }
  if (loadsScalarsLate)
    emitRowByRow(rows, kOfA, lanes, acc);
  else if (!contraction.inPairs)
    emitProducts(scalars, lanes, acc);
  for (ArrayRef<Value> term : llvm::reverse(pairs))
    emitDots(term, lanes, acc);
  if (contraction.widensPairs)
    emitProducts(oddScalars, oddLanes, acc);
}

void VectorBlocks::emitDots(ArrayRef<Value> pairs, ArrayRef<Value> lanes,
                            MutableArrayRef<Value> acc) {
  Type i32 = b.getI32Type();
  for (auto [i, pair] : llvm::enumerate(pairs)) {
    Value bits = vector::BitCastOp::create(b, VectorType::get(1, i32), pair);
    Value repeated = vector::BroadcastOp::create(
        b, VectorType::get(width, i32),
        vector::ExtractOp::create(b, bits, int64_t(0)));
    Value scalars =
        vector::BitCastOp::create(b, lanes.front().getType(), repeated);
    auto position = static_cast<int64_t>(i);
    for (auto [vectors, column] : llvm::zip_equal(acc, lanes)) {
      Value sum = vector::ExtractOp::create(b, vectors, position);
      sum =
          x86vector::DotBF16Op::create(b, sum.getType(), sum, scalars, column);
      vectors = insertRow(sum, vectors, position);
    }
  }
}

void VectorBlocks::emitProducts(ArrayRef<Value> scalars, ArrayRef<Value> lanes,
                                MutableArrayRef<Value> acc) {
  Type type = contraction.getElementType();
  auto numRows = static_cast<int64_t>(scalars.size());
  Value lhs = vector::FromElementsOp::create(
      b, VectorType::get({1, numRows}, type), scalars);
  AffineExpr m, n, l;
  bindDims(b.getContext(), m, n, l);
  using vector::IteratorType;
  for (auto [vectors, column] : llvm::zip_equal(acc, lanes)) {
    Value rhs = vector::BroadcastOp::create(
        b, VectorType::get({1, width}, type), column);
    vectors = vector::ContractionOp::create(
        b, lhs, rhs, vectors,
        ArrayRef<ArrayRef<AffineExpr>>{{l, m}, {l, n}, {m, n}},
        {IteratorType::parallel, IteratorType::parallel,
         IteratorType::reduction});
  }
}

void VectorBlocks::emitRowByRow(ValueRange rows, ValueRange k,
                                ArrayRef<Value> lanes,
                                MutableArrayRef<Value> acc) {
  auto repeated = VectorType::get(width, contraction.getElementType());
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value scalar = memref::LoadOp::create(
        b, contraction.a,
        getIndices(contraction.mapOfA, row, /*column=*/{}, k));
    scalar = vector::BroadcastOp::create(b, repeated, scalar);
    auto position = static_cast<int64_t>(i);
    for (auto [vectors, column] : llvm::zip_equal(acc, lanes)) {
      Value sum = vector::ExtractOp::create(b, vectors, position);
      sum = vector::FMAOp::create(b, scalar, column, sum);
      vectors = insertRow(sum, vectors, position);
    }
  }
}
