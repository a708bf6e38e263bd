//===- ContractionLoops.cpp - Loops around vector.contract ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LinalgToVector/ContractionLoops.h"
#include "lib/Conversion/HideRelation.h"
#include "lib/Conversion/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Emits the loops of a contraction.
class Emitter {
public:
  Emitter(OpBuilder &b, Location loc, const Contraction &contraction,
          RegisterBlock block, int64_t width)
      : b(b), loc(loc), contraction(contraction), block(block), width(width) {}

  void emit();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value add(Value value, int64_t addend) {
    if (addend == 0)
      return value;
    return b.createOrFold<arith::AddIOp>(loc, value, constant(addend));
  }
  /// for (i = lower; i < upper; i += step) body(i)
  void emitLoop(Value lower, Value upper, int64_t step,
                function_ref<void(Value)> body);
  void emitRows(Value column);
  void emitStaticRows(int64_t numRows, Value column);
  void emitDynamicRows(Value numRows, Value column);
  /// Computes the block of C at `row` and `column` of `numRows` rows.
  void emitBlock(Value row, Value column, int64_t numRows);
  /// The start of the accumulators of one register for each row.
  Value loadRows(ValueRange rows, Value column);
  /// acc[m,n] += A[m,k] * B[k,n] for k from 0 to `end`, `stride` at a time.
  void emitSteps(ValueRange rows, ValueRange columns, Value end, int64_t stride,
                 SmallVector<Value> &acc);
  /// acc[m,n] += A[m,k] * B[k,n] for one k.
  void emitStep(ValueRange rows, ValueRange columns, Value k,
                SmallVector<Value> &acc);

  OpBuilder &b;
  Location loc;
  const Contraction &contraction;
  RegisterBlock block;
  /// Lanes of a register. Vectors are that wide, not as wide as the block: LLVM
  /// does badly with vectors of other sizes than powers of two.
  int64_t width;
};
} // namespace

/// Whether what `op` computes is the same in every row, and reads nothing that
/// the contraction writes.
static bool hasEqualRows(linalg::LinalgOp op) {
  auto isRead = [&](OpOperand &operand) {
    return isa<MemRefType>(operand.get().getType()) &&
           op.payloadUsesValueFromOperand(&operand);
  };
  return !op.hasIndexSemantics() && llvm::none_of(op->getOpOperands(), isRead);
}

void Emitter::emitLoop(Value lower, Value upper, int64_t step,
                       function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, loc, lower, upper, constant(step));
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Emitter::emit() {
  int64_t numLanes = contraction.getNumLanes();
  int64_t blockLanes = block.vectors * width;
  if (numLanes == blockLanes)
    return emitRows(constant(0));
  emitLoop(constant(0), constant(numLanes), blockLanes,
           [&](Value column) { emitRows(column); });
}

void Emitter::emitRows(Value column) {
  if (int64_t rows = contraction.getNumRows(); !ShapedType::isDynamic(rows))
    return emitStaticRows(rows, column);
  emitDynamicRows(memref::DimOp::create(b, loc, contraction.c, 0), column);
}

void Emitter::emitStaticRows(int64_t numRows, Value column) {
  int64_t rest = numRows % block.rows;
  if (numRows == block.rows)
    return emitBlock(constant(0), column, numRows);
  emitLoop(constant(0), constant(numRows - rest), block.rows,
           [&](Value row) { emitBlock(row, column, block.rows); });
  if (rest != 0)
    emitBlock(constant(numRows - rest), column, rest);
}

/// Where C's old values do not matter, the last block moves back to where it is
/// whole, and rows are computed twice. So there is no code for any number of
/// rows below a block's but one.
void Emitter::emitDynamicRows(Value numRows, Value column) {
  Value rows = constant(block.rows);
  bool canRepeat = contraction.producer && hasEqualRows(contraction.producer);
  Value whole;
  if (canRepeat) {
    Value fits =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, numRows, rows);
    whole = arith::SelectOp::create(b, loc, fits, numRows, constant(0));
  } else {
    Value rest = arith::RemUIOp::create(b, loc, numRows, rows);
    whole = arith::SubIOp::create(b, loc, numRows, rest);
  }
  emitLoop(constant(0), whole, block.rows, [&](Value row) {
    if (canRepeat) {
      Value last = arith::SubIOp::create(b, loc, numRows, rows);
      row = arith::MinSIOp::create(b, loc, row, last);
    }
    emitBlock(row, column, block.rows);
  });
  emitLoop(whole, numRows, 1,
           [&](Value row) { emitBlock(row, column, /*numRows=*/1); });
}

