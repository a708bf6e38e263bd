//===- ParallelElements.cpp - Tensors element by element ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/ParallelElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numbers>

using namespace mlir;

Value attn::emitElements(ImplicitLocOpBuilder &b, Value init,
                         function_ref<Value(ArrayRef<Value>)> element) {
  auto type = cast<RankedTensorType>(init.getType());
  OpFoldResult one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> zeros(type.getRank(), b.getIndexAttr(0)),
      ones(type.getRank(), one);
  auto loop = scf::ForallOp::create(
      b, zeros, tensor::getMixedSizes(b, b.getLoc(), init), ones,
      ValueRange{init}, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> ivs(loop.getInductionVars());
  Value value = element(ivs);
  SmallVector<OpFoldResult> at = getAsOpFoldResult(ivs);
  Value all = loop.getRegionIterArgs().front();
  Value slice = tensor::ExtractSliceOp::create(b, all, at, ones, ones);
  SmallVector<Value> first(type.getRank(),
                           arith::ConstantIndexOp::create(b, 0));
  slice = tensor::InsertOp::create(b, value, slice, first);
  b.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, slice, all, at, ones, ones);
  return loop.getResult(0);
}

Value attn::emitCorrection(ImplicitLocOpBuilder &b, Value part, Value whole) {
  auto real = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(part.getType(), value));
  };
  Value same = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, part, whole);
  Value exponent = arith::MulFOp::create(
      b, arith::SubFOp::create(b, part, whole), real(std::numbers::log2e));
  return arith::SelectOp::create(b, same, real(1.0),
                                 math::Exp2Op::create(b, exponent));
}
