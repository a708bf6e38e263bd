//===- RowGroup.h - Operations on the same rows -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LAYER_ROWGROUP_H
#define ATTN_LAYER_ROWGROUP_H

#include "dialect/AttnOps.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace mlir::attn {

/// Whether an operation computes with what an operand that it writes into has.
bool isRead(OpOperand &init);

/// Operations on tensors of which each computes a row of its results from the
/// same row of what the others compute, and nothing else of that.
class RowGroup {
public:
  struct Member {
    Operation *op;
    unsigned loop; ///< The op's loop over rows, which is parallel.

    /// The sizes of the op's loops.
    SmallVector<int64_t> getStaticLoops() const;
    int64_t getStaticRows() const { return getStaticLoops()[loop]; }
    /// Elements of a row, of the other loops; what is dynamic counts once.
    int64_t getRowElements() const;
    /// The dimension of an operand or a result that the loop over rows runs
    /// along; none if there is no such, or more than that.
    std::optional<unsigned> getRowDim(OpOperand &operand) const;
    std::optional<unsigned> getRowDim(OpResult result) const;
  };

  /// `root` and the operations before it in its block that compute rows for it.
  /// None if `root` has no loop over rows.
  static std::optional<RowGroup> find(Operation *root);

  /// In the order of the block; the root is the last one.
  ArrayRef<Member> getMembers() const { return members; }
  Operation *getRoot() const { return members.back().op; }
  bool isMember(Operation *op) const { return ops.contains(op); }
  /// Elements of a row, of the member that has the most.
  int64_t getRowElements() const;
  /// The tensor outside of the group that a result is written into.
  Value getDestination(Value result) const;
  /// Results that others use.
  SmallVector<Value> getUsedResults() const;

private:
  /// Adds `op` if it computes rows for the group, and only before others need
  /// them.
  void addProducer(Operation *op);

  SmallVector<Member> members;
  llvm::SmallDenseSet<Operation *> ops;
};

} // namespace mlir::attn

#endif // ATTN_LAYER_ROWGROUP_H
