//===- Check.h - Compares results with what is expected ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_CHECK_H
#define ATTN_TOOLS_ATTNRUN_CHECK_H

#include "attn/error.h"
#include "runtime/Interpreter/Interpreter.h"
#include "runtime/Npy/Npy.h"
#include "runtime/Reference/Compare.h"

#include <span>
#include <string>
#include <vector>

namespace attn::run {

/// What a .npy file says that `result` should be. An error if it has another
/// shape.
Expected<ReferenceResult> readExpected(const std::string &path,
                                       const NpyArray &result);

/// A comparison, and what it was held to.
struct Check {
  reference::Comparison comparison;
  reference::Tolerance tolerance;
};

/// Compares each of the first results with its reference. Floats may differ
/// from it as much as queries that are rounded to i8 make them, if they are.
Expected<std::vector<Check>>
checkResults(std::span<const NpyArray> results,
             std::span<const ReferenceResult> references,
             bool quantizedQueries);

} // namespace attn::run

#endif // ATTN_TOOLS_ATTNRUN_CHECK_H
