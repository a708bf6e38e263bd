//===- VectorFetches.cpp - What blocks of a product fetch in shares -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/VectorBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

/// Steps of the innermost dimension that fetch together where a block has few
/// lines to fetch. In the innermost loop, their addresses would have the
/// registers of others.
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
  bool isStatic = ShapedType::isStatic(getNumSteps(depth - 1));
  stepsPerShare = isStatic ? 2 : 1;
  if (depth == 1 && steps >= manySteps &&
      2 * shares.getNumLines() < numBlocks * steps / stepsPerShare)
    stepsPerShare = manySteps;
  // Of many steps, those that are left over fetch nothing.
  auto sharesOfBlock = stepsPerShare == manySteps
                           ? steps / manySteps
                           : int64_t(llvm::divideCeil(steps, stepsPerShare));
  shares.cut(b, loc, constant(numBlocks * sharesOfBlock));
  auto divide = [&](Value value, int64_t divisor) {
    return b.createOrFold<arith::DivUIOp>(loc, value, constant(divisor));
  };
  Value number = b.createOrFold<arith::AddIOp>(
      loc, times(divide(row, numRows), columnBlocks),
      divide(column, numColumns));
  firstShare = times(number, sharesOfBlock);
}

void VectorBlocks::emitShare(ValueRange k) {
  Value step = k.front();
  for (auto [i, inner] : llvm::enumerate(k.drop_front()))
    step = b.createOrFold<arith::AddIOp>(
        loc, times(step, getNumSteps(unsigned(i) + 1)), inner);
  Value number =
      b.createOrFold<arith::DivUIOp>(loc, step, constant(stepsPerShare));
  shares.emit(b, loc, b.createOrFold<arith::AddIOp>(loc, firstShare, number));
}

Value VectorBlocks::emitStepsOfShares(ValueRange rows, ValueRange columns,
                                      Value first, Value end, int64_t stride,
                                      SmallVector<Value> &acc) {
  Value steps = b.createOrFold<arith::SubIOp>(loc, end, first);
  Value rest =
      b.createOrFold<arith::RemUIOp>(loc, steps, constant(stepsPerShare));
  end = b.createOrFold<arith::SubIOp>(loc, end, rest);
  auto loop =
      scf::ForOp::create(b, loc, first, end, constant(stepsPerShare), acc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  acc = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  Value at = loop.getInductionVar();
  emitShare(at);
  emitInnerLoop(rows, columns, {}, at, add(at, stepsPerShare), stride, acc);
  scf::YieldOp::create(b, loc, acc);
  acc = loop.getResults();
  return end;
}
