//===- FloatOperations.cpp - Operations with floats -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/OperationTable.h"

#include "dialect/Shared/Float8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace attn;
using namespace attn::interpreter;
using llvm::APFloat;
using llvm::APSInt;

static llvm::RoundingMode
convertRoundingMode(std::optional<mlir::arith::RoundingMode> mode) {
  using mlir::arith::RoundingMode;
  switch (mode.value_or(RoundingMode::to_nearest_even)) {
  case RoundingMode::to_nearest_even:
    return llvm::RoundingMode::NearestTiesToEven;
  case RoundingMode::downward:
    return llvm::RoundingMode::TowardNegative;
  case RoundingMode::upward:
    return llvm::RoundingMode::TowardPositive;
  case RoundingMode::toward_zero:
    return llvm::RoundingMode::TowardZero;
  case RoundingMode::to_nearest_away:
    return llvm::RoundingMode::NearestTiesToAway;
  }
  llvm_unreachable("unknown rounding mode");
}

void interpreter::roundIfNarrow(mlir::OpResult result, Datum &value) {
  Type type = mlir::getElementTypeOrSelf(result);
  double *number = std::get_if<double>(&value);
  if (number && (type.isF16() || type.isBF16() || mlir::attn::isFloat8(type)))
    *number = roundTo(type, *number).convertToDouble();
}

static std::optional<APInt> toInteger(Operation *op, double value,
                                      bool isSigned) {
  APSInt result(resultWidth(op), /*isUnsigned=*/!isSigned);
  bool isExact;
  if (APFloat(value).convertToInteger(result, llvm::RoundingMode::TowardZero,
                                      &isExact) &
      APFloat::opInvalidOp)
    return std::nullopt;
  return APInt(result);
}

static double maximum(double a, double b) {
  return llvm::maximum(APFloat(a), APFloat(b)).convertToDouble();
}
static double minimum(double a, double b) {
  return llvm::minimum(APFloat(a), APFloat(b)).convertToDouble();
}

void interpreter::addFloatOps(Table &table) {
  using Int = const APInt &;
  table["arith.negf"] = strict(+[](double a) { return -a; });
  table["arith.addf"] = strict(+[](double a, double b) { return a + b; });
  table["arith.subf"] = strict(+[](double a, double b) { return a - b; });
  table["arith.mulf"] = strict(+[](double a, double b) { return a * b; });
  table["arith.divf"] = strict(+[](double a, double b) { return a / b; });
  table["arith.remf"] =
      strict(+[](double a, double b) { return std::fmod(a, b); });
  // NaN wins over numbers in these two, and numbers over NaN in the next.
  table["arith.maximumf"] = strict(+maximum);
  table["arith.minimumf"] = strict(+minimum);
  table["arith.maxnumf"] = strict(+[](double a, double b) {
    return llvm::maxnum(APFloat(a), APFloat(b)).convertToDouble();
  });
  table["arith.minnumf"] = strict(+[](double a, double b) {
    return llvm::minnum(APFloat(a), APFloat(b)).convertToDouble();
  });
  table["arith.cmpf"] = strict(+[](Operation *op, double a, double b) {
    return mlir::arith::applyCmpPredicate(
        llvm::cast<mlir::arith::CmpFOp>(op).getPredicate(), APFloat(a),
        APFloat(b));
  });

  table["arith.extf"] = strict(+[](double a) { return a; });
  table["arith.truncf"] = strict(+[](Operation *op, double a) {
    auto mode = llvm::cast<mlir::arith::TruncFOp>(op).getRoundingmode();
    return roundTo(resultType(op), a, convertRoundingMode(mode))
        .convertToDouble();
  });
  table["arith.sitofp"] =
      strict(+[](Int a) { return a.roundToDouble(/*isSigned=*/true); });
  table["arith.uitofp"] =
      strict(+[](Int a) { return a.roundToDouble(/*isSigned=*/false); });
  table["arith.fptosi"] = strict(+[](Operation *op, double a) {
    return toInteger(op, a, /*isSigned=*/true);
  });
  table["arith.fptoui"] = strict(+[](Operation *op, double a) {
    return toInteger(op, a, /*isSigned=*/false);
  });

  using Unary = double (*)(double);
  auto unary = [&](StringRef name, Unary function) {
    table[name] = strict(function);
  };
  unary("math.absf", std::fabs);
  unary("math.acos", std::acos);
  unary("math.acosh", std::acosh);
  unary("math.asin", std::asin);
  unary("math.asinh", std::asinh);
  unary("math.atan", std::atan);
  unary("math.atanh", std::atanh);
  unary("math.cbrt", std::cbrt);
  unary("math.ceil", std::ceil);
  unary("math.cos", std::cos);
  unary("math.cosh", std::cosh);
  unary("math.erf", std::erf);
  unary("math.erfc", std::erfc);
  unary("math.exp", std::exp);
  unary("math.exp2", std::exp2);
  unary("math.expm1", std::expm1);
  unary("math.floor", std::floor);
  unary("math.log", std::log);
  unary("math.log10", std::log10);
  unary("math.log1p", std::log1p);
  unary("math.log2", std::log2);
  unary("math.round", std::round);
  unary("math.roundeven", [](double a) {
    APFloat number(a);
    number.roundToIntegral(llvm::RoundingMode::NearestTiesToEven);
    return number.convertToDouble();
  });
  unary("math.rsqrt", [](double a) { return 1 / std::sqrt(a); });
  unary("math.sin", std::sin);
  unary("math.sinh", std::sinh);
  unary("math.sqrt", std::sqrt);
  unary("math.tan", std::tan);
  unary("math.tanh", std::tanh);
  unary("math.trunc", std::trunc);

  using Binary = double (*)(double, double);
  table["math.atan2"] = strict(static_cast<Binary>(std::atan2));
  table["math.copysign"] = strict(static_cast<Binary>(std::copysign));
  table["math.powf"] = strict(static_cast<Binary>(std::pow));
  table["math.fpowi"] = strict(
      +[](double a, Int b) { return std::pow(a, b.roundToDouble(true)); });
  table["math.fma"] =
      strict(+[](double a, double b, double c) { return std::fma(a, b, c); });
  table["math.clampf"] = strict(+[](double a, double low, double high) {
    return minimum(maximum(a, low), high);
  });
  table["math.sincos"] =
      strict(+[](double a) { return std::pair(std::sin(a), std::cos(a)); });

  table["math.isfinite"] = strict(+[](Operation *op, double a) {
    return roundTo(operandType(op), a).isFinite();
  });
  table["math.isinf"] = strict(+[](Operation *op, double a) {
    return roundTo(operandType(op), a).isInfinity();
  });
  table["math.isnan"] = strict(+[](Operation *op, double a) {
    return roundTo(operandType(op), a).isNaN();
  });
  table["math.isnormal"] = strict(+[](Operation *op, double a) {
    return roundTo(operandType(op), a).isNormal();
  });
}
