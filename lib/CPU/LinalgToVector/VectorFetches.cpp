//===- VectorFetches.cpp - What blocks of a product fetch in shares -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/VectorBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

std::pair<int64_t, Value> VectorBlocks::countBlocks(Value row, Value column,
                                                    int64_t numRows,
                                                    int64_t numVectors) {
  int64_t numColumns = numVectors * width,
          columnBlocks = contraction.getNumLanes() / numColumns;
  auto divide = [&](Value value, int64_t divisor) {
    return b.createOrFold<arith::DivUIOp>(loc, value, constant(divisor));
  };
  Value number = b.createOrFold<arith::AddIOp>(
      loc, times(divide(row, numRows), columnBlocks),
      divide(column, numColumns));
  return {columnBlocks * llvm::divideCeil(contraction.getNumRows(), numRows),
          number};
}

void VectorBlocks::sharePrefetch(Value row, Value column, int64_t numRows,
                                 int64_t numVectors) {
  shareOfStep = 0;
  int64_t numLanes = contraction.getNumLanes();
  if (contraction.prefetch.own != contraction.b || contraction.hasPairs() ||
      contraction.getNumContracted() != 1 ||
      ShapedType::isDynamic(contraction.getNumRows()))
    return;
  auto [numBlocks, number] = countBlocks(row, column, numRows, numVectors);
  if (numBlocks == 1)
    return;
  shareOfStep = llvm::PowerOf2Ceil(llvm::divideCeil(numLanes, numBlocks));
  Value numSteps = b.createOrFold<memref::DimOp>(loc, contraction.b, 0);
  Value elements =
      b.createOrFold<arith::MulIOp>(loc, times(number, shareOfStep), numSteps);
  firstOfShare =
      b.createOrFold<arith::DivUIOp>(loc, elements, constant(numLanes));
}

void VectorBlocks::shareLaterRows(Value row, Value column, int64_t numRows,
                                  int64_t numVectors) {
  laterShares.clear();
  for (const LaterRows &later : contraction.laterRows) {
    auto [numBlocks, number] = countBlocks(row, column, numRows, numVectors);
    ArrayRef<int64_t> shape = later.prefetch.matrix.getType().getShape();
    auto rowsPerShare =
        int64_t(llvm::divideCeil(shape[0], later.numShares * numBlocks));
    Value share = b.createOrFold<arith::AddIOp>(
        loc, times(later.share, numBlocks), number);
    // The last shares may be beyond the end.
    Value first = b.createOrFold<arith::MinUIOp>(
        loc, times(share, rowsPerShare), constant(shape[0] - rowsPerShare));
    laterShares.push_back(
        {later.prefetch, first,
         int64_t(llvm::divideCeil(rowsPerShare * shape[1], getNumSteps(0)))});
  }
}

void VectorBlocks::emitPrefetch(ValueRange rows, Value k, int64_t numSteps) {
  if (shareOfStep > 0)
    return contraction.prefetch.emitShare(b, loc, firstOfShare, shareOfStep, k,
                                          numSteps);
  if (contraction.prefetch.own != contraction.a)
    return;
  Value row = rows.front();
  auto numRows = static_cast<int64_t>(rows.size());
  AffineExpr m = getAffineDimExpr(0, contraction.mapOfA.getContext());
  if (contraction.mapOfA.getResult(0) == m)
    return contraction.prefetch.emitShare(b, loc, row, numRows, k, numSteps);
  for (int64_t i = 0; i < numSteps; ++i)
    contraction.prefetch.emit(b, loc, add(k, i), row);
}

int64_t VectorBlocks::emitFetchingSteps(ValueRange rows, ValueRange columns,
                                        int64_t first, int64_t end,
                                        int64_t stride,
                                        SmallVector<Value> &acc) {
  // A line for each element that a step fetches. In the innermost loop, their
  // addresses would have the registers of others.
  constexpr int64_t numSteps = 16;
  end = first + (end - first) / numSteps * numSteps;
  auto loop = scf::ForOp::create(b, loc, constant(first), constant(end),
                                 constant(numSteps), acc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  acc = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  Value at = loop.getInductionVar();
  for (const LaterShare &later : laterShares)
    later.prefetch.emitShare(b, loc, later.first, later.elementsPerStep, at,
                             numSteps);
  emitInnerLoop(rows, columns, {}, at, add(at, numSteps), stride, acc);
  scf::YieldOp::create(b, loc, acc);
  acc = loop.getResults();
  return end;
}
