//===- VectorizeTranspose.cpp - Transposition in registers ----------------===//
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

static bool readsColumns(linalg::LinalgOp op) {
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

namespace {
/// Emits `numRows` rows of `width` results at a row and a column.
class TransposeEmitter {
public:
  TransposeEmitter(IndexBuilder &b, linalg::LinalgOp op, int64_t numRows,
                   int64_t width)
      : b(b), op(op), numRows(numRows), width(width) {}

  void emit(Value row, Value column) {
    SmallVector<SmallVector<Value>> transposed;
    for (OpOperand *operand : op.getDpsInputOperands())
      transposed.push_back(isTransposed(*operand) ? load(*operand, row, column)
                                                  : SmallVector<Value>());
    for (int64_t i = 0; i < numRows; ++i)
      emitRow({b.add(row, i), column}, i, transposed);
  }

private:
  SmallVector<Value> load(OpOperand &operand, Value row, Value column) {
    auto type = cast<MemRefType>(operand.get().getType());
    auto part = VectorType::get(numRows, type.getElementType());
    return loadTransposed(b, numRows, width, [&](int64_t i) -> Value {
      return vector::LoadOp::create(b, part, operand.get(),
                                    ValueRange{b.add(column, i), row});
    });
  }

  void emitRow(ValueRange loops, int64_t i,
               ArrayRef<SmallVector<Value>> transposed) {
    SmallVector<Value> operands;
    for (auto [operand, rows] :
         llvm::zip_equal(op.getDpsInputOperands(), transposed))
      operands.push_back(rows.empty() ? loadSlice(b, *operand, loops, width)
                                      : rows[i]);
    operands.resize(op.getBlock()->getNumArguments());
    for (auto [result, output] :
         llvm::zip_equal(computeSlice(b, op, loops, width, operands),
                         op.getDpsInitsMutable()))
      storeSlice(b, result, output, loops);
  }

  IndexBuilder &b;
  linalg::LinalgOp op;
  int64_t numRows, width;
};
} // namespace

/// The last rows and columns move back to where they are whole.
LogicalResult attn::vectorizeTranspose(RewriterBase &rewriter,
                                       linalg::LinalgOp op,
                                       const VectorRegisters &registers) {
  if (!readsColumns(op))
    return failure();
  rewriter.setInsertionPoint(op);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t bits = getWidestElementBits(op);
  auto fit = [](int64_t size, int64_t available) {
    return std::min<int64_t>(size, llvm::bit_floor<uint64_t>(available));
  };
  int64_t width = fit(registers.getWidth(bits), sizes[1]);
  int64_t part = std::max<int64_t>(transposedBits / bits, 1);
  int64_t numRows = std::min(fit(part, sizes[0]), width);
  IndexBuilder b(op.getLoc(), rewriter);
  auto enter = [&](int64_t upper, int64_t size) {
    Value first = b.enterLoop(0, upper, size);
    return upper % size == 0 ? first : b.min(first, upper - size);
  };
  // What is read transposed is read along its rows.
  Value column = enter(sizes[1], width), row = enter(sizes[0], numRows);
  TransposeEmitter(b, op, numRows, width).emit(row, column);
  rewriter.eraseOp(op);
  return success();
}
