//===- RowCheck.h - Holds rows of an output to the reference -- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_ROWCHECK_H
#define ATTN_TOOLS_ATTN_BENCH_ROWCHECK_H

#include "attn/error.h"
#include "runtime/Reference/Attention.h"

#include <string>

namespace attn::bench {

/// Holds one row of an output, (1, 1, 1, Dv), to the float64 reference of the
/// problem, which has one query. An error begins with the name of the row.
/// `quantizedQueries`: the kernel rounds them to i8.
Status checkRow(const std::string &name, const TensorView &row,
                const reference::AttentionProblem &problem,
                bool quantizedQueries = false);

/// The same with the row that is expected.
Status compareRow(const std::string &name, const TensorView &row,
                  const std::vector<double> &expected,
                  bool quantizedQueries = false);

/// That a whole output was written: it held nothing but NaN before.
Status checkWritten(const TensorView &output);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_ROWCHECK_H
