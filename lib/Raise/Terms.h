//===- Terms.h - What an element of a tensor is computed from ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A computation on tensors, seen as one on scalars: an element of a tensor is a
// scalar operation in the body of the operation that computes it, on elements
// of other tensors. How the scalar operations are distributed over operations
// on tensors, and how those reshape, transpose and broadcast, makes no
// difference.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_TERMS_H
#define ATTN_RAISE_TERMS_H

#include "lib/Raise/Axes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/SetVector.h"

#include <deque>

namespace mlir::attn {

/// An operation, of which each loop runs over some axes.
struct Frame {
  linalg::LinalgOp op;
  AxisLists loops;
};

/// An element of a tensor, or a scalar.
struct Term {
  Value value;
  AxisLists dims = {}; ///< Of a tensor: the axes that index it.
  const Frame *frame =
      nullptr; ///< Of a scalar: in whose body it is, if in one.

  bool isElement() const { return isa<TensorType>(value.getType()); }
  /// The operation that computes a scalar, or null.
  Operation *getScalarOp() const {
    return isElement() ? nullptr : value.getDefiningOp();
  }
  template <typename Op> Op getScalarOp() const {
    return dyn_cast_if_present<Op>(getScalarOp());
  }
  /// Operand `number` of the operation that computes a scalar.
  Term getOperand(unsigned number) const {
    return {getScalarOp()->getOperand(number), {}, frame};
  }
};

/// Whether every dimension of every operand is indexed by a loop of its own or
/// by 0, and all of them are tensors or scalars.
bool hasSimpleMaps(linalg::LinalgOp op);

/// Whether each element of its results is computed from one of each operand.
bool isElementwise(Operation *op);

class Terms {
public:
  Axes axes;

  /// The loops of the operation of `result`, which is indexed by `dims`. A loop
  /// that reduces runs over `reduced`. Null if there are other loops than that.
  const Frame *getFrame(OpResult result, const AxisLists &dims,
                        const AxisList &reduced = {});
  const Frame *getFrame(linalg::LinalgOp op, AxisLists loops);
  /// The element of an operand that the body of `frame` sees.
  Term getElement(const Frame *frame, OpOperand &operand);

  /// Steps through one operation that reshapes, transposes, copies or
  /// broadcasts, from its result to its operand, or from an argument of a body
  /// to the element that it is. Returns false if there is none.
  bool step(Term &term);
  /// Steps to the element of another tensor.
  bool stepToElement(Term &term);
  /// Steps as far as there is something to step through.
  Term view(Term term);
  /// The scalar operation that computes what is seen, or the element of a
  /// tensor that no elementwise operation computes.
  Term enter(Term term);
  /// The same behind conversions from one type of floats to another.
  Term enterCasts(Term term);

  /// Whether two terms are the same number.
  bool isEqual(Term a, Term b);
  /// The constant that a term is, or a null attribute.
  TypedAttr getConstant(Term term);
  std::optional<llvm::APFloat> getFloat(Term term);
  /// Of a scalar that is computed as a multiple, with a constant that is finite
  /// and not 0: the operand that it is a multiple of, and the constant.
  std::optional<std::pair<Term, double>> getMultiple(const Term &term);

  /// The operations on tensors that were met.
  const llvm::SetVector<Operation *> &getVisited() const { return visited; }
  void visit(Operation *op) { visited.insert(op); }

private:
  bool isEqual(Term a, Term b, unsigned depth, unsigned &budget);
  TypedAttr getConstant(Term term, unsigned depth);

  std::deque<Frame> frames;
  DenseMap<Operation *, SmallVector<const Frame *, 1>> framesOf;
  llvm::SetVector<Operation *> visited;
};

} // namespace mlir::attn

#endif // ATTN_RAISE_TERMS_H