void Emitter::emitBlock(Value row, Value column, int64_t numRows) {
  SmallVector<Value> rows, columns, acc;
  for (int64_t i = 0; i < numRows; ++i)
    rows.push_back(add(row, i));
  for (int64_t i = 0; i < block.vectors; ++i)
    columns.push_back(add(column, i * width));
  for (Value start : columns)
    acc.push_back(loadRows(rows, start));
  SmallVector<Value> rowsOfA = rows;
  if (!contraction.isATransposed && numRows > 1)
    rowsOfA = llvm::map_to_vector(
        rows, [&](Value row) { return hideRelation(b, loc, row); });
  int64_t numSteps = contraction.b.getType().getDimSize(0);
  // The more steps at once, the earlier LLVM moves loads of scalars, which then
  // spill; one alone has too much of the loop's own.
  constexpr int64_t stride = 2;
  if (ShapedType::isDynamic(numSteps)) {
    Value end = memref::DimOp::create(b, loc, contraction.b, 0);
    emitSteps(rowsOfA, columns, end, 1, acc);
  } else {
    int64_t rest = numSteps % stride;
    emitSteps(rowsOfA, columns, constant(numSteps - rest), stride, acc);
    for (; rest > 0; --rest)
      emitStep(rowsOfA, columns, constant(numSteps - rest), acc);
  }
  for (auto [vectors, start] : llvm::zip_equal(acc, columns))
    for (auto [i, index] : llvm::enumerate(rows))
      vector::StoreOp::create(b, loc,
                              vector::ExtractOp::create(b, loc, vectors, i),
                              contraction.c, ValueRange{index, start});
}

Value Emitter::loadRows(ValueRange rows, Value column) {
  Type type = contraction.getElementType();
  auto numRows = static_cast<int64_t>(rows.size());
  auto blockType = VectorType::get({numRows, width}, type);
  linalg::LinalgOp producer = contraction.producer;
  if (producer && hasEqualRows(producer)) {
    Value lanes = computeSlice(b, producer, {rows[0], column}, width)[0];
    return vector::BroadcastOp::create(b, loc, blockType, lanes);
  }
  Value vectors = ub::PoisonOp::create(b, loc, blockType);
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value indices[] = {row, column};
    Value lanes =
        producer
            ? computeSlice(b, producer, indices, width)[0]
            : Value(vector::LoadOp::create(b, loc, VectorType::get(width, type),
                                           contraction.c, indices));
    // Not vector.insert, chains of which fold into single elements.
    vectors = vector::InsertStridedSliceOp::create(
        b, loc, lanes, vectors, ArrayRef<int64_t>{static_cast<int64_t>(i), 0},
        ArrayRef<int64_t>{1});
  }
  return vectors;
}

void Emitter::emitSteps(ValueRange rows, ValueRange columns, Value end,
                        int64_t stride, SmallVector<Value> &acc) {
  auto loop =
      scf::ForOp::create(b, loc, constant(0), end, constant(stride), acc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  acc = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  for (int64_t i = 0; i < stride; ++i)
    emitStep(rows, columns, add(loop.getInductionVar(), i), acc);
  scf::YieldOp::create(b, loc, acc);
  acc = loop.getResults();
}

void Emitter::emitStep(ValueRange rows, ValueRange columns, Value k,
                       SmallVector<Value> &acc) {
  Type type = contraction.getElementType();
  auto numRows = static_cast<int64_t>(rows.size());
  // Scalars, which become broadcasts from memory; loading a vector and
  // broadcasting its elements would keep the shuffle unit busy.
  SmallVector<Value> scalars;
  for (Value row : rows) {
    Value indices[] = {row, k};
    if (contraction.isATransposed)
      std::swap(indices[0], indices[1]);
    scalars.push_back(memref::LoadOp::create(b, loc, contraction.a, indices));
  }
  Value lhs = vector::FromElementsOp::create(
      b, loc, VectorType::get({1, numRows}, type), scalars);
  AffineExpr m, n, l;
  bindDims(b.getContext(), m, n, l);
  using vector::IteratorType;
  for (auto [vectors, column] : llvm::zip_equal(acc, columns)) {
    Value lanes = vector::LoadOp::create(b, loc, VectorType::get(width, type),
                                         contraction.b, ValueRange{k, column});
    Value rhs = vector::BroadcastOp::create(
        b, loc, VectorType::get({1, width}, type), lanes);
    vectors = vector::ContractionOp::create(
        b, loc, lhs, rhs, vectors,
        ArrayRef<ArrayRef<AffineExpr>>{{l, m}, {l, n}, {m, n}},
        {IteratorType::parallel, IteratorType::parallel,
         IteratorType::reduction});
  }
}

void attn::emitContractionLoops(OpBuilder &b, Location loc,
                                const Contraction &contraction,
                                RegisterBlock block, int64_t width) {
  Emitter(b, loc, contraction, block, width).emit();
}
