//===- PlanMultiToken.cpp - How kernels compute multi-token attention -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

using namespace mlir;
using namespace mlir::attn;

/// That of so many rows, unless its own says how many.
static FailureOr<PlanAttr> planRows(Operation *op, int64_t rows) {
  PlanAttr said = getPlan(op);
  if (said && said.getRows())
    rows = said.getRows();
  auto plan = PlanAttr::get(op->getContext(), {.rows = rows}),
       nothing = PlanAttr::get(op->getContext(), {});
  if (said && said != plan && said != nothing)
    return op->emitError("attn.plan: expected 'rows' alone, got ") << said;
  return plan;
}

FailureOr<PlanAttr> attn::planMultiToken(MultiTokenAttentionOp op) {
  return planRows(op, CacheModel(getTarget(op)).getMultiTokenRows());
}

FailureOr<PlanAttr> attn::planMultiToken(MultiTokenAttentionBackwardOp op) {
  return planRows(op, CacheModel(getTarget(op)).getMultiTokenBackwardRows());
}
