//===- QueryRange.cpp - Numbers of queries that calls have ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/QueryRange.h"
#include "dialect/AttnOps.h"

using namespace mlir;
using namespace mlir::attn;

std::optional<QueryRange> QueryRange::get(Operation *op) {
  auto range = op->getAttrOfType<DenseI64ArrayAttr>(kName);
  if (!range)
    return std::nullopt;
  return QueryRange{range[0], range[1]};
}

void QueryRange::setOn(Operation *op) const {
  op->setAttr(kName, DenseI64ArrayAttr::get(op->getContext(), {least, most}));
}

LogicalResult QueryRange::verify(Operation *op, Attribute attribute) {
  if (!isa<AttentionOp, MultiTokenAttentionOp>(op))
    return op->emitError("expected 'attn.queries' on attn.attention or "
                         "attn.multi_token_attention");
  auto range = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!range || range.size() != 2 || range[0] < 1 || range[1] < range[0])
    return op->emitError("expected 'array<i64: least, most>', with 0 < least "
                         "<= most, as 'attn.queries', got ")
           << attribute;
  return success();
}
