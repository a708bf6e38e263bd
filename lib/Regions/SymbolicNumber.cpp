//===- SymbolicNumber.cpp - Integers known only at run time ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/SymbolicNumber.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

using Flag = SymbolicFlag;
using Number = SymbolicNumber;

//===----------------------------------------------------------------------===//
// Little code
//===----------------------------------------------------------------------===//

// Upstream's canonicalization looks at all loops around an operation whenever
// it changes one. It takes quadratic time where there is much to clean up.

Value SymbolicArithmetic::emitOnce(Key key, function_ref<Value()> create) {
  Value &value = emitted[key];
  if (!value)
    value = create();
  return value;
}

template <typename Op>
Value SymbolicArithmetic::emitOnce(Value lhs, Value rhs) {
  return emitOnce(Key(TypeID::get<Op>(), 0, lhs, rhs, Value()),
                  [&] { return b.createOrFold<Op>(loc, lhs, rhs); });
}

/// Null if the insertion point is at the start of its block.
static Operation *getOperationBefore(OpBuilder &b) {
  Block::iterator point = b.getInsertionPoint();
  return point == b.getInsertionBlock()->begin() ? nullptr : &*std::prev(point);
}

EmittedCode::EmittedCode(OpBuilder &builder)
    : b(builder), last(getOperationBefore(builder)) {}

void EmittedCode::eraseAllBut(ValueRange results) {
  SmallPtrSet<Operation *, 4> needed;
  for (Value result : results)
    if (Operation *op = result ? result.getDefiningOp() : nullptr)
      needed.insert(op);
  auto *listener = dyn_cast_or_null<RewriterBase::Listener>(b.getListener());
  for (Operation *op = getOperationBefore(b), *previous; op != last;
       op = previous) {
    previous = op->getPrevNode();
    if (!needed.contains(op) && isOpTriviallyDead(op)) {
      if (listener)
        listener->notifyOperationErased(op);
      op->erase();
    }
  }
}

//===----------------------------------------------------------------------===//
// In and out of IR
//===----------------------------------------------------------------------===//

