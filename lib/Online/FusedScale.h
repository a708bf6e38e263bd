//===- FusedScale.h - Scales in exponents -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_FUSEDSCALE_H
#define ATTN_ONLINE_FUSEDSCALE_H

#include "dialect/AttnOps.h"

#include <optional>

namespace mlir::attn {

/// A scale that can be part of the exponent's factor, so that scores stay as
/// the product left them. It is at most ln 2, with which no score overflows,
/// and so large that a difference of scores overflows only if its weight is 0.
std::optional<double> findFusedScale(OnlineAttentionOp op);

} // namespace mlir::attn

#endif // ATTN_ONLINE_FUSEDSCALE_H
