//===- VectorFetches.cpp - What blocks of a product fetch in shares -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/VectorBlocks.h"

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
  shares.cut(b, loc, b.index(numBlocks * sharesOfBlock));
  auto divide = [&](Value value, int64_t divisor) {
    return b.div(value, divisor);
  };
  Value number = b.add(b.mul(divide(row, numRows), columnBlocks),
                       divide(column, numColumns));
  firstShare = b.mul(number, sharesOfBlock);
}

void VectorBlocks::emitShare(ValueRange k) {
  Value step = k.front();
  for (auto [i, inner] : llvm::enumerate(k.drop_front()))
    step = b.add(b.mul(step, getNumSteps(unsigned(i) + 1)), inner);
  Value number = b.div(step, stepsPerShare);
  shares.emit(b, loc, b.add(firstShare, number));
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
