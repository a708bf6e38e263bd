//===- LowerMerges.cpp - attn.merge element by element --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Kernel/ParallelElements.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERMERGES
#include "lib/SplitKV/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the merge of one op on tensors.
class MergeEmitter {
public:
  MergeEmitter(OpBuilder &builder, MergeOp op)
      : b(op.getLoc(), builder), op(op),
        type(cast<FloatType>(getElementTypeOrSelf(op.getLse1()))) {}

  SmallVector<Value> emit() {
    SmallVector<Value> results = {
        emitElements(b, op.getOutput(),
                     [&](ArrayRef<Value> ivs) { return emitOutput(ivs); })};
    if (op.getLogSumExp())
      results.push_back(
          emitElements(b, op.getLogSumExp(),
                       [&](ArrayRef<Value> ivs) { return emitSum(ivs); }));
    return results;
  }

private:
  Value real(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }

  /// Both parts' weights in units of the larger one, `maximum`; 0 of a part
  /// that is empty, and of both if `maximum` is -inf (M2).
  struct Weights {
    Value maximum, first, second;
  };
  Weights emitWeights(ArrayRef<Value> row) {
    Value lse1 = tensor::ExtractOp::create(b, op.getLse1(), row);
    Value lse2 = tensor::ExtractOp::create(b, op.getLse2(), row);
    Value maximum = arith::MaximumFOp::create(b, lse1, lse2);
    auto weight = [&](Value lse) -> Value {
      return arith::SelectOp::create(b, isEmpty(lse), real(0.0),
                                     emitCorrection(b, lse, maximum));
    };
    return {maximum, weight(lse1), weight(lse2)};
  }

  Value isEmpty(Value lse) {
    return arith::CmpFOp::create(
        b, arith::CmpFPredicate::OEQ, lse,
        real(-std::numeric_limits<double>::infinity()));
  }

  Value emitOutput(ArrayRef<Value> ivs) {
    auto [maximum, first, second] = emitWeights(ivs.drop_back());
    auto part = [&](Value output, Value weight) -> Value {
      Value element = tensor::ExtractOp::create(b, output, ivs);
      if (element.getType() != type)
        element = arith::ExtFOp::create(b, type, element);
      // Whatever a part without weight holds (M2).
      Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, weight,
                                           real(0.0));
      return arith::SelectOp::create(b, isNone, real(0.0),
                                     arith::MulFOp::create(b, element, weight));
    };
    Value sum = arith::AddFOp::create(b, part(op.getOutput1(), first),
                                      part(op.getOutput2(), second));
    Value output = arith::SelectOp::create(
        b, isEmpty(maximum), real(0.0),
        arith::DivFOp::create(b, sum, arith::AddFOp::create(b, first, second)));
    Type element = getElementTypeOrSelf(op.getOutput());
    if (element == type)
      return output;
    return arith::TruncFOp::create(b, element, output);
  }

  /// The log of 0 is -inf if both parts are empty.
  Value emitSum(ArrayRef<Value> row) {
    auto [maximum, first, second] = emitWeights(row);
    Value log = math::LogOp::create(b, arith::AddFOp::create(b, first, second));
    return arith::AddFOp::create(b, maximum, log);
  }

  ImplicitLocOpBuilder b;
  MergeOp op;
  FloatType type; ///< Of log-sum-exps, and of what is computed.
};

struct LowerMerges : attn::impl::LowerMergesBase<LowerMerges> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](MergeOp op) {
      if (op->getNumResults() == 0)
        return;
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, MergeEmitter(rewriter, op).emit());
    });
  }
};

} // namespace
