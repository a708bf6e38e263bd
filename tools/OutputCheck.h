//===- OutputCheck.h - Holds an output to the reference ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_OUTPUTCHECK_H
#define ATTN_TOOLS_OUTPUTCHECK_H

#include "attn/error.h"
#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Compare.h"

#include <span>
#include <string>

namespace attn {

/// How far an output is from the reference, and how far it may be.
struct Accuracy {
  double error = 0, bound = 0;
};

/// Holds an output to what is expected. An error begins with its name.
Expected<Accuracy> compareOutput(const std::string &name,
                                 const TensorView &output,
                                 std::span<const double> expected,
                                 const reference::Tolerance &tolerance);

/// The same of one row, (1, 1, 1, Dv), with the tolerance of one.
/// `quantizedQueries`: the kernel rounds them to i8.
Expected<Accuracy> compareRow(const std::string &name, const TensorView &row,
                              std::span<const double> expected,
                              bool quantizedQueries = false);

/// The same with the float64 reference of the problem, which has one query.
Expected<Accuracy> checkRow(const std::string &name, const TensorView &row,
                            const reference::AttentionProblem &problem,
                            bool quantizedQueries = false);

/// That a whole output was written: it held nothing but NaN before.
Status checkWritten(const TensorView &output);

} // namespace attn

#endif // ATTN_TOOLS_OUTPUTCHECK_H
