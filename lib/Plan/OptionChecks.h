//===- OptionChecks.h - What options of passes may be -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_OPTIONCHECKS_H
#define ATTN_PLAN_OPTIONCHECKS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <limits>
#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::attn {

/// An option with the value that it was given. Options of passes
/// convert to it.
struct NumericOption {
  StringRef name;
  int64_t value;

  template <typename Option>
  NumericOption(const Option &option)
      : name(option.ArgStr), value(option.getValue()) {}
};

/// Rows, lanes and keys of a tile at most: each may become an operation.
inline constexpr int64_t kMostOfTile = 4096;
inline constexpr int64_t kMostNumber = std::numeric_limits<int32_t>::max();

/// Nothing if the option is a multiple of `unit` from `low` to `high`; else
/// what is wrong, by its name.
std::string checkRange(const NumericOption &option, int64_t low, int64_t high,
                       int64_t unit = 1);

/// Emits the first of `problems` that is one as an error of a pass on `op`.
LogicalResult reportOptions(Operation *op, ArrayRef<std::string> problems);

} // namespace mlir::attn

#endif // ATTN_PLAN_OPTIONCHECKS_H
