//===- PlanFields.h - Parameters of a plan by name --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PLAN_PLANFIELDS_H
#define ATTN_DIALECT_PLAN_PLANFIELDS_H

namespace mlir::attn {

/// The parameters of `#attn.plan`, to set some of them by name.
struct PlanFields {
  std::optional<OnlineLayout> layout = {};
  int64_t heads = 0, rows = 0, lanes = 0, headSize = 0, keys = 0, chunk = 0;
  int64_t columns = 0, features = 0;
  std::optional<Packs> packs = {};
  int64_t ahead = 0;
  bool inWarpgroups = false;
  bool isBatchInvariant = false;
  PlanAttr rest = {};
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_PLAN_PLANFIELDS_H
