//===- LaneBuilder.h - Building code over the lanes of a tile ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_LANEBUILDER_H
#define ATTN_CPU_ATTNTOVECTOR_LANEBUILDER_H

#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Math/MathBuilder.h"

namespace mlir::attn {

/// One row of a tile: a value for every lane, cut into pieces of the size of a
/// register. They are cut here because masks do not survive LLVM's own cutting
/// well.
using Pieces = SmallVector<Value>;

/// Builds code over the lanes of one tile. Constants are built once.
class LaneBuilder : public MathBuilder {
public:
  /// Constants are built before `anchor`, before which or in which everything
  /// else is. A register has as many lanes as elements of `bits`.
  LaneBuilder(Operation *anchor, TargetAttr target, int64_t numLanes,
              unsigned bits = 32);

  TargetAttr getTarget() const { return target; }
  int64_t getNumLanes() const { return numLanes; }
  /// Lanes of a piece.
  int64_t getWidth() const { return width; }
  int64_t getNumPieces() const { return numLanes / width; }
  VectorType getPieceType(Type elementType) const {
    return VectorType::get(width, elementType);
  }

  //===--------------------------------------------------------------------===//
  // Constants
  //===--------------------------------------------------------------------===//

  Value constant(TypedAttr value);
  Value index(int64_t value) { return constant(getIndexAttr(value)); }
  /// A number of a scalar type, or in every lane of a vector.
  Value number(Type type, double value);
  Value real(Value like, double value) override {
    return number(like.getType(), value);
  }
  Value integer(Type type, int64_t value);
  /// `stride` times the number of each lane of a piece, as i32 or i64.
  Value laneNumbers(int64_t piece, int64_t stride, Type elementType);

  //===--------------------------------------------------------------------===//
  // Integers, which fold
  //===--------------------------------------------------------------------===//

  /// A value, or the number of an index.
  using Operand = IndexBuilder::Operand;
  Value integer(Operand x) {
    return x.number ? index(*x.number) : cast<Value>(x.either);
  }
  template <typename Op> Value fold(Value x, Operand y) {
    return createOrFold<Op>(x, integer(y));
  }
  Value addI(Value x, Operand y) { return fold<arith::AddIOp>(x, y); }
  Value subI(Value x, Operand y) { return fold<arith::SubIOp>(x, y); }
  Value mulI(Value x, Operand y) { return fold<arith::MulIOp>(x, y); }
  Value divUI(Value x, Operand y) { return fold<arith::DivUIOp>(x, y); }
  Value remUI(Value x, Operand y) { return fold<arith::RemUIOp>(x, y); }
  Value minSI(Value x, Operand y) { return fold<arith::MinSIOp>(x, y); }
  Value maxSI(Value x, Operand y) { return fold<arith::MaxSIOp>(x, y); }
  Value andI(Value x, Operand y) { return fold<arith::AndIOp>(x, y); }
  Value compareI(arith::CmpIPredicate predicate, Value x, Operand y) {
    return createOrFold<arith::CmpIOp>(predicate, x, integer(y));
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The pieces of a row of `memref`, which has the lanes as last dimension.
  Pieces load(Value memref, ValueRange row, Type elementType);
  void store(ArrayRef<Value> pieces, Value memref, ValueRange row);
  /// The pieces of a row where `keep` is true, `otherwise` elsewhere. Slow on
  /// machines without masks for loads.
  Pieces loadWhere(ArrayRef<Value> keep, Value memref, ValueRange row,
                   Value otherwise);
  /// One of them.
  Value loadPiece(int64_t piece, Value memref, ValueRange row,
                  Type elementType);
  void storePiece(Value value, int64_t piece, Value memref, ValueRange row);
  /// A buffer of the parallel iteration, or else the function, that runs the
  /// anchor. Deallocation comes after the conversion.
  Value allocate(MemRefType type);

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// `for i in [lower, upper) step`, carrying `initial` along.
  SmallVector<Value>
  loop(Operand lower, Operand upper, int64_t step, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// The same without anything to carry.
  void loop(Operand lower, Operand upper, int64_t step,
            function_ref<void(Value)> body);
  /// `then` or `otherwise`. Only one of them is built if the condition is
  /// constant.
  SmallVector<Value> branch(Value condition,
                            function_ref<SmallVector<Value>()> then,
                            function_ref<SmallVector<Value>()> otherwise);

  /// The larger number; the second if one of them is NaN. One instruction on
  /// x86.
  Value maximum(Value first, Value second);
  /// The same of the smaller number.
  Value minimum(Value first, Value second);

private:
  Operation *anchor;
  /// What precedes all that is built, null at the start of the block.
  Operation *before;
  TargetAttr target;
  int64_t numLanes, width;
  DenseMap<Attribute, Value> constants;
};

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_LANEBUILDER_H
