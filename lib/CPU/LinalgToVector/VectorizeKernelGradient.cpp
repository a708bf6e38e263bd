//===- VectorizeKernelGradient.cpp - Gradients of kernels -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a convolution with respect to its kernel. Vectors of partial
// sums of a column of the kernel stay in registers, and so do some rows of the
// gradient of the output. A vector of the input is loaded once for all of them:
//
//   for each matrix e and column k of the kernel
//     for each column j, a vector, of the output
//       for blocks of rows r of the output
//         y(i) = gradient(r + i, j)
//         for each row i of the input that they read
//           x = input(e, r + i, j + k)
//           for each row a of the kernel
//             sum(a) += x * y(i - a)
//     kernel(e, a, k) += all lanes of sum(a)
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of a kernel that have sums in registers at most.
static constexpr int64_t kMostSums = 8;

bool attn::isKernelGradient(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() != 5 ||
      op.getNumReductionLoops() != 2 || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || !multipliesAndAdds(op))
    return false;
  AffineExpr e, a, k, r, j;
  bindDims(op->getContext(), e, a, k, r, j);
  return op.getIndexingMapsArray() ==
         AffineMap::inferFromExprList(
             {ArrayRef<AffineExpr>{e, r + a, j + k}, {r, j}, {e, a, k}},
             op->getContext());
}

/// Whether it is of f32 and of static sizes, with rows that fill vectors.
static bool hasKnownSizes(linalg::LinalgOp op, int64_t width) {
  if (!isOfStaticF32(op))
    return false;
  auto input = cast<MemRefType>(op.getDpsInputOperand(0)->get().getType()),
       gradient = cast<MemRefType>(op.getDpsInputOperand(1)->get().getType());
  return isContiguousAlongRows(input) && isContiguousAlongRows(gradient) &&
         gradient.getDimSize(1) % width == 0;
}

namespace {
class KernelGradientEmitter {
public:
  KernelGradientEmitter(OpBuilder &b, linalg::LinalgOp op,
                        const VectorRegisters &registers, int64_t width)
      : b(op.getLoc(), b), input(op.getDpsInputOperand(0)->get()),
        gradient(op.getDpsInputOperand(1)->get()),
        kernel(op.getDpsInitOperand(0)->get()),
        gradientType(cast<MemRefType>(gradient.getType())),
        kernelType(cast<MemRefType>(kernel.getType())),
        blockRows(registers.count >= 32 ? 8 : 4),
        type(VectorType::get(width, b.getF32Type())) {}

  void emit() {
    int64_t taps = kernelType.getDimSize(1);
    b.loop(0, kernelType.getDimSize(0), 1, [&](Value e) {
      b.loop(0, kernelType.getDimSize(2), 1, [&](Value k) {
        int64_t whole = taps / kMostSums * kMostSums;
        if (whole > 0)
          b.loop(0, whole, kMostSums,
                 [&](Value a) { emitColumn(e, a, k, kMostSums); });
        if (whole < taps)
          emitColumn(e, b.index(whole), k, taps - whole);
      });
    });
  }

private:
  /// Adds to `count` rows from `tap` on in column `k` of matrix `e`.
  void emitColumn(Value e, Value tap, Value k, int64_t count) {
    SmallVector<Value> sums(size_t(count), b.zero(type));
    int64_t numRows = gradientType.getDimSize(0),
            whole = numRows / blockRows * blockRows;
    sums = b.loop(
        0, gradientType.getDimSize(1), type.getDimSize(0), sums,
        [&](Value column, ValueRange carried) {
          SmallVector<Value> sums(carried);
          auto emitRows = [&](Value row, int64_t rows, ValueRange sums) {
            return emitBlock(e, row, rows, tap, column, b.add(column, k), sums);
          };
          if (whole > 0)
            sums = b.loop(0, whole, blockRows, sums,
                          [&](Value row, ValueRange sums) {
                            return emitRows(row, blockRows, sums);
                          });
          if (whole < numRows)
            sums = emitRows(b.index(whole), numRows - whole, sums);
          return sums;
        });
    for (auto [i, sum] : llvm::enumerate(sums)) {
      SmallVector<Value> at = {e, b.add(tap, int64_t(i)), k};
      Value before = memref::LoadOp::create(b, kernel, at);
      // The order is this one's anyway.
      Value after =
          vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum,
                                      before, arith::FastMathFlags::reassoc);
      memref::StoreOp::create(b, after, kernel, at);
    }
  }

  /// The sums with what `rows` rows from `row` on add to them.
  SmallVector<Value> emitBlock(Value e, Value row, int64_t rows, Value tap,
                               Value column, Value inputColumn,
                               ValueRange before) {
    SmallVector<Value> sums(before), factors;
    auto count = int64_t(sums.size());
    for (int64_t i = 0; i < rows; ++i)
      factors.push_back(vector::LoadOp::create(
          b, type, gradient, ValueRange{b.add(row, i), column}));
    Value first = b.add(row, tap);
    for (int64_t i = 0; i < rows + count - 1; ++i) {
      Value x = vector::LoadOp::create(
          b, type, input, ValueRange{e, b.add(first, i), inputColumn});
      for (int64_t a = std::max<int64_t>(0, i - rows + 1);
           a <= std::min(i, count - 1); ++a)
        sums[size_t(a)] = vector::FMAOp::create(b, x, factors[size_t(i - a)],
                                                sums[size_t(a)]);
    }
    return sums;
  }

  IndexBuilder b;
  Value input, gradient, kernel;
  MemRefType gradientType, kernelType;
  int64_t blockRows; ///< Rows of the gradient that are in registers.
  VectorType type;
};
} // namespace

LogicalResult attn::vectorizeKernelGradient(RewriterBase &rewriter,
                                            linalg::LinalgOp op,
                                            const VectorRegisters &registers) {
  int64_t width = registers.getWidth(32);
  if (!isKernelGradient(op) || !hasKnownSizes(op, width))
    return failure();
  rewriter.setInsertionPoint(op);
  KernelGradientEmitter(rewriter, op, registers, width).emit();
  rewriter.eraseOp(op);
  return success();
}
