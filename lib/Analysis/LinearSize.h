//===- LinearSize.h - Sizes as sums over arguments --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_LINEARSIZE_H
#define ATTN_ANALYSIS_LINEARSIZE_H

#include "attn/kernel.h"

#include "mlir/IR/Value.h"

namespace mlir::attn {

/// Size of dimension `dim` of the tensor `value` as a sum of sizes and integer
/// values of the arguments of the function around it; nothing if it is not one.
std::optional<::attn::SizeExpr> computeLinearSize(Value value, int64_t dim);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_LINEARSIZE_H
