//===- QueryRange.h - Numbers of queries that calls have --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PLAN_QUERYRANGE_H
#define ATTN_DIALECT_PLAN_QUERYRANGE_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::attn {

/// How many queries an op computes whenever it has any: from `least` to `most`.
/// Callers promise it, of a dynamic number.
struct QueryRange {
  /// An `array<i64: least, most>` on `attn.attention`.
  static constexpr llvm::StringLiteral kName = "attn.queries";

  /// What `op` says; nothing if it says nothing.
  static std::optional<QueryRange> get(Operation *op);
  void setOn(Operation *op) const;
  /// Emits an error unless `attribute` is such a range, on such an `op`.
  static LogicalResult verify(Operation *op, Attribute attribute);

  int64_t least, most;
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_PLAN_QUERYRANGE_H
