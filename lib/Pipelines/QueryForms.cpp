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

/// Whether an op has forms that depend on numbers of queries alone, and does
/// not say which.
static bool isSpecialized(AttentionOp op, func::FuncOp entry) {
  if (!findObstacle(op).empty())
    return false;
  return op.isRagged() ? findSequenceLengths(op, entry) && mayHaveMany(op)
                       : op.getQueryType().isDynamicDim(2);
}

static bool isSpecialized(MultiTokenAttentionOp op) {
  return cast<ShapedType>(op.getOutput().getType()).isDynamicDim(2) &&
         !planFewQueries(op).empty();
}

static SmallVector<Operation *> collectSpecialized(func::FuncOp entry) {
  SmallVector<Operation *> ops;
  entry.walk([&](Operation *op) {
    if (QueryRange::get(op))
      return;
    auto attention = dyn_cast<AttentionOp>(op);
    auto ofTokens = dyn_cast<MultiTokenAttentionOp>(op);
    if ((attention && isSpecialized(attention, entry)) ||
        (ofTokens && isSpecialized(ofTokens)))
      ops.push_back(op);
  });
  return ops;
}

/// What of the arguments of `entry` chooses a form of `op`, and for how many
/// queries it has some.
static std::optional<QueryForms> findForms(Operation *op, func::FuncOp entry,
                                           LinearSizes &sizes) {
  QueryForms forms;
  std::optional<LinearSize> size;
  if (auto ofTokens = dyn_cast<MultiTokenAttentionOp>(op)) {
    forms.most = planFewQueries(ofTokens);
    size = sizes.get(ofTokens.getOutput(), 2);
  } else {
    auto attention = cast<AttentionOp>(op);
    forms.most = planFewQueries(attention, Device::CPU);
    if (auto lengths = findSequenceLengths(attention, entry)) {
      forms.length = *lengths;
      return forms;
    }
    size = sizes.get(attention.getQuery(), 2);
  }
  if (!size)
    return std::nullopt;
  forms.length = std::move(*size);
  return forms;
}

std::optional<QueryForms> attn::findQueryForms(func::FuncOp entry) {
  LinearSizes sizes(entry);
  std::optional<QueryForms> all;
  auto add = [&](const QueryForms &own) {
    if (!all)
      all = QueryForms{own.length, {}};
    if (all->length != own.length)
      return false;
    llvm::append_range(all->most, own.most);
    return true;
  };
  SmallVector<Operation *> ops = collectSpecialized(entry);
  for (Operation *op : ops)
    if (isa<AttentionOp>(op)) {
      std::optional<QueryForms> own = findForms(op, entry, sizes);
      if (!own || !add(*own))
        return std::nullopt;
    }
  // Multi-token attention of other numbers has its forms in each of these.
  for (Operation *op : ops)
    if (isa<MultiTokenAttentionOp>(op))
      if (std::optional<QueryForms> own = findForms(op, entry, sizes))
        (void)add(*own);
  if (!all)
    return std::nullopt;
  llvm::sort(all->most);
  all->most.erase(llvm::unique(all->most), all->most.end());
  return all;
}

void attn::selectQueryForm(func::FuncOp entry, const QueryForms &forms,
                           unsigned index) {
  QueryRange range = {1, QueryRange::kAny};
  if (index > 0)
    range.least = forms.most[index - 1] + 1;
  if (index < forms.most.size())
    range.most = forms.most[index];
  LinearSizes sizes(entry);
  for (Operation *op : collectSpecialized(entry))
    if (std::optional<QueryForms> own = findForms(op, entry, sizes);
        own && own->length == forms.length)
      range.setOn(op);
}
