//===- VectorizeRoundedColumns.cpp - Rows of bf16 from columns of f32 -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
static Value emitColumn(RewriterBase &b, linalg::LinalgOp op, Value row,
                        Value column) {
  Location loc = op.getLoc();
  auto type = VectorType::get(width, b.getF32Type());
  Value loops[] = {row, column};
  SmallVector<Value> operands;
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<Value> indices;
    for (AffineExpr result : op.getMatchingIndexingMap(input).getResults())
      indices.push_back(loops[cast<AffineDimExpr>(result).getPosition()]);
    operands.push_back(
        vector::LoadOp::create(b, loc, type, input->get(), indices));
  }
  operands.resize(op.getBlock()->getNumArguments());
  auto rounding = computeSlice(b, op, loops, width, operands)
                      .front()
                      .getDefiningOp<arith::TruncFOp>();
  Value exact = rounding.getIn();
  b.eraseOp(rounding);
  return exact;
}

LogicalResult attn::vectorizeRoundedColumns(RewriterBase &rewriter,
                                            linalg::LinalgOp op) {
  if (!roundsColumns(op))
    return failure();
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  auto add = [&](Value value, int64_t addend) {
    return rewriter.createOrFold<arith::AddIOp>(loc, value, constant(addend));
  };
  auto emitLoop = [&](int64_t upper, int64_t step) {
    auto loop = scf::ForOp::create(rewriter, loc, constant(0), constant(upper),
                                   constant(step));
    rewriter.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Value row = emitLoop(sizes[0], width);
  Value column = emitLoop(sizes[1], 2 * width);

  auto words = VectorType::get(width, rewriter.getI32Type());
  SmallVector<Value> square;
  for (int64_t i = 0; i < 2 * width; i += 2) {
    Value first = emitColumn(rewriter, op, row, add(column, i)),
          second = emitColumn(rewriter, op, row, add(column, i + 1));
    square.push_back(vector::BitCastOp::create(
        rewriter, loc, words, emitPairs(rewriter, loc, first, second)));
  }
  // Squares of `part` words within the parts of registers, then of the parts.
  constexpr int64_t part = transposedBits / 32;
  MutableArrayRef<Value> all(square);
  for (int64_t i = 0; i < width; i += part)
    transposeParts(rewriter, loc, all.slice(i, part), /*unit=*/1);
  SmallVector<Value> rows(width);
  for (int64_t i = 0; i < part; ++i) {
    SmallVector<Value> parts;
    for (int64_t k = i; k < width; k += part)
      parts.push_back(square[k]);
    transposeParts(rewriter, loc, parts, /*unit=*/part);
    for (auto [k, value] : llvm::enumerate(parts))
      rows[int64_t(k) * part + i] = value;
  }
  auto pairs = VectorType::get(2 * width, rewriter.getBF16Type());
  for (auto [i, value] : llvm::enumerate(rows))
    vector::StoreOp::create(
        rewriter, loc, vector::BitCastOp::create(rewriter, loc, pairs, value),
        op.getDpsInitOperand(0)->get(),
        ValueRange{add(row, int64_t(i)), column});
  rewriter.eraseOp(op);
  return success();
}
