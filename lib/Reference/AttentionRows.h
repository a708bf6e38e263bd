//===- AttentionRows.h - Rows of attention and derivatives ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_ATTENTIONROWS_H
#define ATTN_REFERENCE_ATTENTIONROWS_H

#include "lib/Reference/PositionCode.h"
#include "lib/Reference/SequenceCode.h"
#include "lib/Regions/RegionEvaluation.h"

namespace mlir::attn {

/// One row of the query.
struct AttentionRow {
  Sequence sequence;
  Value head, keyHead; ///< Query head, `h`, and that of the keys it reads.
  Value index;         ///< Row of the query tensor.
  RowPosition position;
  SmallVector<Value> at; ///< Where its log-sum-exp is.
  Value logSumExp;       ///< If it is known.
};

/// What the reference lowerings of attention and its derivatives have in
/// common: they go over one query row after the other.
template <typename Op> class AttentionRows : protected TensorCode {
protected:
  using EmitRow = function_ref<SmallVector<Value>(const AttentionRow &row,
                                                  ValueRange before)>;

  AttentionRows(Op op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op),
        accumulation(op.getAccumulationType()) {}

  /// What is emitted here, of one position.
  PositionCode<Op> code() { return {*this, op}; }

  /// `initial` after all rows.
  SmallVector<Value> emitRows(ValueRange initial, EmitRow emitRow) {
    scale = code().emitScale();
    auto emitHead = [&](const Sequence &sequence, Value head,
                        ValueRange before) {
      Value keyHead = code().emitKeyHead(head); // A3
      return loop(0, sequence.queryLength, before,
                  [&](Value i, ValueRange before) {
                    AttentionRow row;
                    row.sequence = sequence;
                    row.head = head;
                    row.keyHead = keyHead;
                    row.index = add(sequence.queryBegin, i);
                    row.position = {sequence.number, head,
                                    add(sequence.offset, i)}; // A5
                    row.at = {index(sequence.queryBatch), head, row.index};
                    return emitRow(row, before);
                  });
    };
    return loop(0, emitNumSequences(*this, op), initial,
                [&](Value n, ValueRange before) {
                  Sequence sequence = emitSequence(*this, op, n);
                  // Upstream has a constant offset into no rows invalid.
                  for (OpFoldResult *begin :
                       {&sequence.queryBegin, &sequence.keyBegin})
                    *begin = index(*begin);
                  return loop(0, op.getNumQueryHeads(), before,
                              [&](Value head, ValueRange before) {
                                return emitHead(sequence, head, before);
                              });
                });
  }
  /// The same of an op that knows the log-sum-exp, but for rows that see
  /// nothing (G4, J4).
  SmallVector<Value> emitSeeingRows(ValueRange initial, EmitRow emitRow) {
    return emitRows(initial, [&](const AttentionRow &row, ValueRange before) {
      AttentionRow known = row;
      known.logSumExp = load(op.getLogSumExp(), row.at);
      return emitUnless(isMinusInfinity(known.logSumExp), before,
                        [&] { return emitRow(known, before); });
    });
  }

  /// Scores of a row after score and mask, -inf where not kept, from its
  /// products with keys.
  Value emitScores(const AttentionRow &row, Value dots) {
    Value scores = empty({row.sequence.keyLength}, accumulation);
    return loop(0, row.sequence.keyLength, scores, [&](Value j, Value scores) {
      Value dot = load(dots, j);
      return store(code().emitScore(row.position, j, dot, scale), scores, j);
    });
  }

  /// What `body` makes of `before`, for each key that the row sees: it gets the
  /// key's number, and the score.
  SmallVector<Value> emitVisible(
      const AttentionRow &row, Value scores, ValueRange before,
      function_ref<SmallVector<Value>(Value j, Value score, ValueRange before)>
          body) {
    return loop(0, row.sequence.keyLength, before,
                [&](Value j, ValueRange before) {
                  Value score = load(scores, j);
                  return emitUnless(isMinusInfinity(score), before,
                                    [&] { return body(j, score, before); });
                });
  }

  /// A region that is defined where the score is, or is not needed there.
  Value evaluate(Region &region, ValueRange arguments) {
    return evaluateRegion(*this, region, arguments).value;
  }

  /// `sums + sum over j of weights[j] * rows[j, :]` of the visible rows.
  Value addVisibleRows(Value scores, Value weights, Value rows, Value sums) {
    AffineExpr j, d;
    bindDims(getContext(), j, d);
    return addVisible(scores, weights, rows, Value(), sums,
                      {{j}, {j}, {j, d}, {d}});
  }

  Value emitSink(const AttentionRow &row) {
    return toAccumulation(load(op.getSink(), placeOfSink(row)));
  }
  /// `exp(sink - log-sum-exp)`.
  Value emitSinkWeight(const AttentionRow &row) {
    return exp(subF(emitSink(row), row.logSumExp));
  }
  /// Where in the sink and its derivatives that of a row is.
  SmallVector<Value> placeOfSink(const AttentionRow &row) {
    SmallVector<Value> at = {row.head};
    if (cast<RankedTensorType>(op.getSink().getType()).getRank() == 2)
      at.push_back(row.index);
    return at;
  }

  //===--------------------------------------------------------------------===//
  // Rows and numbers
  //===--------------------------------------------------------------------===//

  Value extractRow(Value tensor, const AttentionRow &row) {
    return extract(tensor, boxOfRow(tensor, row), 1);
  }
  Value insertRow(Value source, Value tensor, const AttentionRow &row) {
    return insert(source, tensor, boxOfRow(tensor, row));
  }
  Value extractKeys(Value tensor, const AttentionRow &row) {
    return extract(tensor, boxOfKeys(tensor, row), 2);
  }
  Box boxOfRow(Value tensor, const AttentionRow &row) {
    return {{row.sequence.queryBatch, row.head, row.index, 0},
            {1, 1, 1, size(tensor, 3)}};
  }
  Box boxOfKeys(Value tensor, const AttentionRow &row) {
    return {{row.sequence.keyBatch, row.keyHead, row.sequence.keyBegin, 0},
            {1, 1, row.sequence.keyLength, size(tensor, 3)}};
  }

  /// A vector of 0.
  Value zeros(Number length) {
    return fill(empty({length}, accumulation), 0.0);
  }
  Value real(double value) { return IndexBuilder::real(accumulation, value); }
  Value toAccumulation(Value value) { return convert(value, accumulation); }

  Op op;
  FloatType accumulation;
  Value scale;

private:
  SmallVector<Value> emitUnless(Value condition, ValueRange before,
                                function_ref<SmallVector<Value>()> emit) {
    return choose(condition, [&] { return SmallVector<Value>(before); }, emit);
  }
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_ATTENTIONROWS_H
