//===- RowPrefetch.cpp - What a contraction fetches ahead -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LinalgToVector/RowPrefetch.h"
#include "lib/Conversion/LinalgToVector/LinalgToVector.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

void RowPrefetch::emit(OpBuilder &b, Location loc, Value row,
                       Value column) const {
  if (!matrix)
    return;
  if (isNextBlock)
    row = arith::AddIOp::create(b, loc, row,
                                memref::DimOp::create(b, loc, matrix, 0));
  // To the second level: the first has few lines under way at a time.
  memref::PrefetchOp::create(b, loc, matrix, ValueRange{row, column},
                             /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}

llvm::DenseMap<Operation *, RowPrefetch>
attn::findRowPrefetches(ArrayRef<linalg::LinalgOp> contractions,
                        const VectorRegisters &registers) {
  llvm::DenseMap<Operation *, RowPrefetch> prefetches;
  for (linalg::LinalgOp dots : contractions) {
    if (!isDots(dots, registers))
      continue;
    Value keys = dots.getDpsInputOperand(0)->get();
    Operation *view = keys.getDefiningOp<memref::SubViewOp>();
    if (!view)
      continue;
    Block *loop = view->getBlock();
    Operation *step = loop->findAncestorOpInBlock(*dots);
    for (linalg::LinalgOp products : contractions) {
      if (isDots(products, registers) ||
          !loop->findAncestorOpInBlock(*products))
        continue;
      for (Value operand : products->getOperands()) {
        Operation *values = operand.getDefiningOp<memref::SubViewOp>();
        if (!values || values == view || values->getBlock() != loop ||
            !values->isBeforeInBlock(step))
          continue;
        prefetches[dots] = {cast<TypedValue<MemRefType>>(operand), false};
        prefetches[products] = {cast<TypedValue<MemRefType>>(keys), true};
      }
    }
  }
  return prefetches;
}
