//===- VectorizePairs.cpp - Rearranging pairs of 16 bits ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/ContractionLoops.h"
#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// Pairs of 16 bits in a register of 512.
static constexpr int64_t kPairs = 16;

/// Whether the last dimension is a contiguous pair of 16 bits, one after the
/// other along the dimension before it.
static bool endsWithPairs(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t rank = type.getRank();
  return rank >= 2 && type.getDimSize(rank - 1) == 2 &&
         type.getElementType().isIntOrFloat() &&
         type.getElementTypeBitWidth() == 16 &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[rank - 1] == 1 && strides[rank - 2] == 2;
}

TypedValue<MemRefType> attn::joinPairs(ImplicitLocOpBuilder &b,
                                       TypedValue<MemRefType> buffer) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i + 1 < buffer.getType().getRank(); ++i)
    groups.push_back({i});
  groups.back().push_back(buffer.getType().getRank() - 1);
  return memref::CollapseShapeOp::create(b, buffer, groups).getResult();
}

namespace {

/// An operation on buffers that writes pairs, in loops of which the last two
/// are over the columns of the output and over the pair.
struct PairOp {
  linalg::LinalgOp op;
  TypedValue<MemRefType> source, destination;
  AffineMap sourceMap;

  int64_t getNumColumns() const {
    return destination.getType().getShape().end()[-2];
  }
};

} // namespace

/// Whether a buffer is computed from one other in parallel loops, of which the
/// last two may be over pairs.
static bool mayBeOfPairs(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInputs() == 1 &&
         op.getNumDpsInits() == 1 && op.getNumLoops() >= 3 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         isa<MemRefType>(op.getDpsInputOperand(0)->get().getType());
}

static FailureOr<PairOp> match(linalg::LinalgOp op) {
  if (!mayBeOfPairs(op) || op.hasIndexSemantics())
    return failure();
  PairOp pairs;
  pairs.op = op;
  pairs.source = cast<TypedValue<MemRefType>>(op.getDpsInputOperand(0)->get());
  pairs.destination =
      cast<TypedValue<MemRefType>>(op.getDpsInitOperand(0)->get());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  pairs.sourceMap = maps[0];
  if (!endsWithPairs(pairs.destination.getType()) || !maps[1].isIdentity() ||
      !maps[0].isPermutation() || ShapedType::isDynamic(pairs.getNumColumns()))
    return failure();
  return pairs;
}

/// Loops over `sizes`, by `steps`.
static SmallVector<Value> emitLoops(IndexBuilder &b,
                                    ArrayRef<OpFoldResult> sizes,
                                    ArrayRef<int64_t> steps) {
  SmallVector<Value> ivs;
  for (auto [size, step] : llvm::zip_equal(sizes, steps))
    ivs.push_back(b.enterLoop(0, size, step));
  return ivs;
}

/// Whether the body yields what it is given.
static bool copies(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  return body.getTerminator()->getOperand(0) == body.getArgument(0);
}

/// (i, j, e) = (j, i, e), as words of 32 bits.
static LogicalResult transposePairs(RewriterBase &rewriter, PairOp pairs) {
  MemRefType type = pairs.destination.getType();
  constexpr int64_t numRows = transposedBits / 32;
  AffineExpr i, j, e;
  bindDims(rewriter.getContext(), i, j, e);
  if (pairs.sourceMap !=
          AffineMap::get(3, 0, {j, i, e}, rewriter.getContext()) ||
      !endsWithPairs(pairs.source.getType()) || !type.hasStaticShape() ||
      type.getDimSize(0) < numRows || type.getDimSize(1) % kPairs != 0 ||
      !copies(pairs.op))
    return failure();
  rewriter.setInsertionPoint(pairs.op);
  IndexBuilder b(pairs.op.getLoc(), rewriter);
  auto from = joinPairs(b, pairs.source);
  auto to = joinPairs(b, pairs.destination);
  auto part = VectorType::get(2 * numRows, type.getElementType());
  auto halves = VectorType::get(2 * kPairs, type.getElementType());
  auto words = VectorType::get(numRows, b.getI32Type());
  int64_t upper = type.getDimSize(0);
  // The source is read along its rows.
  SmallVector<Value> ivs =
      emitLoops(b, {b.getIndexAttr(type.getDimSize(1)), b.getIndexAttr(upper)},
                {kPairs, numRows});
  Value column = ivs[0], row = ivs[1];
  // The last rows move back to where they are whole.
  if (upper % numRows != 0)
    row = b.min(row, upper - numRows);
  Value fromColumn = b.mul(row, 2), toColumn = b.mul(column, 2);
  SmallVector<Value> rows =
      loadTransposed(b, numRows, kPairs, [&](int64_t i) -> Value {
        Value loaded = vector::LoadOp::create(
            b, part, from, ValueRange{b.add(column, i), fromColumn});
        return vector::BitCastOp::create(b, words, loaded);
      });
  for (auto [i, value] : llvm::enumerate(rows))
    vector::StoreOp::create(b, vector::BitCastOp::create(b, halves, value), to,
                            ValueRange{b.add(row, int64_t(i)), toColumn});
  rewriter.eraseOp(pairs.op);
  return success();
}

