//===- RegionAnalysis.h - Score and mask regions over a tile ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_REGIONANALYSIS_H
#define ATTN_REGIONS_REGIONANALYSIS_H

#include "lib/Regions/FloatInterval.h"
#include "lib/Regions/IndexMovement.h"
#include "lib/Regions/IntegerInterval.h"
#include "lib/Regions/KeySet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

#include <array>

namespace mlir::attn {

struct TableLoad;
struct TableRange;

/// What is known of a value of a region over a tile. A set of keys has those
/// for which there may be a position of the tile where something is the case.
struct RegionFact {
  /// The value has no result (A12).
  KeySet undefined = KeySetArithmetic::none();
  /// For i1: the value is defined, and true (false).
  KeySet canBeTrue = KeySetArithmetic::none();
  KeySet canBeFalse = KeySetArithmetic::none();
  /// For other integers: the value, where it is defined.
  IntegerInterval range = SymbolicNumber(0);
  /// The operation did not wrap around. Only then can a bound of its result be
  /// traced back to its operands.
  SymbolicFlag isExact = true;
  /// The value, where that is known only at run time and so.
  IntegerInterval exactRange = SymbolicNumber(0);
  /// For floats of a mask: the value, where it is defined.
  FloatInterval real = {};
  /// The key takes part in it.
  bool dependsOnKey = false;
};

/// Abstract interpretation of a region of one block. Emits the operations that
/// find out what depends on values known only at run time.
class RegionAnalysis {
public:
  RegionAnalysis(SymbolicArithmetic &numbers, KeySetArithmetic &sets)
      : n(numbers), sets(sets), intervals(numbers), floats(numbers) {}

  /// `positions` are the intervals of batch, head, query position and key; the
  /// score that may precede them among the region's arguments is any.
  void analyze(Region &region, std::array<IntegerInterval, 4> positions,
               ValueRange captures);

  RegionFact getYielded() const { return yielded; }
  /// Where some operation, of use or not, has no result.
  KeySet getUndefinedOperations() const { return undefinedOperations; }
  /// The first operation that may have no result, whatever the key; null if
  /// there is none.
  Operation *getUnprovenOperation() const { return unproven; }
  /// The operations with a truth value that may be true, and false, for every
  /// key of the tile, of what is not one of these itself.
  SmallVector<Operation *> findUnknownConditions(Region &region);

private:
  /// An operand of a comparison. The value is null for constants.
  struct Operand {
    Operand(Value value, IntegerInterval range) : value(value), range(range) {}
    Operand(int64_t constant) : range(SymbolicNumber(constant)) {}
    Value value;
    IntegerInterval range;
  };

  void evaluate(Operation *op);
  void evaluateLoad(Operation *op, const TableLoad &load);
  void narrow(RegionFact &fact, const TableRange &range);
  void evaluateSelect(Operation *op);
  void evaluateCompare(Operation *op, arith::CmpIPredicate predicate);
  void evaluateCompare(arith::CmpFOp op);
  bool evaluateThreshold(arith::CmpFOp op);
  void evaluateFloat(Operation *op);
  void evaluateLogic(Operation *op);
  void evaluateInteger(Operation *op);
  KeySet findUndefined(Operation *op);
  std::optional<IntegerInterval> findTruncated(Operation *op);
  IntegerInterval getChosenRange(Operation *select, bool isTrue);

  RegionFact makeAny(Type type);
  RegionFact readScalar(Value scalar);
  RegionFact combineOperands(Operation *op);
  RegionFact getFact(Value value);
  IntegerInterval getRange(Value value);
  IntegerInterval getSummand(Value value, SymbolicFlag &isExact);
  Operand getOperand(Value value) { return {value, getRange(value)}; }

  bool isUnknown(Value condition);
  void addUndefined(Operation *op, const KeySet &keys);
  bool isMovedKey(Value value);
  /// Where the operands may compare like this.
  KeySet canBeLess(const Operand &lhs, const Operand &rhs);
  KeySet canBeAtMost(const Operand &lhs, const Operand &rhs);
  KeySet canBeEqual(const Operand &lhs, const Operand &rhs) {
    return sets.intersect(canBeAtMost(lhs, rhs), canBeAtMost(rhs, lhs));
  }

  void evaluateEquality(RegionFact &fact, const RegionFact &a,
                        const RegionFact &b);
  KeySet assumeUnsigned(const Operand &lhs, const Operand &rhs,
                        const KeySet &ifSigned);

  enum class Side { Below, From };
  KeySet findKeys(Value value, Side side, std::optional<SymbolicNumber> bound);
  KeySet findKeysOfOperand(Operation *op, Side side,
                           const SymbolicNumber &bound);
  KeySet findKeysOfSum(Operation *op, Side side, const SymbolicNumber &bound);
  KeySet findKeysOfDifference(Operation *op, Side side,
                              const SymbolicNumber &bound);
  KeySet intersectOperands(const KeySet &lhs, const KeySet &rhs);
  std::optional<IntegerInterval> getFactor(Value amount, bool isShift);
  KeySet findKeysOfScaled(Value x, IntegerInterval factor, bool isProduct,
                          Side side, SymbolicNumber bound);
  KeySet findKeysOfProduct(Operation *op, Side side,
                           const SymbolicNumber &bound);
  KeySet findKeysOfSquare(Value x, Side side, const SymbolicNumber &bound);
  KeySet findKeysOfRemainder(Operation *op, Side side,
                             const SymbolicNumber &bound);
  KeySet findKeysOfExtremum(Operation *op, Side side,
                            const SymbolicNumber &bound);

  SymbolicArithmetic &n;
  KeySetArithmetic &sets;
  IntervalArithmetic intervals;
  FloatIntervalArithmetic floats;
  /// Floats of scores decide nothing.
  bool isMask = false;
  DenseMap<Value, RegionFact> facts;
  /// What arguments of the region stand for.
  DenseMap<Value, Value> captured;
  std::optional<IndexMovements> movements;
  Value key;
  /// Operations that bounds of the comparison were traced back through.
  unsigned numTraced = 0;
  KeySet undefinedOperations = KeySetArithmetic::none();
  Operation *unproven = nullptr;
  RegionFact yielded;
};

} // namespace mlir::attn

#endif // ATTN_REGIONS_REGIONANALYSIS_H