Number SymbolicArithmetic::read(Value integer, int64_t least,
                                int64_t greatest) {
  APInt constant;
  if (matchPattern(integer, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (!integer.getType().isIndex())
    integer = emitOnce(
        Key(TypeID::get<arith::IndexCastOp>(), 0, integer, Value(), Value()),
        [&] {
          return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(),
                                                    integer);
        });
  return Number(integer, least, greatest);
}

Flag SymbolicArithmetic::read(Value i1) {
  APInt constant;
  if (matchPattern(i1, m_ConstantInt(&constant)))
    return !constant.isZero();
  return Flag(i1);
}

Value SymbolicArithmetic::toIndex(const Number &number) {
  if (!number.isConstant())
    return number.value;
  return emitOnce(Key(TypeID::get<arith::ConstantIndexOp>(), number.least,
                      Value(), Value(), Value()),
                  [&]() -> Value {
                    return arith::ConstantIndexOp::create(b, loc, number.least);
                  });
}

Value SymbolicArithmetic::toI1(const Flag &flag) {
  if (Value value = flag.getValue())
    return value;
  return arith::ConstantOp::create(b, loc, b.getBoolAttr(flag.isTrue()));
}

/// Folding may find a constant where the ranges do not.
template <typename Op>
Number SymbolicArithmetic::emit(const Number &lhs, const Number &rhs,
                                int64_t least, int64_t greatest) {
  if (least == greatest)
    return least;
  return read(emitOnce<Op>(toIndex(lhs), toIndex(rhs)), least, greatest);
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

std::optional<Number> SymbolicArithmetic::add(const Number &lhs,
                                              const Number &rhs) {
  int64_t least, greatest;
  if (llvm::AddOverflow(lhs.least, rhs.least, least) ||
      llvm::AddOverflow(lhs.greatest, rhs.greatest, greatest))
    return std::nullopt;
  return emit<arith::AddIOp>(lhs, rhs, least, greatest);
}

std::optional<Number> SymbolicArithmetic::subtract(const Number &lhs,
                                                   const Number &rhs) {
  int64_t least, greatest;
  if (llvm::SubOverflow(lhs.least, rhs.greatest, least) ||
      llvm::SubOverflow(lhs.greatest, rhs.least, greatest))
    return std::nullopt;
  return emit<arith::SubIOp>(lhs, rhs, least, greatest);
}

std::optional<Number> SymbolicArithmetic::multiply(const Number &lhs,
                                                   const Number &rhs) {
  int64_t products[4];
  if (llvm::MulOverflow(lhs.least, rhs.least, products[0]) ||
      llvm::MulOverflow(lhs.least, rhs.greatest, products[1]) ||
      llvm::MulOverflow(lhs.greatest, rhs.least, products[2]) ||
      llvm::MulOverflow(lhs.greatest, rhs.greatest, products[3]))
    return std::nullopt;
  auto [least, greatest] = std::minmax_element(products, products + 4);
  return emit<arith::MulIOp>(lhs, rhs, *least, *greatest);
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

/// A positive number shrinks as the divisor grows, a negative one grows.
template <typename Op>
Number SymbolicArithmetic::divide(const Number &number, const Number &divisor,
                                  int64_t (*quotient)(int64_t, int64_t)) {
  if (divisor.isConstant() && divisor.least == 1)
    return number;
  return emit<Op>(number, divisor,
                  quotient(number.least,
                           number.least < 0 ? divisor.least : divisor.greatest),
                  quotient(number.greatest, number.greatest < 0
                                                ? divisor.greatest
                                                : divisor.least));
}

Number SymbolicArithmetic::truncateDivide(const Number &number,
                                          const Number &divisor) {
  return divide<arith::DivSIOp>(number, divisor,
                                [](int64_t a, int64_t b) { return a / b; });
}

Number SymbolicArithmetic::floorDivide(const Number &number,
                                       const Number &divisor) {
  if (number.least >= 0)
    return truncateDivide(number, divisor);
  return divide<arith::FloorDivSIOp>(number, divisor, llvm::divideFloorSigned);
}

Number SymbolicArithmetic::ceilDivide(const Number &number,
                                      const Number &divisor) {
  return divide<arith::CeilDivSIOp>(number, divisor, llvm::divideCeilSigned);
}

Number SymbolicArithmetic::modulo(const Number &number, const Number &divisor) {
  int64_t greatest = divisor.greatest - 1;
  if (divisor.isConstant() && llvm::isPowerOf2_64(uint64_t(divisor.least)))
    return emit<arith::AndIOp>(number, greatest, 0, greatest);
  return emit<arith::RemSIOp>(max(number, 0), divisor, 0, greatest);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Number SymbolicArithmetic::min(const Number &lhs, const Number &rhs) {
  if (lhs.greatest <= rhs.least)
    return lhs;
  if (rhs.greatest <= lhs.least)
    return rhs;
  return emit<arith::MinSIOp>(lhs, rhs, std::min(lhs.least, rhs.least),
                              std::min(lhs.greatest, rhs.greatest));
}

Number SymbolicArithmetic::max(const Number &lhs, const Number &rhs) {
  if (lhs.greatest <= rhs.least)
    return rhs;
  if (rhs.greatest <= lhs.least)
    return lhs;
  return emit<arith::MaxSIOp>(lhs, rhs, std::max(lhs.least, rhs.least),
                              std::max(lhs.greatest, rhs.greatest));
}

Number SymbolicArithmetic::clamp(const Number &number, int64_t least,
                                 int64_t greatest) {
  return min(max(number, least), greatest);
}

Number SymbolicArithmetic::select(const Flag &condition, const Number &ifTrue,
                                  const Number &ifFalse) {
  if (condition.isTrue() || ifTrue.isSameAs(ifFalse))
    return ifTrue;
  if (condition.isFalse())
    return ifFalse;
  Value i1 = condition.getValue(), x = toIndex(ifTrue), y = toIndex(ifFalse);
  Value value = emitOnce(Key(TypeID::get<arith::SelectOp>(), 0, i1, x, y), [&] {
    return b.createOrFold<arith::SelectOp>(loc, i1, x, y);
  });
  return read(value, std::min(ifTrue.least, ifFalse.least),
              std::max(ifTrue.greatest, ifFalse.greatest));
}

//===----------------------------------------------------------------------===//
// Comparisons and logic
//===----------------------------------------------------------------------===//

Flag SymbolicArithmetic::compare(arith::CmpIPredicate predicate,
                                 const Number &lhs, const Number &rhs) {
  Value x = toIndex(lhs), y = toIndex(rhs);
  return read(emitOnce(
      Key(TypeID::get<arith::CmpIOp>(), int64_t(predicate), x, y, Value()),
      [&] { return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y); }));
}

Flag SymbolicArithmetic::isLess(const Number &lhs, const Number &rhs) {
  if (lhs.greatest < rhs.least)
    return true;
  if (lhs.least >= rhs.greatest)
    return false;
  return compare(arith::CmpIPredicate::slt, lhs, rhs);
}

Flag SymbolicArithmetic::isAtMost(const Number &lhs, const Number &rhs) {
  if (lhs.greatest <= rhs.least)
    return true;
  if (lhs.least > rhs.greatest)
    return false;
  return compare(arith::CmpIPredicate::sle, lhs, rhs);
}

Flag SymbolicArithmetic::isEqual(const Number &lhs, const Number &rhs) {
  if (lhs.isSameAs(rhs))
    return true;
  if (lhs.greatest < rhs.least || rhs.greatest < lhs.least)
    return false;
  return compare(arith::CmpIPredicate::eq, lhs, rhs);
}

Flag SymbolicArithmetic::both(const Flag &lhs, const Flag &rhs) {
  if (lhs.isTrue() || rhs.isFalse())
    return rhs;
  if (rhs.isTrue() || lhs.isFalse())
    return lhs;
  return read(emitOnce<arith::AndIOp>(lhs.getValue(), rhs.getValue()));
}

Flag SymbolicArithmetic::either(const Flag &lhs, const Flag &rhs) {
  if (lhs.isFalse() || rhs.isTrue())
    return rhs;
  if (rhs.isFalse() || lhs.isTrue())
    return lhs;
  return read(emitOnce<arith::OrIOp>(lhs.getValue(), rhs.getValue()));
}

Flag SymbolicArithmetic::negate(const Flag &flag) {
  if (!flag.getValue())
    return flag.isFalse();
  Value i1 = flag.getValue();
  return read(
      emitOnce(Key(TypeID::get<arith::XOrIOp>(), 0, i1, Value(), Value()), [&] {
        return b.createOrFold<arith::XOrIOp>(loc, i1, toI1(true));
      }));
}
