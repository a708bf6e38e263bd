//===- SymbolicNumber.h - Integers known only at run time -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic that emits code. A number carries the range that it is known to
// lie in while compiling, so that sums that might wrap around are noticed, and
// so that what the ranges decide costs no code.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_SYMBOLICNUMBER_H
#define ATTN_REGIONS_SYMBOLICNUMBER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>

namespace mlir::attn {

/// True, false, or known only at run time.
class SymbolicFlag {
public:
  SymbolicFlag(bool known) : known(known) {}
  explicit SymbolicFlag(Value i1) : value(i1) {}

  bool isTrue() const { return !value && known; }
  bool isFalse() const { return !value && !known; }
  /// The i1; null if the flag is known while compiling.
  Value getValue() const { return value; }

private:
  Value value;
  bool known = false;
};

/// An integer of 64 bits that lies in [least, greatest].
struct SymbolicNumber {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

  SymbolicNumber(int64_t constant) : least(constant), greatest(constant) {}
  SymbolicNumber(Value index, int64_t least, int64_t greatest)
      : least(least), greatest(greatest),
        value(least == greatest ? Value() : index) {}

  bool isConstant() const { return !value; }
  /// True only if both are the same number whenever they are evaluated.
  bool isSameAs(const SymbolicNumber &other) const {
    return value == other.value && (value || least == other.least);
  }

  int64_t least, greatest;
  /// Of type index; null if the number is a constant.
  Value value;
};

/// Emits the operations of symbolic numbers at a builder's insertion point,
/// each once, which must stay behind what was emitted. Where the result may not
/// fit 64 bits there is none.
class SymbolicArithmetic {
public:
  using Flag = SymbolicFlag;
  using Number = SymbolicNumber;

  SymbolicArithmetic(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  /// A value of index or integer type that lies in [least, greatest], or is a
  /// constant.
  Number read(Value integer, int64_t least, int64_t greatest);
  Flag read(Value i1);
  Value toIndex(const Number &number);
  Value toI1(const Flag &flag);

  std::optional<Number> add(const Number &lhs, const Number &rhs);
  std::optional<Number> subtract(const Number &lhs, const Number &rhs);
  std::optional<Number> multiply(const Number &lhs, const Number &rhs);

  /// Quotients by a divisor of at least 1, rounded down, up, or to zero.
  Number floorDivide(const Number &number, const Number &divisor);
  Number ceilDivide(const Number &number, const Number &divisor);
  Number truncateDivide(const Number &number, const Number &divisor);
  /// The remainder of the first, if the divisor is a power of two or the number
  /// not negative.
  Number modulo(const Number &number, const Number &divisor);

  Number min(const Number &lhs, const Number &rhs);
  Number max(const Number &lhs, const Number &rhs);
  Number clamp(const Number &number, int64_t least, int64_t greatest);
  Number select(const Flag &condition, const Number &ifTrue,
                const Number &ifFalse);

  Flag isLess(const Number &lhs, const Number &rhs);
  Flag isAtMost(const Number &lhs, const Number &rhs);
  Flag isEqual(const Number &lhs, const Number &rhs);

  Flag both(const Flag &lhs, const Flag &rhs);
  Flag either(const Flag &lhs, const Flag &rhs);
  Flag negate(const Flag &flag);

  OpBuilder &getBuilder() { return b; }
  Location getLoc() const { return loc; }

private:
  /// An operation, its constant or predicate, and its operands.
  using Key = std::tuple<TypeID, int64_t, Value, Value, Value>;

  Value emitOnce(Key key, function_ref<Value()> create);
  template <typename Op> Value emitOnce(Value lhs, Value rhs);
  Flag compare(arith::CmpIPredicate predicate, const Number &lhs,
               const Number &rhs);
  template <typename Op>
  Number emit(const Number &lhs, const Number &rhs, int64_t least,
              int64_t greatest);
  template <typename Op>
  Number divide(const Number &number, const Number &divisor,
                int64_t (*quotient)(int64_t, int64_t));

  OpBuilder &b;
  Location loc;
  DenseMap<Key, Value> emitted;
};

/// Erases what is emitted during its life and then of no use.
class EmittedCode {
public:
  explicit EmittedCode(OpBuilder &builder);
  EmittedCode(const EmittedCode &) = delete;
  EmittedCode &operator=(const EmittedCode &) = delete;

  /// Leaves what `results` need.
  void eraseAllBut(ValueRange results);

private:
  OpBuilder &b;
  Operation *last; ///< What is before the code; null if nothing is.
};

} // namespace mlir::attn

#endif // ATTN_REGIONS_SYMBOLICNUMBER_H
