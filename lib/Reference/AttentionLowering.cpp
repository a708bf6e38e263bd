//===- AttentionLowering.cpp - The reference lowering of attn.attention ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// attn.attention on tensors to loops over its rows, as the op's documentation
// writes it: one pass for the scores, one for their maximum, one for the
// weights, one for the output. Clear beats fast; the faster lowerings are held
// to this one.
//
//   for every sequence n (of a packed batch; else every batch entry)
//     for every query head h
//       for every query row i of the sequence
//         scores[j]  = mask ? score(scale * dot(query, key[j])) : -inf
//         maximum    = max(scores, sink)
//         weights[j] = exp(scores[j] - maximum)
//         sum        = sum of weights and sink
//         output     = sum of dropout(weights[j]) * value[j] / sum
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Reference/AttentionRows.h"
#include "lib/Reference/Lowerings.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class AttentionLowering : AttentionRows<AttentionOp> {
public:
  AttentionLowering(AttentionOp op, OpBuilder &builder)
      : AttentionRows(op, builder) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    SmallVector<Value> results(op.getOuts());
    if (op.isRagged()) { // A7: rows outside of every sequence.
      results[0] = fill(results[0], 0.0);
      if (op.getLogSumExp())
        results[1] = fill(results[1], -kInfinity);
    }
    return emitRows(results, [&](const AttentionRow &row, ValueRange results) {
      return emitRow(row, results);
    });
  }

private:
  /// Returns the results with one row written.
  SmallVector<Value> emitRow(const AttentionRow &row, ValueRange results) {
    Value query = extractRow(op.getQuery(), row),
          key = extractKeys(op.getKey(), row),
          value = extractKeys(op.getValue(), row);
    Value scores =
        emitScores(row, multiplyRows(key, query, accumulation)); // A2
    Value sink = op.getSink() ? emitSink(row) : Value();
    Value largest = reduce<arith::MaximumFOp>(scores, real(-kInfinity));
    Value isEmpty = isMinusInfinity(largest); // A14
    Value maximum = emitMaximum(largest, sink);
    Value weights = mapKeys(
        scores, [&](Value, Value score) { return exp(subF(score, maximum)); });
    Value sum = reduce<arith::AddFOp>(weights, emitSinkTerm(sink, maximum));
    if (op.hasDropout())
      weights = mapKeys(weights, [&](Value j, Value weight) { // A8
        return code().emitDropout(row.position, j, weight);
      });

    SmallVector<Value> written(results);
    written[0] = insertRow(emitOutput(scores, weights, value, sum, isEmpty),
                           written[0], row);
    if (op.getLogSumExp())
      written[1] =
          store(emitLogSumExp(maximum, sum, isEmpty, sink), written[1], row.at);
    return written;
  }

  /// `sum over j of weights[j] * value[j, :] / sum` in the output's type, 0 for
  /// an empty row (A14).
  Value emitOutput(Value scores, Value weights, Value value, Value sum,
                   Value isEmpty) {
    Value weighted =
        addVisibleRows(scores, weights, value, zeros(size(value, 1))); // A13
    Value output = emptyLike(weighted, op.getElementType());
    return map(weighted, output, [&](ValueRange e) {
      Value quotient = divF(e[0], sum);
      return convert(select(isEmpty, real(0.0), quotient), op.getElementType());
    });
  }

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  /// A new tensor with `body(j, source[j])`.
  Value mapKeys(Value source, function_ref<Value(Value, Value)> body) {
    return map(source, emptyLike(source),
               [&](ValueRange e) { return body(iteration(0), e[0]); });
  }

  template <typename Combine> Value reduce(Value source, Value initial) {
    return TensorCode::reduce<Combine>(
        size(source, 0), initial, [&](Value j) { return load(source, j); });
  }
};

} // namespace

void attn::populateAttentionLowering(RewritePatternSet &patterns) {
  patterns.add<LowerOp<AttentionOp, AttentionLowering>>(patterns.getContext());
}
