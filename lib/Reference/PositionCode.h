//===- PositionCode.h - One position of an attention ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_POSITIONCODE_H
#define ATTN_REFERENCE_POSITIONCODE_H

#include "lib/Reference/TensorCode.h"
#include "lib/Regions/Philox.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
    return emitScoreAt(
        b, loc,
        {op.getScore(), op.getMask(), op.getScoreCaptures(),
         op.getMaskCaptures()},
        {row.number, row.head, row.position, j},
        [&](OpBuilder &inside) -> Value { // A10
          return arith::MulFOp::create(inside, loc, dot, scale);
        },
        Op::getOperationName());
  }

  /// `weight` after dropout (A8).
  Value emitDropout(const RowPosition &row, Value j, Value weight) {
    double rate = op.getDropoutRate()->convertToDouble();
    std::array<Value, 2> key = buildPhiloxKey(b, loc, op.getDropoutSeed());
    Value line = add(multiply(row.number, op.getNumQueryHeads()), row.head);
    if constexpr (!std::is_same_v<Op, MultiTokenAttentionOp>)
      if (Value first = op.getDropoutLine())
        line = add(line, first);
    Value keep = buildIsKept(b, loc, rate, key, j, row.position, line,
                             op.getDropoutCall());
    FloatType type = op.getAccumulationType();
    Value scaled =
        arith::MulFOp::create(b, loc, weight, real(type, 1.0 / (1.0 - rate)));
    return arith::SelectOp::create(b, loc, keep, scaled, real(type, 0.0));
  }

  /// The head of keys and values that a query head sees (A3).
  Value emitKeyHead(Value head) {
    return arith::DivUIOp::create(b, loc, head, index(op.getGroupSize()));
  }
  /// A row of a (B, H, S, D) tensor, or `count` rows.
  Value extractRow(Value source, Value batch, Value head, Value row) {
    return sliceRows(source, batch, head, row, 1, /*rank=*/1);
  }
  Value extractRows(Value source, Value batch, Value head, Value row,
                    Value count) {
    return sliceRows(source, batch, head, row, count, /*rank=*/2);
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Value minusInfinity() { return real(op.getAccumulationType(), -kInfinity); }
  Value isMinusInfinity(Value score) { return isEqual(score, minusInfinity()); }

private:
  Value sliceRows(Value source, Value batch, Value head, Value row,
                  Number count, unsigned rank) {
    int64_t size = cast<RankedTensorType>(source.getType()).getDimSize(3);
    return slice(source, {{batch, head, row, 0}, {1, 1, count, size}}, rank);
  }

  Op op;
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_POSITIONCODE_H
