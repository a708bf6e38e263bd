//===- ScoreGraph.h - What scores are computed from -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_SCOREGRAPH_H
#define ATTN_RAISE_SCOREGRAPH_H

#include "lib/Raise/Terms.h"

namespace mlir::attn {

/// The scalar operations between a score and the product of a query and a key
/// that it is computed from.
class ScoreGraph {
public:
  ScoreGraph(Terms &terms, Term product)
      : terms(terms), product(std::move(product)) {}

  /// What a term is computed from.
  struct Facts {
    bool product = false; ///< The product.
    bool tensor = false;  ///< Elements of other tensors that are not constants.
    bool opaque = false;  ///< What has no place in a region of attention (A11).
  };
  Facts getFacts(Term term);
  /// Whether there are more operations than are looked at.
  bool isTooLarge() const { return facts.size() > kMaxScalars; }

  const Term &getProduct() const { return product; }
  bool isProduct(const Term &term);
  /// Makes the product what it is after it is multiplied by constants, and
  /// converted, before anything else on the way to `root`. Returns their
  /// product.
  double includeScale(const Term &root);

private:
  /// A scalar operation, in one frame.
  using Scalar = std::pair<Value, const Frame *>;
  static constexpr unsigned kMaxScalars = 512;

  Facts getFactsOfElement(const Term &element);
  Facts findFacts(const Term &scalar);

  Terms &terms;
  Term product;
  DenseMap<Scalar, Facts> facts;
  /// The operations that read what is computed from the product.
  DenseMap<Scalar, SmallVector<Term, 1>> readers;
};

/// Whether a region of attention may hold a copy of a scalar operation.
bool isRegionOp(Operation *op);

} // namespace mlir::attn

#endif // ATTN_RAISE_SCOREGRAPH_H
