//===- AttentionPlan.cpp - How attention is cut and laid out --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/AttentionPlan.h"
#include "lib/Plan/TargetDescription.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

bool attn::needsReferenceLowering(AttentionOp op) {
  return op->getNumResults() == 0 || op.isPacked() || op.hasDropout() ||
         op.isKnownEmpty() || op.getElementType().isF64();
}

// A mask that ends within a tile wastes part of it, more so of a large one; a
// captured tensor needs room in the cache beside the scores.
int64_t attn::getMostOfOneTile(AttentionOp op, const TileSizes &sizes) {
  return op.hasMask() || op.hasScore() ? sizes.variantQueries
                                       : sizes.plainQueries;
}

namespace {

/// A head of `op`, with the sizes that it has or that passes will give it.
struct Head {
  explicit Head(AttentionOp op)
      : op(op), rows(op.getQueryType().getDimSize(2)),
        keySize(op.getQueryType().getDimSize(3)),
        valueSize(op.getValueType().getDimSize(3)) {}

  bool hasAtMost(int64_t count) const {
    return !ShapedType::isDynamic(rows) && rows <= count;
  }
  bool canComputeInRows(int64_t lanes) const;
  bool canComputeInPairs() const;
  int64_t chooseQueries(const TileSizes &sizes, bool inPairs) const;
  int64_t chooseSize(int64_t lanes, int64_t multiple) const;
  OnlineLayout chooseLayout(int64_t lanes, bool inPairs) const;

  mutable AttentionOp op;
  int64_t rows; ///< Of queries; dynamic if only the kernel knows them.
  int64_t keySize, valueSize;
};

} // namespace

/// Whether there is an online form in rows, for vectors of `lanes`.
bool Head::canComputeInRows(int64_t lanes) const {
  return !op.isPacked() && !op.hasDropout() && !op.getElementType().isF64() &&
         rows >= 1 && rows <= lanes && keySize % lanes == 0 &&
         valueSize % lanes == 0 && keySize > 0 && valueSize > 0;
}

/// Whether there is an online form in pairs of bf16.
bool Head::canComputeInPairs() const {
  return op.getElementType().isBF16() && !op.hasDropout() && keySize % 2 == 0 &&
         keySize > 0;
}

int64_t Head::chooseQueries(const TileSizes &sizes, bool inPairs) const {
  int64_t most = getMostOfOneTile(op, sizes);
  // Weights in pairs need room beside the scores, too. But one tile of all
  // queries is the only one to read a head.
  if (hasAtMost(most) || !inPairs || !canComputeInPairs())
    return most;
  return sizes.variantQueries;
}

int64_t Head::chooseSize(int64_t lanes, int64_t multiple) const {
  if (op->getNumResults() == 0 || op.isKnownEmpty() || op.hasDropout() ||
      !op.getElementType().isBF16() || canComputeInRows(lanes))
    return keySize;
  return llvm::alignTo(uint64_t(keySize), uint64_t(multiple));
}

OnlineLayout Head::chooseLayout(int64_t lanes, bool inPairs) const {
  bool hasPairs = inPairs && canComputeInPairs();
  // For more than half a vector of queries, pairs cost less than to widen keys
  // and values, if heads fill registers with them.
  bool prefersPairs =
      hasPairs && rows > lanes / 2 && keySize % (2 * lanes) == 0;
  if (canComputeInRows(lanes) && !prefersPairs)
    return OnlineLayout::Rows;
  return hasPairs ? OnlineLayout::Pairs : OnlineLayout::Lanes;
}

int64_t attn::chooseQueries(AttentionOp op, const TileSizes &sizes,
                            bool inPairs) {
  return Head(op).chooseQueries(sizes, inPairs);
}

int64_t attn::chooseHeadSize(AttentionOp op, int64_t lanes, int64_t multiple) {
  return Head(op).chooseSize(lanes, multiple);
}

OnlineLayout attn::chooseLayout(AttentionOp op, int64_t lanes, bool inPairs) {
  return Head(op).chooseLayout(lanes, inPairs);
}

/// Keys of a block in rows. While one is computed with, the next is fetched: in
/// short turns, so that the memory never waits. With i8 it waits in any case,
/// for conversions, and longer turns cost less.
static int64_t chooseKeysInRows(Type type, int64_t size) {
  int64_t bytes = isa<IntegerType>(type) ? 1 << 13 : 1 << 12;
  size = size * type.getIntOrFloatBitWidth() / 8;
  return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(bytes / size), 16, 256);
}

/// Keys of a block with queries as lanes. Keys and values that are converted in
/// the block leave room in the first-level cache for the state.
static int64_t chooseKeysInLanes(Type type, int64_t size, int64_t most) {
  constexpr int64_t kConvertedBytes = 1 << 14;
  if (type.isF32() || size < 1)
    return most;
  return std::clamp<int64_t>(
      llvm::bit_floor<uint64_t>(kConvertedBytes / (4 * size)),
      std::min<int64_t>(32, most), most);
}

/// Keys of a block for matrix units: fewer for long heads, whose output leaves
/// few registers for scores, and whose queries take workgroup memory.
static int64_t chooseKeysForMatrixUnits(int64_t size, int64_t most) {
  size = std::max<int64_t>(1, size);
  int64_t elements = size > 128 ? 1 << 12 : 1 << 13;
  int64_t keys = llvm::bit_floor<uint64_t>(elements / size);
  return std::clamp<int64_t>(keys, std::min<int64_t>(16, most), most);
}

int64_t attn::chooseKeys(OnlineLayout layout, Type type, int64_t keySize,
                         int64_t valueSize, int64_t most) {
  int64_t size = std::max(keySize, valueSize);
  switch (layout) {
  case OnlineLayout::Lanes:
    return chooseKeysInLanes(type, size, most);
  case OnlineLayout::Rows:
    return chooseKeysInRows(type, size);
  case OnlineLayout::Pairs:
    return most;
  case OnlineLayout::Mma:
    return chooseKeysForMatrixUnits(size, most);
  }
  llvm_unreachable("all layouts are above");
}

AttentionPlan attn::planAttention(AttentionOp op, int64_t length,
                                  const TargetDescription &target) {
  auto sizes = TileSizes::forVectors(target.vectorBits);
  int64_t lanes = target.vectorBits / 32;
  bool inPairs = target.hasPairs();
  Head head(op);
  if (op.isPacked())
    head.rows = ShapedType::kDynamic;
  else if (length == 1) // See attn-specialize-queries.
    head.rows = 1;
  AttentionPlan plan = {.heads = 1};
  // See attn-fold-groups.
  int64_t groupSize = op.getGroupSize();
  if (!needsReferenceLowering(op) &&
      head.hasAtMost(getMostOfOneTile(op, sizes) / groupSize)) {
    plan.heads = groupSize;
    head.rows *= groupSize;
  }
  if (inPairs)
    head.keySize = head.chooseSize(lanes, target.getPairMultiple());
  plan.queries = head.chooseQueries(sizes, inPairs);
  if (head.hasAtMost(plan.queries))
    plan.queries = std::max<int64_t>(1, head.rows / plan.heads);
  plan.layout = head.chooseLayout(lanes, inPairs);
  plan.keys = chooseKeys(plan.layout, op.getElementType(), head.keySize,
                         head.valueSize, sizes.keys);
  return plan;
}
