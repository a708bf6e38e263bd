//===- Softmax.h - The softmax of an attention ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_SOFTMAX_H
#define ATTN_RAISE_SOFTMAX_H

#include "lib/Raise/Terms.h"

#include <string>

namespace mlir::attn {

/// The score of which `weight` is the softmax over `keys`: linalg.softmax, or
/// exp(s - max) / sum(exp(s - max)), perhaps with 0 for a row of -inf, and with
/// conversions between types of floats anywhere. Nothing if it is none; if it
/// looks like one, `reason` says what differs.
std::optional<Term> matchSoftmax(Terms &terms, const Term &weight,
                                 const AxisList &keys, std::string &reason);

} // namespace mlir::attn

#endif // ATTN_RAISE_SOFTMAX_H
