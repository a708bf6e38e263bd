//===- IntegerOperations.cpp - Operations on integers ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/OperationTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace attn;
using namespace attn::interpreter;

/// `compute(a, b)`, unless the signed quotient of `a` and `b` does not exist.
static std::optional<APInt> divideSigned(const APInt &a, const APInt &b,
                                         APInt (*compute)(const APInt &,
                                                          const APInt &)) {
  if (b.isZero() || (a.isMinSignedValue() && b.isAllOnes()))
    return std::nullopt;
  return compute(a, b);
}

static std::optional<APInt> divideUnsigned(const APInt &a, const APInt &b,
                                           APInt (*compute)(const APInt &,
                                                            const APInt &)) {
  if (b.isZero())
    return std::nullopt;
  return compute(a, b);
}

static std::optional<APInt> shift(const APInt &a, const APInt &b,
                                  APInt (*compute)(const APInt &,
                                                   const APInt &)) {
  if (b.uge(b.getBitWidth()))
    return std::nullopt;
  return compute(a, b);
}

static std::optional<APInt> power(const APInt &base, const APInt &exponent) {
  unsigned width = base.getBitWidth();
  if (exponent.isNegative()) { // 1 / base^-exponent, rounded toward zero.
    if (base.isZero())
      return std::nullopt;
    if (base.isAllOnes())
      return exponent[0] ? base : APInt(width, 1);
    return APInt(width, base.isOne());
  }
  APInt result(width, 1), square = base;
  for (APInt rest = exponent; !rest.isZero(); rest = rest.lshr(1)) {
    if (rest[0])
      result *= square;
    square *= square;
  }
  return result;
}

void interpreter::addIntegerOps(Table &table) {
  using Int = const APInt &;
  auto both = [&](StringRef arith, StringRef index, auto function) {
    table[arith] = strict(+function);
    table[index] = strict(+function);
  };
  both("arith.addi", "index.add", [](Int a, Int b) { return a + b; });
  both("arith.subi", "index.sub", [](Int a, Int b) { return a - b; });
  both("arith.muli", "index.mul", [](Int a, Int b) { return a * b; });
  both("arith.xori", "index.xor", [](Int a, Int b) { return a ^ b; });
  table["index.and"] = strict(+[](Int a, Int b) { return a & b; });
  table["index.or"] = strict(+[](Int a, Int b) { return a | b; });

  both("arith.maxsi", "index.maxs",
       [](Int a, Int b) { return a.sgt(b) ? a : b; });
  both("arith.maxui", "index.maxu",
       [](Int a, Int b) { return a.ugt(b) ? a : b; });
  both("arith.minsi", "index.mins",
       [](Int a, Int b) { return a.slt(b) ? a : b; });
  both("arith.minui", "index.minu",
       [](Int a, Int b) { return a.ult(b) ? a : b; });

  both("arith.divsi", "index.divs", [](Int a, Int b) {
    return divideSigned(a, b, [](Int a, Int b) { return a.sdiv(b); });
  });
  both("arith.remsi", "index.rems", [](Int a, Int b) {
    return divideSigned(a, b, [](Int a, Int b) { return a.srem(b); });
  });
  both("arith.ceildivsi", "index.ceildivs", [](Int a, Int b) {
    return divideSigned(a, b, [](Int a, Int b) {
      return llvm::APIntOps::RoundingSDiv(a, b, APInt::Rounding::UP);
    });
  });
  both("arith.floordivsi", "index.floordivs", [](Int a, Int b) {
    return divideSigned(a, b, [](Int a, Int b) {
      return llvm::APIntOps::RoundingSDiv(a, b, APInt::Rounding::DOWN);
    });
  });
  both("arith.divui", "index.divu", [](Int a, Int b) {
    return divideUnsigned(a, b, [](Int a, Int b) { return a.udiv(b); });
  });
  both("arith.remui", "index.remu", [](Int a, Int b) {
    return divideUnsigned(a, b, [](Int a, Int b) { return a.urem(b); });
  });
  both("arith.ceildivui", "index.ceildivu", [](Int a, Int b) {
    return divideUnsigned(a, b, [](Int a, Int b) {
      return llvm::APIntOps::RoundingUDiv(a, b, APInt::Rounding::UP);
    });
  });

  both("arith.shli", "index.shl", [](Int a, Int b) {
    return shift(a, b, [](Int a, Int b) { return a.shl(b); });
  });
  both("arith.shrsi", "index.shrs", [](Int a, Int b) {
    return shift(a, b, [](Int a, Int b) { return a.ashr(b); });
  });
  both("arith.shrui", "index.shru", [](Int a, Int b) {
    return shift(a, b, [](Int a, Int b) { return a.lshr(b); });
  });

  table["arith.addui_extended"] = strict(+[](Int a, Int b) {
    bool overflow;
    APInt sum = a.uadd_ov(b, overflow);
    return std::pair(sum, APInt(1, overflow));
  });
  table["arith.mulsi_extended"] = strict(+[](Int a, Int b) {
    return std::pair(a * b, llvm::APIntOps::mulhs(a, b));
  });
  table["arith.mului_extended"] = strict(+[](Int a, Int b) {
    return std::pair(a * b, llvm::APIntOps::mulhu(a, b));
  });

  table["math.absi"] = strict(+[](Int a) { return a.abs(); });
  table["math.ipowi"] = strict(+power);
  table["math.ctlz"] =
      strict(+[](Int a) { return APInt(a.getBitWidth(), a.countl_zero()); });
  table["math.cttz"] =
      strict(+[](Int a) { return APInt(a.getBitWidth(), a.countr_zero()); });
  table["math.ctpop"] =
      strict(+[](Int a) { return APInt(a.getBitWidth(), a.popcount()); });

  auto extendSigned = [](Operation *op, Int a) {
    return a.sextOrTrunc(resultWidth(op));
  };
  auto extendUnsigned = [](Operation *op, Int a) {
    return a.zextOrTrunc(resultWidth(op));
  };
  for (StringRef name : {"arith.extsi", "arith.index_cast", "index.casts"})
    table[name] = strict(+extendSigned);
  for (StringRef name :
       {"arith.extui", "arith.trunci", "arith.index_castui", "index.castu"})
    table[name] = strict(+extendUnsigned);

  table["arith.cmpi"] = strict(+[](Operation *op, Int a, Int b) {
    return mlir::arith::applyCmpPredicate(
        llvm::cast<mlir::arith::CmpIOp>(op).getPredicate(), a, b);
  });
  table["index.cmp"] = strict(+[](Operation *op, Int a, Int b) {
    auto predicate = llvm::cast<mlir::index::CmpOp>(op).getPred();
    return mlir::arith::applyCmpPredicate(
        *mlir::arith::symbolizeCmpIPredicate(
            mlir::index::stringifyIndexCmpPredicate(predicate)),
        a, b);
  });
  table["index.constant"] = strict(+[](Operation *op) {
    return llvm::cast<mlir::index::ConstantOp>(op).getValue().sextOrTrunc(
        resultWidth(op));
  });
  table["index.bool.constant"] = strict(+[](Operation *op) {
    return llvm::cast<mlir::index::BoolConstantOp>(op).getValue();
  });
  table["index.sizeof"] = strict(
      +[](Operation *op) { return APInt(resultWidth(op), resultWidth(op)); });
}
