//===- ReportOps.cpp - What regions could not compute ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult ReportUndefinedOp::canonicalize(ReportUndefinedOp op,
                                              PatternRewriter &rewriter) {
  if (!matchPattern(op.getUndefined(), m_Zero()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
