//===- VectorizeConvolution.cpp - Convolutions in registers ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of the output's rows, of one vector each, stays in registers, and so
// does a column of the kernel. A vector of the input is loaded once for all
// rows of the column, each of which adds it to another row of the output:
//
//   for each matrix e and column k of the kernel
//     w(a) = kernel(e, a, k)                           in all lanes
//     for each row i of the input
//       x = input(e, i, j + k)
//       for each row a of the kernel
//         sum(i - a) += w(a) * x
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of a kernel that are in registers at most.
static constexpr int64_t kMostTaps = 8;

bool attn::isOfStaticF32(linalg::LinalgOp op) {
  return llvm::all_of(op->getOperandTypes(), [](Type operand) {
    auto type = dyn_cast<MemRefType>(operand);
    return type && type.getElementType().isF32() && type.hasStaticShape() &&
           !llvm::is_contained(type.getShape(), 0);
  });
}

/// Whether `op` is output(r, j) += input(e, r + a, j + k) * kernel(e, a, k), of
/// static sizes.
static bool isConvolution(linalg::LinalgOp op, int64_t width) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() != 5 ||
      op.getNumParallelLoops() != 2 || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || !multipliesAndAdds(op))
    return false;
  AffineExpr r, j, e, a, k;
  bindDims(op->getContext(), r, j, e, a, k);
  if (op.getIndexingMapsArray() !=
      AffineMap::inferFromExprList(
          {ArrayRef<AffineExpr>{e, r + a, j + k}, {e, a, k}, {r, j}},
          op->getContext()))
    return false;
  if (!isOfStaticF32(op))
    return false;
  auto isContiguous = [](Value operand) {
    return isContiguousAlongRows(cast<MemRefType>(operand.getType()));
  };
  Value output = op.getDpsInitOperand(0)->get();
  return isContiguous(op.getDpsInputOperand(0)->get()) &&
         isContiguous(output) &&
         cast<MemRefType>(output.getType()).getDimSize(1) % width == 0;
}

/// The operation right before `op` that fills its output with zeros, or null.
static linalg::FillOp findFillWithZero(linalg::LinalgOp op) {
  auto fill = dyn_cast_or_null<linalg::FillOp>(op->getPrevNode());
  return fill && fill.output() == op.getDpsInitOperand(0)->get() &&
                 matchPattern(fill.value(), m_AnyZeroFloat())
             ? fill
             : nullptr;
}

