//===- LaneReductions.cpp - Reductions across lanes -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/Conversions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/Utils/VectorUtils.h"

using namespace mlir;
using namespace mlir::attn;

static Value combine(ImplicitLocOpBuilder &b, vector::CombiningKind kind,
                     Value x, Value y) {
  return vector::makeArithReduction(b, b.getLoc(), kind, x, y);
}

/// In a tree, for sums that do not wait for each other.
static Value combinePairwise(ImplicitLocOpBuilder &b,
                             vector::CombiningKind kind,
                             MutableArrayRef<Value> values) {
  while (values.size() > 1) {
    size_t half = values.size() / 2;
    for (size_t i = 0; i < half; ++i)
      values[i] = combine(b, kind, values[i], values[values.size() - 1 - i]);
    values = values.drop_back(half);
  }
  return values.front();
}

LogicalResult attn::convertToLanes(vector::MultiDimReductionOp op,
                                   LaneValues &lanes) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto source = cast<VectorType>(op.getSource().getType());
  if (lanes.getLayout(source) != Layout::Fragment)
    return rejectForLanes(op);
  vector::CombiningKind kind = op.getKind();
  SmallVector<Value> elements = lanes.get(op.getSource());
  if (ArrayRef<int64_t> dims = op.getReductionDims(); dims.size() == 2) {
    // Of all threads, a barrier does it.
    if (!source.getElementType().isInteger(1) ||
        kind != vector::CombiningKind::AND)
      return rejectForLanes(op);
    Value all = elements.front();
    for (Value element : ArrayRef(elements).drop_front())
      all = combine(b, kind, all, element);
    if (lanes.isInWarp()) {
      Value warp = arith::ConstantIntOp::create(b, b.getI32Type(), -1);
      Value isTrue = NVVM::VoteSyncOp::create(b, b.getI1Type(), warp, all,
                                              NVVM::VoteSyncKind::all)
                         .getResult();
      op.getDest().replaceAllUsesWith(combine(b, kind, isTrue, op.getAcc()));
      return success();
    }
    Type i32 = b.getI32Type();
    Value vote = NVVM::BarrierOp::create(
                     b, TypeRange{i32}, Value(), Value(),
                     NVVM::BarrierReductionAttr::get(
                         b.getContext(), NVVM::BarrierReduction::AND),
                     arith::ExtUIOp::create(b, i32, all))
                     .getResult(0);
    Value zero = arith::ConstantIntOp::create(b, i32, 0);
    Value isTrue =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, vote, zero);
    op.getDest().replaceAllUsesWith(combine(b, kind, isTrue, op.getAcc()));
    return success();
  } else if (dims != ArrayRef<int64_t>{1}) {
    return rejectForLanes(op);
  }
  // Four lanes have a row, or eight.
  SmallVector<int32_t> offsets = {1, 2};
  if (lanes.isTransposed)
    offsets = {4, 8, 16};
  SmallVector<Value> results;
  for (int64_t row = 0; row < lanes.laneRows; ++row) {
    SmallVector<Value> own;
    for (auto [i, element] : llvm::enumerate(elements))
      if (lanes.getRow(int64_t(i)) == row)
        own.push_back(element);
    Value value = combinePairwise(b, kind, own);
    for (int32_t offset : offsets) {
      Value other = gpu::ShuffleOp::create(b, value, offset, kLanesOfWarp,
                                           gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      value = combine(b, kind, value, other);
    }
    results.push_back(combine(b, kind, value, lanes.get(op.getAcc())[row]));
  }
  lanes.set(op.getDest(), std::move(results));
  return success();
}

LogicalResult attn::convertToLanes(AnyInWarpOp op, LaneValues &lanes) {
  ImplicitLocOpBuilder &b = lanes.b;
  SmallVector<Value> elements = lanes.get(op.getRows());
  Value own = combinePairwise(b, vector::CombiningKind::OR, elements);
  Value warp = arith::ConstantIntOp::create(b, b.getI32Type(), -1);
  op.replaceAllUsesWith(NVVM::VoteSyncOp::create(b, b.getI1Type(), warp, own,
                                                 NVVM::VoteSyncKind::any)
                            .getResult());
  return success();
}
