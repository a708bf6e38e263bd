//===- QueryForms.cpp - A kernel's forms for numbers of queries -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipelines/QueryForms.h"
#include "dialect/Plan/QueryRange.h"
#include "dialect/Shared/KnownSizes.h"
#include "lib/Plan/Plan.h"

using namespace mlir;
using namespace mlir::attn;

/// The argument of `entry` with the numbers of queries of a batch's sequences.
static std::optional<SequenceLengths> findSequenceLengths(AttentionOp op,
                                                          func::FuncOp entry) {
  if (!op.isRagged())
    return std::nullopt;
  Value lengths = op.isPacked() ? op.getCumulativeQuery() : op.getCounts();
  auto argument = dyn_cast<BlockArgument>(lengths);
  if (!argument || argument.getOwner() != &entry.front())
    return std::nullopt;
  return SequenceLengths{argument.getArgNumber(), op.isPacked()};
}

/// Whether calls may have more queries than the op's forms for few are for.
static bool mayHaveMany(AttentionOp op) {
  std::optional<int64_t> known = getKnownMost(op.getQuery(), 2);
  return !known || *known > planFewQueries(op, Device::CPU).back();
}

/// Attention that has forms which depend on numbers of queries alone, and does
/// not say which.
static SmallVector<AttentionOp> collectSpecialized(func::FuncOp entry) {
  SmallVector<AttentionOp> ops;
  entry.walk([&](AttentionOp op) {
    if (QueryRange::get(op) || !findObstacle(op).empty())
      return;
    if (op.isRagged() ? findSequenceLengths(op, entry) && mayHaveMany(op)
                      : op.getQueryType().isDynamicDim(2))
      ops.push_back(op);
  });
  return ops;
}

/// What of the arguments of `entry` chooses a form of `op`.
static std::optional<decltype(QueryForms::length)>
findLength(AttentionOp op, func::FuncOp entry, LinearSizes &sizes) {
  if (std::optional<SequenceLengths> lengths = findSequenceLengths(op, entry))
    return lengths;
  return sizes.get(op.getQuery(), 2);
}

std::optional<QueryForms> attn::findQueryForms(func::FuncOp entry) {
  SmallVector<AttentionOp> ops = collectSpecialized(entry);
  if (ops.empty())
    return std::nullopt;
  LinearSizes sizes(entry);
  std::optional<decltype(QueryForms::length)> length;
  QueryForms forms;
  for (AttentionOp op : ops) {
    auto own = findLength(op, entry, sizes);
    if (!own || (length && *length != *own))
      return std::nullopt;
    length = own;
    llvm::append_range(forms.most, planFewQueries(op, Device::CPU));
  }
  forms.length = std::move(*length);
  llvm::sort(forms.most);
  forms.most.erase(llvm::unique(forms.most), forms.most.end());
  return forms;
}

void attn::selectQueryForm(func::FuncOp entry, const QueryForms &forms,
                           unsigned index) {
  QueryRange range = {1, QueryRange::kAny};
  if (index > 0)
    range.least = forms.most[index - 1] + 1;
  if (index < forms.most.size())
    range.most = forms.most[index];
  for (AttentionOp op : collectSpecialized(entry))
    range.setOn(op);
}
