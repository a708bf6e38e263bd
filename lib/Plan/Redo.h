//===- Redo.h - Results that are not finite, once more ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_REDO_H
#define ATTN_PLAN_REDO_H

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Plan/Plan.h"

namespace mlir::attn {

/// The results as they are if they are finite, or computed once more by the
/// same op without a plan, which the reference lowering is for (B4).
template <typename Op>
SmallVector<Value> emitUnlessFinite(IndexBuilder &b, Op op, Value isFinite,
                                    ValueRange results) {
  return b.choose(
      isFinite, [&] { return SmallVector<Value>(results); },
      [&] {
        auto exact = cast<Op>(b.clone(*op));
        exact->removeAttr(PlanAttr::kName);
        exact.getOutsMutable().assign(results);
        return SmallVector<Value>(exact.getResults());
      });
}

} // namespace mlir::attn

#endif // ATTN_PLAN_REDO_H
