//===- ContractionLoops.h - Loops around products in registers --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_CONTRACTIONLOOPS_H
#define ATTN_CPU_LINALGTOVECTOR_CONTRACTIONLOOPS_H

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/DelayedStore.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/Memory/PrefetchShares.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::attn {

/// C[m,n] += A[m,k...] * B[k...,n], with A's indices in any order. In pairs, k
/// counts pairs of bf16 that lie side by side in A and in B, and C is of f32:
/// C[m,n] += A[m,k...,0] * B[k...,n,0] + A[m,k...,1] * B[k...,n,1], and A may
/// be a sum of matrices, A[m,k...] = sum over t of A[m,k...,t].
struct Contraction {
  TypedValue<MemRefType> a, b, c;
  /// From (m, n, k...) to the indices of A and of B, without those of pairs; of
  /// A, with the number of a term after k.
  AffineMap mapOfA, mapOfB;
  bool inPairs = false;
  /// Whether B is of such pairs and A of f32, so that B is widened. All else is
  /// as in pairs.
  bool widensPairs = false;
  /// What C was computed by immediately before, elementwise; or null.
  linalg::LinalgOp producer;
  /// In tiles: whether C is zero before, whatever it holds; or null.
  Value isZero;
  PrefetchShares shares;
  /// What is read after B, in its form, and B itself, if it is a stream from
  /// memory; or null.
  TypedValue<MemRefType> next{}, stream{};
  /// Bytes of it that are fetched ahead of those that are read, and of a cache
  /// line.
  int64_t bytesAhead = 0, lineBytes = 0;
  /// Rows of C, and steps of all contracted dimensions, at most; 0: any number.
  int64_t mostRows = 0, mostSteps = 0;
  /// Whether the loop around multiplies others of A by the same B, and both
  /// together are more than the first-level cache holds.
  bool readsAOnce = false;
  /// Columns of C that are computed; 0 lanes: all from the first one on.
  int64_t firstLane = 0, numLanes = 0;
  /// Of products in tiles.
  DelayedStore store;

  bool hasPairs() const { return inPairs || widensPairs; }
  /// Whether A's pairs of each step lie side by side, one of each row.
  bool hasPairsOfRows() const;
  int64_t getNumRows() const { return c.getType().getDimSize(0); }
  int64_t getNumLanes() const {
    return numLanes ? numLanes : c.getType().getDimSize(1);
  }
  /// Contracted dimensions of B.
  unsigned getNumContracted() const { return mapOfB.getNumResults() - 1; }
  /// The dimension of B that the contracted one of a number is, counted from
  /// the outermost, and its size, which may be dynamic.
  unsigned getDimOfB(unsigned number) const;
  int64_t getNumSteps(unsigned number) const {
    return b.getType().getDimSize(getDimOfB(number));
  }
  /// Matrices that A is the sum of.
  int64_t getNumTerms() const;
  /// Of C, and of the products.
  Type getElementType() const { return c.getType().getElementType(); }
  /// Whether rows of A are a constant distance from each other, which becomes
  /// an offset of one address.
  bool hasRowsInSteps() const;
  /// Whether each row of A has an address of its own in the inner loop.
  bool hasRowsApart() const;
  /// Whether tiles of A, without the dimension of pairs, have its rows as their
  /// rows, and B's pairs fill tiles for certain.
  bool hasTiles() const;
};

/// Matches a contraction that `target` multiplies in registers, and sets the
/// operands of `contraction`; a reason if it has another form.
StringRef matchContraction(linalg::LinalgOp op, const ContractionTarget &target,
                           Contraction &contraction);

/// Whether pairs of `buffer` are known to lie side by side.
bool hasKnownPairs(TypedValue<MemRefType> buffer);

/// Whether they do when the kernel runs, and a view of `buffer` that says so.
std::pair<Value, TypedValue<MemRefType>>
assumePairs(OpBuilder &b, TypedValue<MemRefType> buffer);

/// The indices of A or B at a row and column of C, of which it has one, and at
/// the steps `k` of the contracted dimensions, and of A's terms if it has any.
SmallVector<Value> getIndices(AffineMap map, Value row, Value column,
                              ValueRange k);

/// for (i = first; i < end; i += step) body(i), which changes `acc`.
void emitLoop(IndexBuilder &b, Value first, Value end, int64_t step,
              SmallVector<Value> &acc, function_ref<void(Value i)> body);

/// Emits loops that compute `contraction` and its producer, by blocks of C in
/// registers.
void emitContractionLoops(OpBuilder &b, Location loc,
                          const Contraction &contraction,
                          const ContractionTarget &target);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_CONTRACTIONLOOPS_H
