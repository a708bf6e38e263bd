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
      : TensorCode(op.getLoc(), builder), op(op),
        accumulation(op.getAccumulationType()) {}

  /// The scale as a scalar (A4).
  Value emitScale() {
    if (Value scale = op.getScale())
      return scale;
    return real(*op.getConstantScale());
  }

  /// The score after score and mask, -inf if it is not kept. The mask decides
  /// first: a score is computed, and may fail, only where the position is kept
  /// (A12).
  Value emitScore(const RowPosition &row, Value j, Value dot, Value scale) {
    return emitScoreAt(
        *this, getLoc(),
        {op.getScore(), op.getMask(), op.getScoreCaptures(),
         op.getMaskCaptures()},
        {row.number, row.head, row.position, j},
        [&](OpBuilder &inside) -> Value { // A10
          return arith::MulFOp::create(inside, getLoc(), dot, scale);
        },
        Op::getOperationName());
  }

  /// What the score region and its derivatives are evaluated with.
  SmallVector<Value> getScoreArguments(const RowPosition &row, Value j,
                                       Value dot, Value scale) {
    SmallVector<Value> arguments = {mulF(dot, scale), row.number, row.head,
                                    row.position, j};
    llvm::append_range(arguments, op.getScoreCaptures());
    return arguments;
  }

  /// `weight` after dropout (A8).
  Value emitDropout(const RowPosition &row, Value j, Value weight) {
    double rate = op.getDropoutRate()->convertToDouble();
    std::array<Value, 2> key = buildPhiloxKey(*this, op.getDropoutSeed());
    Value line;
    if constexpr (std::is_same_v<Op, MultiTokenAttentionOp>) {
      line = add(mul(row.number, op.getNumQueryHeads()), row.head);
    } else {
      line = op.createDropoutLine(*this, row.number, row.head);
      j = op.createDropoutKey(*this, row.number, j);
    }
    Value keep = buildIsKept(*this, rate, key, j, row.position, line,
                             op.getDropoutCall());
    Value scaled = mulF(weight, real(1.0 / (1.0 - rate)));
    return select(keep, scaled, real(0.0));
  }

  /// The head of keys and values that a query head sees (A3).
  Value emitKeyHead(Value head) { return div(head, op.getGroupSize()); }
  /// A row of a (B, H, S, D) tensor, or `count` rows.
  Value extractRow(Value source, Value batch, Value head, Value row) {
    return sliceRows(source, batch, head, row, 1, /*rank=*/1);
  }
  Value extractRows(Value source, Value batch, Value head, Value row,
                    Value count) {
    return sliceRows(source, batch, head, row, count, /*rank=*/2);
  }

  using TensorCode::real;
  Value real(double value) { return real(accumulation, value); }
  Value minusInfinity() { return real(-kInfinity); }
  Value toAccumulation(Value value) { return convert(value, accumulation); }

  Op op;
  FloatType accumulation;

private:
  Value sliceRows(Value source, Value batch, Value head, Value row,
                  Number count, unsigned rank) {
    int64_t size = cast<RankedTensorType>(source.getType()).getDimSize(3);
    return extract(source, {{batch, head, row, 0}, {1, 1, count, size}}, rank);
  }
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_POSITIONCODE_H
