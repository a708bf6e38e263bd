//===- LaneProducts.cpp - Products of matrices by warps -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/LaneProducts.h"
#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Products of mma.sync m16n8k16, whose second factor ldmatrix loads for two of
/// them at a time: 16 columns of 16 rows.
class ProductEmitter {
public:
  ProductEmitter(ImplicitLocOpBuilder &builder, const LaneIndex &index,
                 const ProductFactors &factors)
      : b(builder.getLoc(), builder), factors(factors),
        rhsType(cast<MemRefType>(factors.rhs.getType())),
        element(rhsType.getElementType()) {
    // Lanes 8 * i to 8 * i + 7 have the addresses of the rows of matrix i.
    Value eight = b.index(8), two = b.index(2);
    Value row = b.rem(index.lane, eight);
    Value matrix = b.div(index.lane, eight);
    Value inner = b.mul(b.rem(matrix, two), eight);
    Value outer = b.mul(b.div(matrix, two), eight);
    // Of the second factor, matrix 1 is along k, and the last two along n.
    firstN = outer;
    firstK = inner;
    Value &rowsOfRhs = factors.isTransposed ? firstN : firstK;
    rowsOfRhs = b.add(rowsOfRhs, row);
    if (!factors.lhs)
      return;
    // Of the first one, matrix 1 is along m.
    Value warp = b.div(index.thread, kLanesOfWarp);
    firstM = b.add(b.mul(warp, kRowsOfWarp), b.add(inner, row));
    firstKOfLhs = outer;
  }

  SmallVector<Value> emit(ArrayRef<Value> sums) {
    SmallVector<Value> results(sums);
    int64_t columns = sums.size() * 2;
    int64_t depth = rhsType.getDimSize(factors.isTransposed ? 1 : 0);
    for (int64_t k = 0; k < depth; k += 16) {
      SmallVector<Value> first = getRows(k);
      for (int64_t n = 0; n < columns; n += 16) {
        Value tiles = loadRhs(n, k);
        for (int64_t half : {0, 1})
          multiply(first, tiles, half,
                   MutableArrayRef(results).slice(n / 2 + 4 * half, 4));
      }
    }
    return results;
  }

private:
  /// The four registers of a first factor: rows 0 and 1 of columns 0 to 7, then
  /// of columns 8 to 15, which is how a fragment has them.
  SmallVector<Value> getRows(int64_t k) {
    SmallVector<Value> result;
    if (factors.lhs) {
      Value column = b.add(firstKOfLhs, k);
      Value tiles = load(factors.lhs, {firstM, column}, /*transpose=*/false);
      for (int64_t i = 0; i < 4; ++i)
        result.push_back(toRegister(vector::ExtractOp::create(b, tiles, i)));
      return result;
    }
    ArrayRef<Value> elements = ArrayRef(factors.lhsElements).slice(k / 2, 8);
    for (int64_t i = 0; i < 8; i += 2)
      result.push_back(toRegister(vector::FromElementsOp::create(
          b, VectorType::get({2}, element), elements.slice(i, 2))));
    return result;
  }

  /// Pairs of bf16 are i32 to mma.sync.
  Value toRegister(Value pair) {
    if (element.isF16())
      return pair;
    return LLVM::BitcastOp::create(b, b.getI32Type(), pair);
  }

  Value loadRhs(int64_t n, int64_t k) {
    Value column = b.add(firstN, n);
    Value depth = b.add(firstK, k);
    if (factors.isTransposed)
      return load(factors.rhs, {column, depth}, /*transpose=*/false);
    return load(factors.rhs, {depth, column}, /*transpose=*/true);
  }

  Value load(Value memory, ValueRange indices, bool transpose) {
    return nvgpu::LdMatrixOp::create(b, VectorType::get({4, 2}, element),
                                     memory, indices, transpose,
                                     /*numTiles=*/4);
  }

  void multiply(ArrayRef<Value> lhs, Value tiles, int64_t half,
                MutableArrayRef<Value> sums) {
    SmallVector<Value> second;
    for (int64_t i : {0, 1})
      second.push_back(
          toRegister(vector::ExtractOp::create(b, tiles, 2 * half + i)));
    Type f32 = b.getF32Type();
    auto type =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
    auto kind = element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
    Value product = NVVM::MmaOp::create(
        b, type, lhs, second, ArrayRef<Value>(sums), {16, 8, 16},
        /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
        std::array{kind, kind},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = LLVM::ExtractValueOp::create(b, product, int64_t(i));
  }

  IndexBuilder b;
  const ProductFactors &factors;
  MemRefType rhsType;
  Type element;
  // Where the rows begin whose addresses this lane has.
  Value firstN, firstK, firstM, firstKOfLhs;
};

} // namespace

SmallVector<Value> attn::emitProduct(ImplicitLocOpBuilder &b,
                                     const LaneIndex &index,
                                     const ProductFactors &factors,
                                     ArrayRef<Value> sums) {
  return ProductEmitter(b, index, factors).emit(sums);
}

SmallVector<Value> attn::emitScalarProduct(LaneValues &lanes, Value lhs,
                                           Value rhs, ArrayRef<Value> sums,
                                           bool isTransposed) {
  ImplicitLocOpBuilder &b = lanes.b;
  int64_t depth = cast<MemRefType>(lhs.getType()).getDimSize(1);
  Value rows[] = {lanes.row(0), lanes.row(1)};
  SmallVector<Value> columns = lanes.columns(int64_t(sums.size()) * 2);
  auto loop = scf::ForOp::create(b, lanes.constant(0), lanes.constant(depth),
                                 lanes.constant(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  Value first[2];
  for (auto [element, row] : llvm::zip(first, rows))
    element = memref::LoadOp::create(b, lhs, ValueRange{row, k});
  SmallVector<Value> results(loop.getRegionIterArgs());
  for (auto [i, column] : llvm::enumerate(columns)) {
    SmallVector<Value> indices = {k, column};
    if (isTransposed)
      std::swap(indices[0], indices[1]);
    Value second = memref::LoadOp::create(b, rhs, indices);
    for (size_t half : {0, 1}) {
      Value &sum = results[(i / 2 * 2 + half) * 2 + i % 2];
      sum = LLVM::FMAOp::create(b, first[half], second, sum);
    }
  }
  scf::YieldOp::create(b, results);
  return SmallVector<Value>(loop.getResults());
}