/// Whether the body yields an element of f32, bf16 or i8 as bf16.
static bool convertsToBF16(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  Value result = body.getTerminator()->getOperand(0);
  if (!result.getType().isBF16())
    return false;
  Operation *conversion = result.getDefiningOp();
  if (auto rounding = dyn_cast_or_null<arith::TruncFOp>(conversion);
      rounding && rounding.getIn().getType().isF32())
    result = rounding.getIn();
  else if (auto integer = dyn_cast_or_null<arith::SIToFPOp>(conversion);
           integer && integer.getIn().getType().isInteger(8))
    result = integer.getIn();
  return result == body.getArgument(0);
}

Value attn::emitPairs(ImplicitLocOpBuilder &b, Value first, Value second) {
  auto f32 = VectorType::get(kPairs, b.getF32Type());
  Type element = cast<VectorType>(first.getType()).getElementType();
  if (element.isF32()) {
    // Both in one instruction, and words in their places in another: less than
    // to convert each, and to interleave two registers.
    auto both = VectorType::get(2 * kPairs, b.getBF16Type());
    Value halves =
        LLVM::CallIntrinsicOp::create(
            b, both, b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
            ValueRange{second, first})
            .getResult(0);
    SmallVector<int64_t> places;
    for (int64_t i = 0; i < kPairs; ++i)
      places.append({i, kPairs + i});
    return vector::ShuffleOp::create(b, halves, halves, places);
  }
  if (!element.isInteger(8))
    return vector::InterleaveOp::create(b, first, second);
  // Integers of 8 bits are numbers of f32 with 16 lower bits of 0.
  auto i32 = VectorType::get(kPairs, b.getI32Type());
  auto getBits = [&](Value integers) -> Value {
    return arith::BitcastOp::create(b, i32,
                                    arith::SIToFPOp::create(b, f32, integers));
  };
  Value half = arith::ConstantOp::create(
      b, DenseElementsAttr::get(i32, b.getI32IntegerAttr(16)));
  Value low = arith::ShRUIOp::create(b, getBits(first), half),
        words = arith::OrIOp::create(b, low, getBits(second));
  return vector::BitCastOp::create(
      b, VectorType::get(2 * kPairs, b.getBF16Type()), words);
}

/// Writes `kPairs` columns from `indices` (..., j) on of two rows as a row of
/// pairs.
static void emitPairsOfRows(IndexBuilder &b, TypedValue<MemRefType> source,
                            Value destination, ArrayRef<Value> indices) {
  auto type = VectorType::get(kPairs, source.getType().getElementType());
  SmallVector<Value> rows;
  for (int64_t row : {0, 1}) {
    SmallVector<Value> from(indices);
    from.insert(from.end() - 1, b.index(row));
    rows.push_back(vector::LoadOp::create(b, type, source, from));
  }
  SmallVector<Value> to(indices);
  to.back() = b.mul(to.back(), 2);
  vector::StoreOp::create(b, emitPairs(b, rows[0], rows[1]), destination, to);
}

/// The map of the loops of `op` with the last two in the other order.
static AffineMap swapLastLoops(linalg::LinalgOp op) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(op.getNumLoops()));
  std::swap(order.end()[-2], order.end()[-1]);
  return AffineMap::getPermutationMap(order, op.getContext());
}

