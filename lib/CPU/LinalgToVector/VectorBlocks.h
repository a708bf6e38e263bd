//===- VectorBlocks.h - Blocks of a product in vectors ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_VECTORBLOCKS_H
#define ATTN_CPU_LINALGTOVECTOR_VECTORBLOCKS_H

#include "lib/CPU/LinalgToVector/ContractionLoops.h"

namespace mlir::attn {

/// Emits blocks of a contraction that are kept in vector registers while the
/// contracted dimensions are run through.
class VectorBlocks {
public:
  VectorBlocks(IndexBuilder &b, const Contraction &contraction,
               VectorRegisters registers, const PrefetchShares &shares)
      : b(b), contraction(contraction),
        width(registers.getWidth(
            contraction.getElementType().getIntOrFloatBitWidth())),
        hasFewRegisters(registers.isFew()),
        loadsScalarsLate(!contraction.hasPairs() &&
                         (contraction.hasRowsInSteps() || hasFewRegisters)),
        shares(shares) {}

  /// Computes the block of C at `row` and `column` of `numRows` rows of
  /// `numVectors` registers each, and its producer.
  void emit(Value row, Value column, int64_t numRows, int64_t numVectors);

private:
  /// Replaces neighbouring columns, row by row.
  void
  reorderColumns(SmallVector<Value> &acc, int64_t numRows,
                 function_ref<std::pair<Value, Value>(ImplicitLocOpBuilder &,
                                                      Value, Value)>
                     reorder);
  Value insertRow(Value lanes, Value rows, int64_t row);
  /// The start of the accumulators of one register for each row.
  Value loadRows(ValueRange rows, Value column);
  /// acc[m,n] += A[m,k...] * B[k...,n] for all k, of which `outer` are fixed.
  void emitAllSteps(ValueRange rows, ValueRange columns, ValueRange outer,
                    SmallVector<Value> &acc);
  /// The same for steps in [first, end) of the outermost that is not fixed.
  void emitSteps(ValueRange rows, ValueRange columns, ValueRange outer,
                 int64_t first, int64_t end, SmallVector<Value> &acc);
  /// The same for the innermost dimension, `stride` steps at a time.
  void emitInnerLoop(ValueRange rows, ValueRange columns, ValueRange outer,
                     Value first, Value end, int64_t stride,
                     SmallVector<Value> &acc);
  /// The same for steps from `first` on as far as they are those of whole
  /// shares, which they fetch; returns the first of the others.
  Value emitStepsOfShares(ValueRange rows, ValueRange columns, Value first,
                          Value end, int64_t stride, SmallVector<Value> &acc);
  /// acc[m,n] += A[m,k...] * B[k...,n] for all k, with B read as streams.
  void emitInStreams(ValueRange rows, ValueRange columns,
                     SmallVector<Value> &acc);
  /// acc[m,n] += A[m,k...] * B[k...,n] for one k of each stream, of which `k`
  /// is that of the first.
  void emitStreams(ValueRange rows, ValueRange columns, ValueRange k,
                   SmallVector<Value> &acc);
  /// acc[m,n] += A[m,k...] * B[k...,n] for one k.
  void emitStep(ValueRange rows, ValueRange columns, ValueRange k,
                MutableArrayRef<Value> acc);
  /// Divides what is fetched among the steps of blocks of C of this size, of
  /// which the next one is at `row` and `column`.
  void cutShares(Value row, Value column, int64_t numRows, int64_t numVectors);
  /// Fetches the share of the steps from `k` on.
  void emitShare(ValueRange k);
  /// Fetches what comes after the row of B at the steps `k` in its stream.
  void fetchRow(ValueRange k, Value column);
  void emitDots(ArrayRef<Value> pairs, ArrayRef<Value> lanes,
                MutableArrayRef<Value> acc);
  void emitProducts(ArrayRef<Value> scalars, ArrayRef<Value> lanes,
                    MutableArrayRef<Value> acc);
  /// The same row by row, with each scalar of A loaded where it is used, so
  /// that few are in registers at a time.
  void emitRowByRow(ValueRange rows, ValueRange k, ArrayRef<Value> lanes,
                    MutableArrayRef<Value> acc);

  IndexBuilder &b;
  const Contraction &contraction;
  /// Lanes of a register. Vectors are that wide, not as wide as the block: LLVM
  /// does badly with vectors of other sizes than powers of two.
  int64_t width;
  bool hasFewRegisters;
  bool loadsScalarsLate;
  /// Whether pairs of columns hold even and odd elements while they are summed.
  bool splitsColumns = false;
  /// Steps of the innermost dimension whose code is in one iteration, where
  /// their number is known.
  int64_t stepsAtOnce = 1;
  /// Parts of the outermost contracted dimension that are run through at once.
  int64_t numStreams = 1;
  /// What is fetched for each row of B, the row so many outermost steps further
  /// on.
  TypedValue<MemRefType> fetched;
  int64_t stepsAhead = 0;
  PrefetchShares shares;
  int64_t stepsPerShare = 0; ///< 0: nothing is fetched in shares.
  Value firstShare;          ///< The number of a block's first.
};

/// Whether what `op` computes is the same in every row, and reads nothing that
/// a contraction after it writes.
bool hasEqualRows(linalg::LinalgOp op);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_VECTORBLOCKS_H
