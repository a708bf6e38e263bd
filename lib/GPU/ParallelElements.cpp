//===- ParallelElements.cpp - Tensors element by element ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/ParallelElements.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::insertElement(IndexBuilder &b, Value element, Value slice) {
  int64_t rank = cast<RankedTensorType>(slice.getType()).getRank();
  SmallVector<Value> zeros(rank, b.index(0));
  return b.store(element, slice, zeros);
}

Value attn::emitEachElement(
    IndexBuilder &b, ArrayRef<OpFoldResult> sizes, Value init,
    function_ref<SmallVector<Value>(ArrayRef<Value>)> place,
    function_ref<Value(ArrayRef<Value>, ArrayRef<Value>, Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp loop = b.enterForall(sizes, init);
  SmallVector<Value> ivs(loop.getInductionVars()), indices = place(ivs);
  SmallVector<OpFoldResult> at = getAsOpFoldResult(indices),
                            ones = b.ones(at.size());
  Value all = loop.getRegionIterArgs().front();
  Value slice = body(ivs, indices, b.slice(all, at, ones));
  b.insertInParallel(loop, slice, all, at, ones);
  return loop.getResult(0);
}

Value attn::emitEachElement(IndexBuilder &b, Value init,
                            function_ref<Value(ArrayRef<Value>)> element) {
  return emitEachElement(
      b, b.sizes(init), init,
      [](ArrayRef<Value> ivs) { return SmallVector<Value>(ivs); },
      [&](ArrayRef<Value> ivs, ArrayRef<Value>, Value slice) {
        return insertElement(b, element(ivs), slice);
      });
}
