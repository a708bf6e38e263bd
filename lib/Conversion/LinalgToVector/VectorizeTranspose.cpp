//===- VectorizeTranspose.cpp - Transposition in registers ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LinalgToVector/LinalgToVector.h"
#include "lib/Conversion/LinalgToVector/RowSlices.h"
#include "lib/Conversion/LinalgToVector/TransposeSquare.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether `operand`, of an operation of two loops, is read transposed.
static bool isTransposed(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  return type && map.isPermutation() && !map.isIdentity() &&
         hasVectorLayout(type.getElementType()) && isContiguousAlongRows(type);
}

/// Whether `operand` is written row by row and not read, so that writing an
/// element twice does not matter.
static bool isWrittenInRows(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  auto type = cast<MemRefType>(operand.get().getType());
  return op.getMatchingIndexingMap(&operand).isIdentity() &&
         hasVectorLayout(type.getElementType()) &&
         isContiguousAlongRows(type) &&
         !op.payloadUsesValueFromOperand(&operand);
}

/// Whether `operand` is read along rows, or does not depend on the columns.
static bool isReadInRows(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return operand.get().getType().isIntOrIndexOrFloat();
  return map.isProjectedPermutation() &&
         hasVectorLayout(type.getElementType()) &&
         (!map.isFunctionOfDim(1) ||
          (map.getResults().back() == getAffineDimExpr(1, map.getContext()) &&
           isContiguousAlongRows(type)));
}

static bool matches(linalg::LinalgOp op) {
  auto isMissing = [](int64_t size) {
    return ShapedType::isDynamic(size) || size == 0;
  };
  return op.hasPureBufferSemantics() && op.getNumLoops() == 2 &&
         op.getNumParallelLoops() == 2 &&
         llvm::none_of(op.getStaticLoopRanges(), isMissing) &&
         llvm::any_of(op->getOpOperands(), isTransposed) &&
         llvm::all_of(op.getDpsInitsMutable(), isWrittenInRows) &&
         llvm::all_of(op.getDpsInputOperands(),
                      [](OpOperand *operand) {
                        return isTransposed(*operand) || isReadInRows(*operand);
                      }) &&
         whyNoVectorBody(op).empty();
}

/// To interleave row i with row i + n/2 rotates the bits of an element's row
/// and column, taken together, by one.
void attn::transposeSquare(OpBuilder &b, Location loc,
                           SmallVector<Value> &rows) {
  size_t size = rows.size();
  SmallVector<int64_t> low, high;
  for (size_t i = 0; i < size / 2; ++i) {
    low.append({int64_t(i), int64_t(size + i)});
    high.append({int64_t(size / 2 + i), int64_t(size + size / 2 + i)});
  }
  for (size_t stride = 1; stride < size; stride *= 2) {
    SmallVector<Value> next;
    for (size_t i = 0; i < size / 2; ++i)
      for (ArrayRef<int64_t> mask : {low, high})
        next.push_back(vector::ShuffleOp::create(b, loc, rows[i],
                                                 rows[size / 2 + i], mask));
    rows = std::move(next);
  }
}

namespace {
/// Emits the square of results at a row and a column.
class SquareEmitter {
public:
  SquareEmitter(OpBuilder &b, linalg::LinalgOp op, int64_t size)
      : b(b), loc(op.getLoc()), op(op), size(size) {}

  void emit(Value row, Value column) {
    SmallVector<SmallVector<Value>> transposed;
    for (OpOperand *operand : op.getDpsInputOperands())
      transposed.push_back(isTransposed(*operand)
                               ? loadTransposed(*operand, row, column)
                               : SmallVector<Value>());
    for (int64_t i = 0; i < size; ++i)
      emitRow({add(row, i), column}, i, transposed);
  }

private:
  Value add(Value value, int64_t addend) {
    Value constant = arith::ConstantIndexOp::create(b, loc, addend);
    return b.createOrFold<arith::AddIOp>(loc, value, constant);
  }

  SmallVector<Value> loadTransposed(OpOperand &operand, Value row,
                                    Value column) {
    auto type = cast<MemRefType>(operand.get().getType());
    auto vector = VectorType::get(size, type.getElementType());
    SmallVector<Value> rows;
    for (int64_t i = 0; i < size; ++i)
      rows.push_back(vector::LoadOp::create(b, loc, vector, operand.get(),
                                            ValueRange{add(column, i), row}));
    transposeSquare(b, loc, rows);
    return rows;
  }

  void emitRow(ValueRange loops, int64_t i,
               ArrayRef<SmallVector<Value>> transposed) {
    SmallVector<Value> operands;
    for (auto [operand, rows] :
         llvm::zip_equal(op.getDpsInputOperands(), transposed))
      operands.push_back(rows.empty() ? loadSlice(b, *operand, loops, size)
                                      : rows[i]);
    operands.resize(op.getBlock()->getNumArguments());
    for (auto [result, output] :
         llvm::zip_equal(computeSlice(b, op, loops, size, operands),
                         op.getDpsInitsMutable()))
      storeSlice(b, result, output, loops);
  }

  OpBuilder &b;
  Location loc;
  linalg::LinalgOp op;
  int64_t size;
};
} // namespace

/// The last squares move back to where they are whole.
LogicalResult attn::vectorizeTranspose(RewriterBase &rewriter,
                                       linalg::LinalgOp op,
                                       const VectorRegisters &registers) {
  if (!matches(op))
    return failure();
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto fitting = llvm::bit_floor<uint64_t>(std::min(sizes[0], sizes[1]));
  int64_t size =
      std::min<int64_t>(registers.getWidth(getWidestElementBits(op)), fitting);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value step = arith::ConstantIndexOp::create(rewriter, loc, size);
  SmallVector<Value> corner;
  for (int64_t upper : sizes) {
    Value end = arith::ConstantIndexOp::create(rewriter, loc, upper);
    auto loop = scf::ForOp::create(rewriter, loc, zero, end, step);
    rewriter.setInsertionPointToStart(loop.getBody());
    corner.push_back(loop.getInductionVar());
    if (upper % size == 0)
      continue;
    Value last = arith::ConstantIndexOp::create(rewriter, loc, upper - size);
    corner.back() = arith::MinSIOp::create(rewriter, loc, corner.back(), last);
  }
  SquareEmitter(rewriter, op, size).emit(corner[0], corner[1]);
  rewriter.eraseOp(op);
  return success();
}
