//===- ProjectionLoops.cpp - Loops of a projection's tiles ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Projection/ProjectionTiles.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<Value> ProjectionTiles::forEach(
    OpFoldResult first, OpFoldResult end, int64_t step, ValueRange initial,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(
      b, loc, getValueOrCreateConstantIndexOp(b, loc, first),
      getValueOrCreateConstantIndexOp(b, loc, end), constant(step), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  return loop.getResults();
}

Value ProjectionTiles::forEach(OpFoldResult end, int64_t step, Value initial,
                               function_ref<Value(Value, Value)> body) {
  return forEach(index(0), end, step, initial,
                 [&](Value i, ValueRange carried) -> SmallVector<Value> {
                   return {body(i, carried.front())};
                 })
      .front();
}

SmallVector<Value> ProjectionTiles::forFeatures(
    int64_t step, ValueRange initial,
    function_ref<SmallVector<Value>(OpFoldResult at, int64_t count,
                                    ValueRange carried, bool isFirst,
                                    bool isLast)>
        body) {
  int64_t steps = getNumSteps(),
          last = (llvm::divideCeil(steps, step) - 1) * step;
  SmallVector<Value> carried(initial);
  if (last > 0)
    carried = body(index(0), step, carried, /*isFirst=*/true, /*isLast=*/false);
  if (last > step)
    carried = forEach(index(step), index(last), step, carried,
                      [&](Value at, ValueRange carried) {
                        return body(at, step, carried, /*isFirst=*/false,
                                    /*isLast=*/false);
                      });
  return body(index(last), steps - last, carried, /*isFirst=*/last == 0,
              /*isLast=*/true);
}