/// The operation after `op`, with nothing but views between them, that replaces
/// elements of the output by what it computes of them; or null.
static linalg::LinalgOp findConsumer(linalg::LinalgOp op) {
  Operation *next = op->getNextNode();
  while (next && isMemoryEffectFree(next))
    next = next->getNextNode();
  auto consumer = dyn_cast_or_null<linalg::LinalgOp>(next);
  if (!consumer || consumer.getNumDpsInits() != 1 ||
      consumer.getDpsInitOperand(0)->get() != op.getDpsInitOperand(0)->get() ||
      consumer.getNumLoops() != 2 || consumer.getNumParallelLoops() != 2 ||
      !llvm::all_of(consumer.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !whyNoRowSlices(consumer).empty())
    return nullptr;
  return consumer;
}

/// Rows of a block of at most `most`: those that leave no rest if they are not
/// much fewer, so that there is code for one number.
static int64_t divideRows(int64_t numRows, int64_t most) {
  for (int64_t rows = most; 3 * rows >= 2 * most; --rows)
    if (numRows % rows == 0)
      return rows;
  return llvm::divideCeil(numRows, llvm::divideCeil(numRows, most));
}

namespace {
class ConvolutionEmitter {
public:
  ConvolutionEmitter(OpBuilder &b, linalg::LinalgOp op,
                     linalg::LinalgOp consumer, int64_t width)
      : b(op.getLoc(), b), consumer(consumer),
        input(op.getDpsInputOperand(0)->get()),
        kernel(op.getDpsInputOperand(1)->get()),
        output(op.getDpsInitOperand(0)->get()),
        kernelType(cast<MemRefType>(kernel.getType())),
        type(VectorType::get(width, b.getF32Type())) {}

  /// `numRows` rows of the output from `row` on, at `column`, beginning at 0 or
  /// at what is there.
  void emit(Value row, Value column, int64_t numRows, bool startsAtZero) {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < numRows; ++i)
      sums.push_back(startsAtZero ? b.zero(type)
                                  : vector::LoadOp::create(
                                        b, type, output,
                                        ValueRange{b.add(row, i), column}));
    int64_t taps = kernelType.getDimSize(1), whole = taps / kMostTaps;
    if (whole > 0)
      sums = b.loop(0, whole * kMostTaps, kMostTaps, sums,
                    [&](Value a, ValueRange sums) {
                      return emitTaps(row, column, a, kMostTaps, sums);
                    });
    if (int64_t rest = taps % kMostTaps)
      sums = emitTaps(row, column, b.index(taps - rest), rest, sums);
    for (auto [i, sum] : llvm::enumerate(sums))
      emitResult(sum, {b.add(row, int64_t(i)), column});
  }

private:
  void emitResult(Value sum, ValueRange place) {
    if (!consumer) {
      vector::StoreOp::create(b, sum, output, place);
      return;
    }
    int64_t width = type.getDimSize(0);
    SmallVector<Value> operands;
    for (OpOperand *operand : consumer.getDpsInputOperands())
      operands.push_back(loadSlice(b, *operand, place, width));
    operands.push_back(sum);
    Value result = computeSlice(b, consumer, place, width, operands).front();
    storeSlice(b, result, *consumer.getDpsInitOperand(0), place);
  }

  /// Adds what `count` rows of the kernel from `tap` on give.
  SmallVector<Value> emitTaps(Value row, Value column, Value tap, int64_t count,
                              ValueRange sums) {
    return b.loop(
        0, kernelType.getDimSize(0), 1, sums, [&](Value e, ValueRange sums) {
          return b.loop(0, kernelType.getDimSize(2), 1, sums,
                        [&](Value k, ValueRange before) {
                          SmallVector<Value> sums(before);
                          emitColumn(row, column, e, tap, k, count, sums);
                          return sums;
                        });
        });
  }

  void emitColumn(Value row, Value column, Value e, Value tap, Value k,
                  int64_t count, SmallVector<Value> &sums) {
    SmallVector<Value> weights;
    for (int64_t a = 0; a < count; ++a)
      weights.push_back(vector::BroadcastOp::create(
          b, type,
          memref::LoadOp::create(b, kernel, ValueRange{e, b.add(tap, a), k})));
    auto numRows = int64_t(sums.size());
    Value firstRow = b.add(row, tap), place = b.add(column, k);
    for (int64_t i = 0; i < numRows + count - 1; ++i) {
      Value x = vector::LoadOp::create(
          b, type, input, ValueRange{e, b.add(firstRow, i), place});
      for (int64_t a = std::max<int64_t>(0, i - numRows + 1);
           a <= std::min(i, count - 1); ++a)
        sums[i - a] = vector::FMAOp::create(b, weights[a], x, sums[i - a]);
    }
  }

  IndexBuilder b;
  linalg::LinalgOp consumer; ///< Computed on sums before they are stored.
  Value input, kernel, output;
  MemRefType kernelType;
  VectorType type;
};
} // namespace

LogicalResult attn::vectorizeConvolution(RewriterBase &rewriter,
                                         linalg::LinalgOp op,
                                         const VectorRegisters &registers) {
  int64_t width = registers.getWidth(32);
  if (!isConvolution(op, width))
    return failure();
  linalg::FillOp fill = findFillWithZero(op);
  linalg::LinalgOp consumer = findConsumer(op);
  rewriter.setInsertionPoint(consumer ? consumer : op);
  IndexBuilder b(op.getLoc(), rewriter);
  auto output = cast<MemRefType>(op.getDpsInitOperand(0)->get().getType());
  auto kernel = cast<MemRefType>(op.getDpsInputOperand(1)->get().getType());
  int64_t numRows = output.getDimSize(0);
  // Beside the kernel's column, a vector of the input, and one to spare.
  int64_t most = std::max<int64_t>(
      int64_t(registers.count) - std::min(kernel.getDimSize(1), kMostTaps) - 2,
      1);
  int64_t rows = divideRows(numRows, most), whole = numRows / rows * rows;
  b.loop(0, output.getDimSize(1), width, [&](Value column) {
    auto emit = [&](Value row, int64_t count) {
      ConvolutionEmitter(b, op, consumer, width)
          .emit(row, column, count, bool(fill));
    };
    b.loop(0, whole, rows, [&](Value row) { emit(row, rows); });
    if (whole < numRows)
      emit(b.index(whole), numRows - whole);
  });
  rewriter.eraseOp(op);
  if (fill)
    rewriter.eraseOp(fill);
  if (consumer)
    rewriter.eraseOp(consumer);
  return success();
}