/// (..., j, e) = bf16(..., e, j): two rows become one of pairs.
static LogicalResult convertToPairs(RewriterBase &rewriter, PairOp pairs) {
  if (pairs.sourceMap != swapLastLoops(pairs.op) || !convertsToBF16(pairs.op) ||
      pairs.getNumColumns() % kPairs != 0 ||
      !isContiguousAlongRows(pairs.source.getType()))
    return failure();
  rewriter.setInsertionPoint(pairs.op);
  IndexBuilder b(pairs.op.getLoc(), rewriter);
  auto to = joinPairs(b, pairs.destination);
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(b, b.getLoc(), pairs.destination);
  sizes.pop_back();
  SmallVector<int64_t> steps(sizes.size(), 1);
  // Two registers at once, or the loop takes as long as its body.
  int64_t columns =
      pairs.getNumColumns() % (2 * kPairs) == 0 ? 2 * kPairs : kPairs;
  steps.back() = columns;
  SmallVector<Value> ivs = emitLoops(b, sizes, steps);
  for (int64_t column = 0; column < columns; column += kPairs) {
    SmallVector<Value> indices(ivs);
    indices.back() = b.add(ivs.back(), column);
    emitPairsOfRows(b, pairs.source, to, indices);
  }
  rewriter.eraseOp(pairs.op);
  return success();
}

/// Whether the body yields an element of bf16 as f32.
static bool widensBF16(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  auto widening =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::ExtFOp>();
  return widening && widening.getType().isF32() &&
         widening.getIn() == body.getArgument(0) &&
         widening.getIn().getType().isBF16();
}

LogicalResult attn::widenPairs(RewriterBase &rewriter, linalg::LinalgOp op,
                               const VectorRegisters &registers) {
  if (!mayBeOfPairs(op) || !widensBF16(op))
    return failure();
  auto source = cast<TypedValue<MemRefType>>(op.getDpsInputOperand(0)->get());
  auto destination =
      cast<TypedValue<MemRefType>>(op.getDpsInitOperand(0)->get());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // (..., e, j) = f32(..., j, e).
  int64_t lanes = registers.getWidth(32);
  int64_t columns = destination.getType().getShape().back();
  auto canBePairs = [](MemRefType type) {
    auto [strides, offset] = type.getStridesAndOffset();
    return type.getDimSize(type.getRank() - 1) == 2 && strides.back() == 1;
  };
  if (!canBePairs(source.getType()) ||
      !destination.getType().isLastDimUnitStride() || !maps[1].isIdentity() ||
      maps[0] != swapLastLoops(op) || ShapedType::isDynamic(columns) ||
      columns % lanes != 0)
    return failure();
  Location loc = op.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  if (!hasKnownPairs(source)) {
    // Only the caller of a kernel knows how an argument lies.
    auto [holds, known] = assumePairs(rewriter, source);
    auto either =
        scf::IfOp::create(rewriter, loc, holds, /*withElseRegion=*/true);
    source = known;
    rewriter.moveOpBefore(op, either.elseYield());
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToLoops(rewriter, op)))
      return op.emitError("is not computed by loops");
    rewriter.setInsertionPoint(either.thenYield());
  }
  IndexBuilder b(loc, rewriter);
  auto from = joinPairs(b, source);
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, destination);
  sizes.erase(sizes.end() - 2);
  SmallVector<int64_t> steps(sizes.size(), 1);
  steps.back() = lanes;
  SmallVector<Value> ivs = emitLoops(b, sizes, steps), at(ivs);
  at.back() = b.mul(ivs.back(), 2);
  auto [even, odd] = loadSplit(b, from, at, lanes);
  for (auto [row, value] : {std::pair(0, even), std::pair(1, odd)}) {
    SmallVector<Value> to(ivs);
    to.insert(to.end() - 1, b.index(row));
    vector::StoreOp::create(b, value, destination, to);
  }
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::vectorizePairs(RewriterBase &rewriter,
                                   linalg::LinalgOp op) {
  FailureOr<PairOp> pairs = match(op);
  if (failed(pairs))
    return failure();
  if (succeeded(transposePairs(rewriter, *pairs)))
    return success();
  return convertToPairs(rewriter, *pairs);
}
