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

FailureOr<PlanAttr> attn::planMultiToken(MultiTokenAttentionOp op) {
  PlanAttr said = getPlan(op);
  int64_t rows = said && said.getRows()
                     ? said.getRows()
                     : CacheModel(getTarget(op)).getMultiTokenRows();
  auto plan = PlanAttr::get(op.getContext(), {.rows = rows}),
       nothing = PlanAttr::get(op.getContext(), {});
  if (said && said != plan && said != nothing)
    return op.emitError("attn.plan: expected 'rows' alone, got ") << said;
  return plan;
}
