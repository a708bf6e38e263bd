//===- QueryForms.h - A kernel's forms for numbers of queries ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_QUERYFORMS_H
#define ATTN_PIPELINES_QUERYFORMS_H

#include "lib/Kernel/KernelSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <variant>

namespace mlir::attn {

/// The numbers of queries of a batch's sequences, in an argument of a function:
/// where each begins, and the last one ends, or they themselves (A7).
struct SequenceLengths {
  unsigned argument;
  bool isCumulative;
  bool operator==(const SequenceLengths &) const = default;
};

/// Forms that the attention of a prepared function is lowered in, depending on
/// the number of queries, or, of multi-token attention, of rows of the output:
/// one for up to each of `most`, in ascending order, and the last one for more,
/// and for none.
struct QueryForms {
  /// The number of queries, or those of sequences, which may have any each.
  std::variant<LinearSize, SequenceLengths> length;
  SmallVector<int64_t> most;
};

/// The forms of `entry` for the CPU of its module's target, which one number of
/// queries chooses that is known before a call, a sum over its arguments, or
/// the numbers in one of these. Nothing if there is one form, or several such
/// numbers of `attn.attention`.
std::optional<QueryForms> findQueryForms(func::FuncOp entry);

/// Says on all attention of `entry` of that number that calls have as many
/// queries as the form of that index is for.
void selectQueryForm(func::FuncOp entry, const QueryForms &forms,
                     unsigned index);

} // namespace mlir::attn

#endif // ATTN_PIPELINES_QUERYFORMS_H
