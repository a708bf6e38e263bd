//===- AttentionVariant.h - What attention nodes have in common -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_ATTENTIONVARIANT_H
#define ATTN_RUNTIME_ONNX_ATTENTIONVARIANT_H

#include "runtime/ONNX/NodeImport.h"
#include "runtime/ONNX/Tensors.h"

#include "dialect/Attention/NamedMasksAndScores.h"

#include <array>
#include <functional>

namespace attn::onnx {

/// An attention over `(B, H, S, D)` tensors whose static sizes fit, and what is
/// done to its scores. In this order: scale, cap, `score`, bias, masks.
struct AttentionVariant {
  Value query, key, value;
  /// 1/sqrt(D) if there is none.
  std::optional<double> scale;
  /// 0: none.
  double softcap = 0;
  /// The number of tokens before the first query: an index, `(B)` integers, or
  /// null for 0.
  Value offset;
  bool causal = false;
  /// Of a sliding window; -1 is unbounded.
  std::int64_t left = -1, right = -1;
  /// `(B)` integers, how many keys there are; or null for all.
  Value lengths;
  /// Tensors that broadcast to `(B, Hq, Sq, Skv)`, by the row of a query in the
  /// call: of i1, true to attend, and of floats, which are added to the score.
  /// Null if there is none. A position whose bias is -inf is masked.
  Value boolean, bias;
  /// Keys beyond the last dimension of `boolean` or `bias` are masked. It may
  /// be shorter than the keys, and does not broadcast.
  bool padsMask = false;
  /// `(Hq)` of logits that join the sums of rows; or null.
  Value sink;
  /// Tensors and numbers that `score` reads, and the score as it writes it. It
  /// gets these as values at the place where it is called.
  SmallVector<Value> scoreCaptures;
  std::function<Value(mlir::attn::RegionBuilder, Value s,
                      const mlir::attn::Position &, ValueRange)>
      score;
  /// The same of a mask, true to attend.
  SmallVector<Value> maskCaptures;
  std::function<Value(mlir::attn::RegionBuilder, const mlir::attn::Position &,
                      ValueRange)>
      mask;
};

/// The output `(B, Hq, Sq, Dv)` and, if it is asked for, the log-sum-exp
/// `(B, Hq, Sq)`.
struct AttentionResult {
  Value output, logSumExp;
};
AttentionResult createAttention(Builder &b, const AttentionVariant &variant,
                                bool wantsLogSumExp = false);

/// What the scores of all positions are shown as.
enum class ScoreStage { scaled, capped, masked, probabilities };

/// The scores `(B, Hq, Sq, Skv)` of an attention, of a type. Probabilities need
/// its log-sum-exp.
Value createScores(Builder &b, AttentionVariant variant, ScoreStage stage,
                   Value logSumExp, mlir::FloatType type);

/// The sums over keys of weights `(B, Hq, Sq, Skv)` times values `(B, Hkv, Skv,
/// Dv)`, in the type of the weights.
Value createWeightedSums(Builder &b, Value weights, Value values);

/// Checks types and static sizes of query, key and value, `(B, H, S, D)`, whose
/// names are given for messages.
LogicalResult checkAttention(const NodeImport &at, Value query, Value key,
                             Value value, ArrayRef<StringRef> names);

/// Past keys and values `(B, H, S, D)`, inputs `first` and the next, which are
/// both there or none. Null if there are none.
FailureOr<std::array<Value, 2>>
readPast(const NodeImport &at, const AttentionVariant &variant, unsigned first);

/// Puts a past before the new keys and values, which begins at input `past`,
/// and sets outputs `present` and the next to both together. Queries come after
/// it.
LogicalResult prependPast(NodeImport &at, AttentionVariant &variant,
                          unsigned past, unsigned present);

/// A rotation of `(B, H, S, D)` by the angles of positions.
struct Rotation {
  Value input;
  /// `(positions, R / 2)`, or `(B, S, R / 2)` of each token's own.
  Value cosine, sine;
  /// `(B)` integers, the position of the first token; or null.
  Value offset;
  /// `(B, S)` integers, the position of each; or null.
  Value positions;
  bool interleaved = false;
};
Value createRotation(Builder &b, const Rotation &rotation);

/// Checks the tables of a rotation, of floats in this shape.
LogicalResult checkTables(const NodeImport &at, Value cosine, Value sine,
                          ArrayRef<std::int64_t> shape);

/// Whether two sizes could be equal.
inline bool mayAgree(std::int64_t x, std::int64_t y) {
  return mlir::ShapedType::isDynamic(x) || mlir::ShapedType::isDynamic(y) ||
         x == y;
}

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_ATTENTIONVARIANT_H
