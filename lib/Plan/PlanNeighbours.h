//===- PlanNeighbours.h - Other plans to measure ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a search for the best plan of an op on one machine goes through.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_PLANNEIGHBOURS_H
#define ATTN_PLAN_PLANNEIGHBOURS_H

#include "dialect/AttnOps.h"

#include <optional>

namespace mlir::attn {

/// Whether `op` has a plan that can be tuned: attention, a projection or
/// multi-token attention that kernels compute.
bool hasPlanToTune(Operation *op);

/// Plans to say to `op` that differ in one number from what its own says, or,
/// where that says nothing, from what is planned of a CPU: half and twice as
/// much. Those that cannot be carried out are left out, as are those that the
/// model of the caches rules out. `length` is the number of queries of a call,
/// where that is known; which numbers of queries have forms of their own stays.
SmallVector<PlanAttr> listPlanNeighbours(Operation *op,
                                         std::optional<int64_t> length);

} // namespace mlir::attn

#endif // ATTN_PLAN_PLANNEIGHBOURS_H
