//===- AttentionMatch.h - Attention in operations on tensors ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_ATTENTIONMATCH_H
#define ATTN_RAISE_ATTENTIONMATCH_H

#include "lib/Raise/Terms.h"

#include <string>
#include <variant>

namespace mlir::attn {

/// A tensor, of which the axes of each dimension are given.
struct TensorAxes {
  Value tensor;
  AxisLists dims;
};

/// What is a condition to attend, or with `isNegated` one not to.
struct KeepTerm {
  Term condition;
  bool isNegated;
};

/// softmax(score(query key^T)) value, as it was found.
struct AttentionMatch {
  TensorAxes query, key, value;
  /// What the attention computes, of the operands' type of elements.
  TensorAxes result;

  /// The axes of the op's operands: of the batch, of key/value heads, of the
  /// query heads of each of them, of queries, keys, and both head sizes.
  AxisList batch, keyHeads, group, queries, keys, keySize, valueSize;

  /// What the product of a query and a key is multiplied by, before anything
  /// else is done with it.
  double scale = 1;
  /// That product, with the scale.
  Term product;
  /// What the softmax sees where all of `keeps` hold; -inf elsewhere.
  Term score;
  SmallVector<KeepTerm> keeps;

  AxisList getQueryHeads() const {
    AxisList heads = keyHeads;
    heads.append(group);
    return heads;
  }
};

/// What keeps something that looks like attention from being one.
struct NoMatch {
  std::string reason;         ///< Empty if it does not look like one.
  Operation *other = nullptr; ///< Another operation that has to do with it.
};

/// Whether `op` may be the product of weights and values.
bool isProduct(linalg::LinalgOp op);

/// Finds the attention of which `product` is the last operation.
std::variant<AttentionMatch, NoMatch> matchAttention(Terms &terms,
                                                     linalg::LinalgOp product);

} // namespace mlir::attn

#endif // ATTN_RAISE_ATTENTIONMATCH_H
