//===- VectorizeRoundedColumns.cpp - Rows of bf16 from columns of f32 -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// Pairs of bf16, or numbers of f32, in a register of 512 bits.
static constexpr int64_t width = 16;

/// Whether `operand`, of an operation of two loops, is read transposed.
static bool isReadTransposed(OpOperand *operand) {
  auto op = cast<linalg::LinalgOp>(operand->getOwner());
  return op.getMatchingIndexingMap(operand).getNumResults() == 2;
}

/// Whether `operand`, of an operation of two loops, is read along the first.
static bool isReadInColumns(OpOperand *operand) {
  auto op = cast<linalg::LinalgOp>(operand->getOwner());
  AffineMap map = op.getMatchingIndexingMap(operand);
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  return type && type.getElementType().isF32() && isContiguousAlongRows(type) &&
         map.isProjectedPermutation() && map.getNumResults() > 0 &&
         map.getResults().back() == getAffineDimExpr(0, map.getContext());
}

static bool writesRoundedRows(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return false;
  OpOperand &output = *op.getDpsInitOperand(0);
  auto type = dyn_cast<MemRefType>(output.get().getType());
  auto rounding = op.getBlock()
                      ->getTerminator()
                      ->getOperand(0)
                      .getDefiningOp<arith::TruncFOp>();
  return type && type.getElementType().isBF16() &&
         isContiguousAlongRows(type) &&
         op.getMatchingIndexingMap(&output).isIdentity() &&
         !op.payloadUsesValueFromOperand(&output) && rounding &&
         rounding->getBlock() == op.getBlock() && rounding->hasOneUse() &&
         rounding.getIn().getType().isF32();
}

static bool roundsColumns(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() != 2 ||
      op.getNumParallelLoops() != 2 || op.hasIndexSemantics() ||
      !writesRoundedRows(op) || !whyNoVectorBody(op).empty())
    return false;
  // In squares that are all whole.
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  return !ShapedType::isDynamic(sizes[0]) && sizes[0] % width == 0 &&
         !ShapedType::isDynamic(sizes[1]) && sizes[1] % (2 * width) == 0 &&
         llvm::all_of(op.getDpsInputOperands(), isReadInColumns) &&
         llvm::any_of(op.getDpsInputOperands(), isReadTransposed);
}

/// `width` elements from a row and a column on, along the column, before they
/// are rounded.
static Value emitColumn(IndexBuilder &b, linalg::LinalgOp op, Value row,
                        Value column) {
  auto type = VectorType::get(width, b.getF32Type());
  Value loops[] = {row, column};
  SmallVector<Value> operands;
  for (OpOperand *input : op.getDpsInputOperands())
    operands.push_back(vector::LoadOp::create(
        b, type, input->get(), getSliceIndices(b, *input, loops)));
  operands.resize(op.getBlock()->getNumArguments());
  auto rounding = computeSlice(b, op, loops, width, operands)
                      .front()
                      .getDefiningOp<arith::TruncFOp>();
  Value exact = rounding.getIn();
  rounding->erase();
  return exact;
}

LogicalResult attn::vectorizeRoundedColumns(RewriterBase &rewriter,
                                            linalg::LinalgOp op) {
  if (!roundsColumns(op))
    return failure();
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Value row = b.enterLoop(0, sizes[0], width);
  Value column = b.enterLoop(0, sizes[1], 2 * width);

  auto words = VectorType::get(width, b.getI32Type());
  SmallVector<Value> square;
  for (int64_t i = 0; i < 2 * width; i += 2) {
    Value first = emitColumn(b, op, row, b.add(column, i)),
          second = emitColumn(b, op, row, b.add(column, i + 1));
    square.push_back(
        vector::BitCastOp::create(b, words, emitPairs(b, first, second)));
  }
  // Squares of `part` words within the parts of registers, then of the parts.
  constexpr int64_t part = transposedBits / 32;
  MutableArrayRef<Value> all(square);
  for (int64_t i = 0; i < width; i += part)
    transposeParts(b, all.slice(i, part), /*unit=*/1);
  SmallVector<Value> rows(width);
  for (int64_t i = 0; i < part; ++i) {
    SmallVector<Value> parts;
    for (int64_t k = i; k < width; k += part)
      parts.push_back(square[k]);
    transposeParts(b, parts, /*unit=*/part);
    for (auto [k, value] : llvm::enumerate(parts))
      rows[int64_t(k) * part + i] = value;
  }
  auto pairs = VectorType::get(2 * width, b.getBF16Type());
  for (auto [i, value] : llvm::enumerate(rows))
    vector::StoreOp::create(b, vector::BitCastOp::create(b, pairs, value),
                            op.getDpsInitOperand(0)->get(),
                            ValueRange{b.add(row, int64_t(i)), column});
  rewriter.eraseOp(op);
  return success();
}
