//===- WarpOps.cpp - What warps of a GPU do together ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult ReadPanelsOp::verify() {
  auto panels = cast<MemRefType>(getPanels().getType());
  auto vector = cast<VectorType>(getResult().getType());
  int64_t rows = panels.getDimSize(1);
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!panels.hasStaticShape() || panels.getDimSize(0) <= 0 || rows <= 0 ||
      panels.getDimSize(2) != 64 || rows % 8 != 0 ||
      failed(panels.getStridesAndOffset(strides, offset)) ||
      ArrayRef(strides) != ArrayRef<int64_t>{rows * 64, 64, 1})
    return emitOpError("operand 'panels': expected panels of 64 columns and a "
                       "multiple of 8 rows, one behind another, got ")
           << panels;
  SmallVector<int64_t> shape = {rows, panels.getDimSize(0) * 64};
  auto expected = VectorType::get(shape, panels.getElementType());
  if (vector != expected)
    return emitOpError("expected ") << expected << ", got " << vector;
  return success();
}

LogicalResult WarpgroupMmaOp::verify() {
  int64_t columns = getColumns();
  if (columns < 8 || columns > 256 || columns % 8 != 0)
    return emitOpError("expected a multiple of 8 columns, 8 to 256, got ")
           << columns;
  if (getSteps().empty())
    return emitOpError("expected at least one step");
  if (readsBoth() != getElementType().has_value())
    return emitOpError("expected both of 'lhs_steps' and 'element_type', or "
                       "none");
  if (readsBoth()) {
    if (getLhs().size() != 1 || !getLhs().front().getType().isInteger(64) ||
        getLhsSteps()->size() != getSteps().size() ||
        !(getFactorType().isF16() || getFactorType().isBF16()))
      return emitOpError("expected a descriptor of f16 or bf16 as the first "
                         "factor, with ")
             << getSteps().size() << " steps";
  } else if (getLhs().size() != 4 * getSteps().size() ||
             getLhs().front().getType().isInteger()) {
    return emitOpError("expected 4 pairs of the first factor for each of ")
           << getSteps().size() << " steps, got " << getLhs().size();
  }
  if (!llvm::all_equal(getLhs().getTypes()))
    return emitOpError("expected pairs of one type");
  auto sums = size_t(columns) / 2;
  if (getResults().size() != sums ||
      (!getSums().empty() && getSums().size() != sums))
    return emitOpError("expected ")
           << sums << " sums of " << columns << " columns, got "
           << (getResults().size() != sums ? getResults().size()
                                           : getSums().size());
  return success();
}

LogicalResult WarpgroupWaitOp::verify() {
  if (getSums().empty())
    return emitOpError("expected sums");
  auto pending = int64_t(getPending());
  if (pending < 0 || pending > kMostPending)
    return emitOpError("expected 0 to ")
           << kMostPending << " pending products, got " << pending;
  return success();
}
