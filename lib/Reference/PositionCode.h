//===- PositionCode.h - One position of an attention ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_POSITIONCODE_H
#define ATTN_REFERENCE_POSITIONCODE_H

#include "lib/Reference/Philox.h"
#include "lib/Reference/TensorCode.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace mlir::attn {

/// What regions and dropout see of a row.
struct RowPosition {
  Value number;   ///< `b`: batch entry or sequence.
  Value head;     ///< Query head, `h`.
  Value position; ///< `p`.
};

/// What the attention ops compute of one position.
template <typename Op> class PositionCode : public TensorCode {
public:
  PositionCode(OpBuilder &builder, Op op)
      : TensorCode{builder, op.getLoc()}, op(op) {}

  /// The scale as a scalar (A4).
  Value emitScale() {
    if (Value scale = op.getScale())
      return scale;
    return real(op.getAccumulationType(), *op.getConstantScale());
  }

  /// The score after score and mask, -inf if it is not kept. The mask decides
  /// first: a score is computed, and may fail, only where the position is kept
  /// (A12).
  Value emitScore(const RowPosition &row, Value j, Value dot, Value scale) {
    SmallVector<Value> position = {row.number, row.head, row.position, j};
    auto emitKept = [&](Value keep) -> Value {
      auto kept = [&](OpBuilder &, Location) {
        Value score = arith::MulFOp::create(b, loc, dot, scale);
        if (op.hasScore()) { // A10
          SmallVector<Value> arguments = {score};
          llvm::append_range(arguments, position);
          llvm::append_range(arguments, op.getScoreCaptures());
          score = define(evaluateRegion(b, op.getScore(), arguments), position,
                         "score");
        }
        scf::YieldOp::create(b, loc, score);
      };
      auto masked = [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loc, minusInfinity());
      };
      return scf::IfOp::create(b, loc, keep, kept, masked).getResult(0);
    };
    if (!op.hasMask())
      return emitKept(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    SmallVector<Value> arguments(position);
    llvm::append_range(arguments, op.getMaskCaptures());
    return emitKept(
        define(evaluateRegion(b, op.getMask(), arguments), position, "mask"));
  }

  /// `weight` after dropout (A8).
  Value emitDropout(const RowPosition &row, Value j, Value weight) {
    double rate = op.getDropoutRate()->convertToDouble();
    std::array<Value, 2> key = buildPhiloxKey(b, loc, op.getDropoutSeed());
    Value line = add(b.createOrFold<arith::MulIOp>(
                         loc, row.number, index(op.getNumQueryHeads())),
                     row.head);
    if constexpr (std::is_same_v<Op, AttentionOp>)
      if (Value first = op.getDropoutLine())
        line = add(line, first);
    Value keep = buildIsKept(b, loc, rate, key, j, row.position, line,
                             op.getDropoutCall());
    FloatType type = op.getAccumulationType();
    Value scaled =
        arith::MulFOp::create(b, loc, weight, real(type, 1.0 / (1.0 - rate)));
    return arith::SelectOp::create(b, loc, keep, scaled, real(type, 0.0));
  }

  Value minusInfinity() {
    return real(op.getAccumulationType(),
                -std::numeric_limits<double>::infinity());
  }

private:
  Value define(const RegionValue &region, ValueRange position,
               StringRef name) { // A12
    return reportUndefined(b, loc, region, position, name,
                           Op::getOperationName());
  }

  Op op;
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_POSITIONCODE_H
