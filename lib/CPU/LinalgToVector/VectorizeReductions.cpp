//===- VectorizeReductions.cpp - Sums of rows as vectors ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A reduction of rows keeps a vector of partial results, which are combined in
// the end:
//
//   for every row i
//     partial = neutral elements
//     for slices k of the row
//       partial = combine(partial, f(row[k .. k + lanes]))
//     result[i] = combine(result[i], partial[0], ..., partial[lanes - 1])
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::attn;

/// Registers of sums at most.
static constexpr int64_t kSumRegisters = 4;

/// The operation that combines the elements of a row, with its neutral element;
/// or null.
static Operation *matchRowReduction(linalg::LinalgOp op, TypedAttr &neutral) {
  unsigned numLoops = op.getNumLoops();
  if (!op.hasPureBufferSemantics() || numLoops == 0 ||
      op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 1 ||
      op.getIteratorTypesArray().back() != utils::IteratorType::reduction ||
      !whyNoVectorBody(op).empty())
    return nullptr;
  OpOperand &output = *op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(&output);
  // A loop may be called a reduction and still have elements of its own.
  if (!isa<MemRefType>(output.get().getType()) ||
      !map.isProjectedPermutation() || map.isFunctionOfDim(numLoops - 1))
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!whyNoRow(*input).empty())
      return nullptr;
  SmallVector<Operation *> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), 0, combiners) ||
      combiners.size() != 1)
    return nullptr;
  std::optional<TypedAttr> element = arith::getNeutralElement(combiners[0]);
  if (!element || !linalg::getCombinerOpKind(combiners[0]))
    return nullptr;
  neutral = *element;
  return combiners[0];
}

LogicalResult attn::vectorizeReduction(RewriterBase &rewriter,
                                       linalg::LinalgOp op,
                                       const VectorRegisters &registers) {
  TypedAttr neutral;
  Operation *combiner = matchRowReduction(op, neutral);
  if (!combiner)
    return failure();
  vector::CombiningKind kind = *linalg::getCombinerOpKind(combiner);
  IndexBuilder b(op.getLoc(), rewriter);
  b.setInsertionPoint(op);
  SmallVector<Value> sizes;
  SmallVector<Value> loops = emitOuterLoops(b, op, sizes);
  loops.emplace_back();

  // One slice from `position` on, into as many partial results.
  auto combine = [&](Value position, Value partial, int64_t lanes) {
    loops.back() = position;
    SmallVector<Value> operands;
    for (OpOperand *input : op.getDpsInputOperands())
      operands.push_back(loadSlice(b, *input, loops, lanes));
    operands.push_back(partial);
    return computeSlice(b, op, loops, lanes, operands).front();
  };
  auto createPartial = [&](int64_t lanes) -> Value {
    auto type = VectorType::get(lanes, neutral.getType());
    return arith::ConstantOp::create(b, type,
                                     DenseElementsAttr::get(type, neutral));
  };
  auto createLoop = [&](IndexBuilder::Operand lower,
                        IndexBuilder::Operand upper, int64_t lanes) {
    return b.loop(lower, upper, lanes, createPartial(lanes),
                  [&](Value position, Value partial) {
                    return combine(position, partial, lanes);
                  });
  };

  OpOperand &output = *op.getDpsInitOperand(0);
  Value result = loadSlice(b, output, loops, 1);
  // LLVM reduces to a maximum or a minimum by scalars; half with half, it is by
  // vectors.
  bool isByHalves = kind == vector::CombiningKind::MAXIMUMF ||
                    kind == vector::CombiningKind::MINIMUMF;
  auto reduceByHalves = [&](Value partial) -> Value {
    int64_t lanes = cast<VectorType>(partial.getType()).getDimSize(0);
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
      auto slice = [&](int64_t first) -> Value {
        return vector::ExtractStridedSliceOp::create(
            b, partial, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{half},
            ArrayRef<int64_t>{1});
      };
      Value low = slice(0), high = slice(half);
      partial = vector::makeArithReduction(b, b.getLoc(), kind, low, high);
    }
    return vector::ExtractOp::create(b, partial, int64_t(0));
  };
  auto finish = [&](Value partial) {
    if (isByHalves) {
      result = vector::makeArithReduction(b, b.getLoc(), kind, result,
                                          reduceByHalves(partial));
      return;
    }
    // The order is this one's anyway.
    result = vector::ReductionOp::create(b, kind, partial, result,
                                         arith::FastMathFlags::reassoc);
  };
  int64_t lanes = registers.getWidth(getWidestElementBits(op));
  int64_t size = op.getStaticLoopRanges().back();
  if (ShapedType::isDynamic(size)) {
    Value end = sizes.back(), whole = b.sub(end, b.rem(end, lanes));
    // Several sums at once hide the latency of each.
    int64_t many = kSumRegisters * lanes;
    Value wholeOfMany = b.sub(end, b.rem(end, many));
    finish(createLoop(0, wholeOfMany, many));
    finish(createLoop(wholeOfMany, whole, lanes));
    finish(createLoop(whole, end, 1));
  } else {
    int64_t done = size - size % lanes;
    if (done > 0)
      finish(createLoop(0, done, lanes));
    while (done < size) {
      int64_t slice = llvm::bit_floor<uint64_t>(size - done);
      finish(combine(b.index(done), createPartial(slice), slice));
      done += slice;
    }
  }
  memref::StoreOp::create(b, result, output.get(),
                          getSliceIndices(b, output, loops));
  rewriter.eraseOp(op);
  return success();
}
