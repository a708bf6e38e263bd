//===- QueryRange.h - Numbers of queries that calls have --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PLAN_QUERYRANGE_H
#define ATTN_DIALECT_PLAN_QUERYRANGE_H

#include "mlir/IR/Operation.h"

#include <limits>
#include <optional>

namespace mlir::attn {

/// The numbers of queries that an op has code for, where calls give the number,
/// or those of their sequences: from `least` to `most`, which callers promise.
/// A range without an end is right for fewer, too, of which none has code of
/// its own.
struct QueryRange {
  static constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  /// An `array<i64: least, most>` on `attn.attention`, or, of the rows of its
  /// output, on `attn.multi_token_attention`.
  static constexpr llvm::StringLiteral kName = "attn.queries";

  /// What `op` says; nothing if it says nothing.
  static std::optional<QueryRange> get(Operation *op);
  void setOn(Operation *op) const;
  /// Whether it promises nothing, and so is right whatever calls give.
  bool hasAnyNumber() const { return most == kAny; }
  /// Emits an error unless `attribute` is such a range, on such an `op`.
  static LogicalResult verify(Operation *op, Attribute attribute);

  int64_t least, most;
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_PLAN_QUERYRANGE_H
