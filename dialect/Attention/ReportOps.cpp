//===- ReportOps.cpp - Failures with numbers ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult ReportOp::canonicalize(ReportOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getFailed(), m_Zero()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult ReportOp::verify() {
  if (getNumbers().size() > kMaxNumbers)
    return emitOpError() << "expected at most " << kMaxNumbers
                         << " numbers, got " << getNumbers().size();
  return attn::verifyPosition(*this, getPosition());
}
