//===- Interpreter.h - Evaluates IR text in float64 -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel should give, by another way than compiling it: attn.attention
// is computed by the oracle of runtime/Reference, with its regions interpreted
// one position at a time. Nothing here is shared with the lowerings.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_INTERPRETER_H
#define ATTN_RUNTIME_INTERPRETER_INTERPRETER_H

#include "attn/error.h"
#include "attn/kernel.h"
#include "runtime/Reference/Compare.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace attn {

/// One result of a function, in double precision.
struct ReferenceResult {
  /// Element type in the IR. With `quantity` it decides the tolerance.
  ElementType type = ElementType::f32;
  reference::Quantity quantity = reference::Quantity::output;
  std::vector<std::int64_t> shape;
  std::vector<double> values; ///< Row-major.
  /// What errors are relative to (see reference::compare), if that is known.
  std::vector<double> scales = {};
};

/// Evaluates function `entry` of MLIR text, which may be written in whatever
/// kernels may be, but forms of attention that only lowerings make. Elements of
/// linalg are computed one by one: slowly.
///
/// An error says, with the place in the text, which operation cannot be
/// evaluated, or why it has no result for these arguments. The same if
/// its loops have more than `maxIterations` in all, perhaps without end.
Expected<std::vector<ReferenceResult>> interpret(
    std::string_view text, std::string_view fileName, std::string_view entry,
    std::span<const Argument> arguments,
    std::int64_t maxIterations = std::numeric_limits<std::int64_t>::max());

/// Counts the floating-point operations of the attn.attention of such a
/// function, for these arguments, as if no position were masked: 2 * (Dk + Dv)
/// for each query head and each pair of a query and a key of one sequence.
/// Errors as for `interpret`.
Expected<double> countDenseFlops(std::string_view text,
                                 std::string_view fileName,
                                 std::string_view entry,
                                 std::span<const Argument> arguments);

} // namespace attn

#endif // ATTN_RUNTIME_INTERPRETER_INTERPRETER_H
