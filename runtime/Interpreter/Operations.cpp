//===- Operations.cpp - What single operations compute --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Floats are computed in double, whatever their type; only constants, truncf
// and what looks at a float's bits round to it. Integers wrap around. Promises
// that an operation carries, such as `overflow<nsw>`, change nothing.
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Operations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

using namespace attn;
using namespace attn::interpreter;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;
using mlir::Operation;

using Table = llvm::StringMap<Evaluator>;
using TensorPtr = std::shared_ptr<const Tensor>;

//===----------------------------------------------------------------------===//
// From C++ functions to evaluators
//===----------------------------------------------------------------------===//

static void store(llvm::MutableArrayRef<Datum> results, double value) {
  results[0] = value;
}
static void store(llvm::MutableArrayRef<Datum> results, APInt value) {
  results[0] = std::move(value);
}
static void store(llvm::MutableArrayRef<Datum> results, bool value) {
  results[0] = APInt(1, value);
}
static void store(llvm::MutableArrayRef<Datum> results, TensorPtr value) {
  results[0] = std::move(value);
}
static void store(llvm::MutableArrayRef<Datum> results, Datum value) {
  results[0] = std::move(value);
}
template <typename T>
static void store(llvm::MutableArrayRef<Datum> results,
                  std::optional<T> value) {
  if (value)
    store(results, std::move(*value));
}
template <typename T>
static void store(llvm::MutableArrayRef<Datum> results,
                  std::pair<T, T> values) {
  store(results.take_front(), std::move(values.first));
  store(results.drop_front(), std::move(values.second));
}

/// An evaluator that leaves all results undefined if an operand is.
template <typename... Operands, typename Function>
static Evaluator createStrict(Function function) {
  return [function](Operation *op, llvm::ArrayRef<Datum> operands,
                    llvm::MutableArrayRef<Datum> results) {
    for (Datum &result : results)
      result = Undefined();
    for (const Datum &operand : operands)
      if (std::holds_alternative<Undefined>(operand))
        return;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      store(results,
            function(op, std::get<std::decay_t<Operands>>(operands[I])...));
    }(std::index_sequence_for<Operands...>());
  };
}

/// The same for a function of the op and its operands, or of these alone.
template <typename Result, typename... Operands>
static Evaluator strict(Result (*function)(Operation *, Operands...)) {
  return createStrict<Operands...>(function);
}
template <typename Result, typename... Operands>
static Evaluator strict(Result (*function)(Operands...)) {
  return createStrict<Operands...>(
      [function](Operation *, const std::decay_t<Operands> &...operands) {
        return function(operands...);
      });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static mlir::Type resultType(Operation *op) {
  return op->getResult(0).getType();
}
static unsigned resultWidth(Operation *op) { return widthOf(resultType(op)); }

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

static mlir::arith::CmpIPredicate
convertPredicate(mlir::index::IndexCmpPredicate predicate) {
  using mlir::arith::CmpIPredicate;
  using mlir::index::IndexCmpPredicate;
  switch (predicate) {
  case IndexCmpPredicate::EQ:
    return CmpIPredicate::eq;
  case IndexCmpPredicate::NE:
    return CmpIPredicate::ne;
  case IndexCmpPredicate::SLT:
    return CmpIPredicate::slt;
  case IndexCmpPredicate::SLE:
    return CmpIPredicate::sle;
  case IndexCmpPredicate::SGT:
    return CmpIPredicate::sgt;
  case IndexCmpPredicate::SGE:
    return CmpIPredicate::sge;
  case IndexCmpPredicate::ULT:
    return CmpIPredicate::ult;
  case IndexCmpPredicate::ULE:
    return CmpIPredicate::ule;
  case IndexCmpPredicate::UGT:
    return CmpIPredicate::ugt;
  case IndexCmpPredicate::UGE:
    return CmpIPredicate::uge;
  }
  llvm_unreachable("unknown predicate");
}

static void addIntegerOps(Table &table) {
  using Int = const APInt &;
  auto both = [&](llvm::StringRef arith, llvm::StringRef index, auto function) {
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
  for (llvm::StringRef name :
       {"arith.extsi", "arith.index_cast", "index.casts"})
    table[name] = strict(+extendSigned);
  for (llvm::StringRef name :
       {"arith.extui", "arith.trunci", "arith.index_castui", "index.castu"})
    table[name] = strict(+extendUnsigned);

  table["arith.cmpi"] = strict(+[](Operation *op, Int a, Int b) {
    return mlir::arith::applyCmpPredicate(
        llvm::cast<mlir::arith::CmpIOp>(op).getPredicate(), a, b);
  });
  table["index.cmp"] = strict(+[](Operation *op, Int a, Int b) {
    return mlir::arith::applyCmpPredicate(
        convertPredicate(llvm::cast<mlir::index::CmpOp>(op).getPred()), a, b);
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

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static double fromType(mlir::Type type, const APInt &bits) {
  return APFloat(llvm::cast<mlir::FloatType>(type).getFloatSemantics(), bits)
      .convertToDouble();
}

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

static void addFloatOps(Table &table) {
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
  auto unary = [&](llvm::StringRef name, Unary function) {
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
    return roundTo(op->getOperand(0).getType(), a).isFinite();
  });
  table["math.isinf"] = strict(+[](Operation *op, double a) {
    return roundTo(op->getOperand(0).getType(), a).isInfinity();
  });
  table["math.isnan"] = strict(+[](Operation *op, double a) {
    return roundTo(op->getOperand(0).getType(), a).isNaN();
  });
  table["math.isnormal"] = strict(+[](Operation *op, double a) {
    return roundTo(op->getOperand(0).getType(), a).isNormal();
  });
}

//===----------------------------------------------------------------------===//
// Any scalars
//===----------------------------------------------------------------------===//

/// One operand of an i1 `and` that is false decides it, and one of an `or` that
/// is true, whatever the other is (A12).
static void evaluateLogic(llvm::ArrayRef<Datum> operands,
                          llvm::MutableArrayRef<Datum> results, bool isAnd) {
  const APInt *a = std::get_if<APInt>(&operands[0]);
  const APInt *b = std::get_if<APInt>(&operands[1]);
  results[0] = Undefined();
  if (a && b) {
    results[0] = isAnd ? *a & *b : *a | *b;
    return;
  }
  for (const APInt *known : {a, b})
    if (known && known->getBitWidth() == 1 && known->isOne() != isAnd)
      results[0] = *known;
}

static Datum convertConstant(mlir::Attribute attribute) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute))
    return integer.getValue();
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute))
    return number.getValue().convertToDouble();
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(attribute);
  if (!elements)
    return Undefined();
  mlir::ShapedType type = elements.getShapedType();
  mlir::Type elementType = type.getElementType();
  if (auto values = elements.tryGetValues<APFloat>()) {
    std::vector<double> numbers;
    for (const APFloat &value : *values)
      numbers.push_back(value.convertToDouble());
    return Tensor::create(elementType, type.getShape(), std::move(numbers));
  }
  if (auto values = elements.tryGetValues<APInt>()) {
    std::vector<std::int64_t> numbers;
    for (const APInt &value : *values)
      numbers.push_back(value.getSExtValue());
    return Tensor::create(elementType, type.getShape(), std::move(numbers));
  }
  return Undefined();
}

static void addGeneralOps(Table &table) {
  table["arith.constant"] = strict(+[](Operation *op) {
    return convertConstant(llvm::cast<mlir::arith::ConstantOp>(op).getValue());
  });
  table["arith.bitcast"] = [](Operation *op, llvm::ArrayRef<Datum> operands,
                              llvm::MutableArrayRef<Datum> results) {
    results[0] = operands[0];
    mlir::Type from = op->getOperand(0).getType(), to = resultType(op);
    if (const double *number = std::get_if<double>(&results[0]))
      results[0] = roundTo(from, *number).bitcastToAPInt();
    if (const APInt *bits = std::get_if<APInt>(&results[0]);
        bits && llvm::isa<mlir::FloatType>(to))
      results[0] = fromType(to, *bits);
  };
  table["arith.andi"] = [](Operation *, llvm::ArrayRef<Datum> operands,
                           llvm::MutableArrayRef<Datum> results) {
    evaluateLogic(operands, results, /*isAnd=*/true);
  };
  table["arith.ori"] = [](Operation *, llvm::ArrayRef<Datum> operands,
                          llvm::MutableArrayRef<Datum> results) {
    evaluateLogic(operands, results, /*isAnd=*/false);
  };
  table["arith.select"] = [](Operation *, llvm::ArrayRef<Datum> operands,
                             llvm::MutableArrayRef<Datum> results) {
    const APInt *condition = std::get_if<APInt>(&operands[0]);
    results[0] = !condition           ? Datum(Undefined())
                 : condition->isOne() ? operands[1]
                                      : operands[2];
  };
  table["ub.poison"] = [](Operation *, llvm::ArrayRef<Datum>,
                          llvm::MutableArrayRef<Datum> results) {
    results[0] = Undefined();
  };
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static void evaluateExtract(Operation *, llvm::ArrayRef<Datum> operands,
                            llvm::MutableArrayRef<Datum> results) {
  results[0] = Undefined();
  llvm::SmallVector<std::int64_t> indices;
  for (const Datum &operand : operands.drop_front()) {
    const APInt *index = std::get_if<APInt>(&operand);
    if (!index)
      return;
    indices.push_back(index->getSExtValue());
  }
  if (const TensorPtr *tensor = std::get_if<TensorPtr>(&operands[0]))
    results[0] = (*tensor)->load(indices);
}

static void evaluateEmpty(Operation *op, llvm::ArrayRef<Datum> operands,
                          llvm::MutableArrayRef<Datum> results) {
  results[0] = Undefined();
  auto type = llvm::cast<mlir::RankedTensorType>(resultType(op));
  llvm::SmallVector<std::int64_t> shape(type.getShape());
  for (std::int64_t &size : shape) {
    if (!mlir::ShapedType::isDynamic(size))
      continue;
    const APInt *given = std::get_if<APInt>(&operands.front());
    if (!given || given->isNegative())
      return;
    size = given->getSExtValue();
    operands = operands.drop_front();
  }
  results[0] = std::make_shared<const Tensor>(
      Tensor{type.getElementType(),
             TensorView(static_cast<const double *>(nullptr), std::span(shape)),
             nullptr});
}

static void evaluateFill(Operation *op, llvm::ArrayRef<Datum> operands,
                         llvm::MutableArrayRef<Datum> results) {
  results[0] = Undefined();
  const TensorPtr *init = std::get_if<TensorPtr>(&operands[1]);
  mlir::Type elementType =
      llvm::cast<mlir::RankedTensorType>(resultType(op)).getElementType();
  if (!init || op->getOperand(0).getType() != elementType)
    return;
  auto sizes = (*init)->view.sizes();
  llvm::ArrayRef<std::int64_t> shape(sizes.data(), sizes.size());
  if (const double *number = std::get_if<double>(&operands[0]))
    results[0] = Tensor::createSplat(elementType, shape, *number);
  if (const APInt *number = std::get_if<APInt>(&operands[0]))
    results[0] =
        Tensor::createSplat(elementType, shape, number->getSExtValue());
}

static Table createScalarTable() {
  Table table;
  addIntegerOps(table);
  addFloatOps(table);
  addGeneralOps(table);
  return table;
}

static Table createTensorTable() {
  Table table;
  table["arith.constant"] = strict(+[](Operation *op) {
    return convertConstant(llvm::cast<mlir::arith::ConstantOp>(op).getValue());
  });
  table["linalg.fill"] = evaluateFill;
  table["tensor.empty"] = evaluateEmpty;
  table["tensor.extract"] = evaluateExtract;
  table["tensor.dim"] = strict(
      +[](const TensorPtr &tensor, const APInt &dim) -> std::optional<APInt> {
        if (dim.uge(std::uint64_t(tensor->view.rank())))
          return std::nullopt;
        return APInt(mlir::IndexType::kInternalStorageBitWidth,
                     std::uint64_t(tensor->view.size(int(dim.getZExtValue()))));
      });
  table["tensor.cast"] = strict(
      +[](Operation *op, const TensorPtr &tensor) -> std::optional<TensorPtr> {
        auto type = llvm::dyn_cast<mlir::RankedTensorType>(resultType(op));
        for (auto [dim, size] : llvm::enumerate(type.getShape()))
          if (!mlir::ShapedType::isDynamic(size) &&
              size != tensor->view.size(int(dim)))
            return std::nullopt;
        return tensor;
      });
  return table;
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

/// A tensor whose elements are supported.
static bool isSupportedTensor(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && !tensor.getEncoding() &&
         tensor.getRank() <= TensorView::maxRank &&
         isSupportedScalar(tensor.getElementType());
}

const Evaluator *interpreter::lookupEvaluator(Operation *op) {
  static const Table scalarTable = createScalarTable();
  static const Table tensorTable = createTensorTable();
  bool hasTensor = false;
  for (auto types : {mlir::TypeRange(op->getOperandTypes()),
                     mlir::TypeRange(op->getResultTypes())})
    for (mlir::Type type : types) {
      if (isSupportedTensor(type))
        hasTensor = true;
      else if (!isSupportedScalar(type))
        return nullptr;
    }
  const Table &table = hasTensor ? tensorTable : scalarTable;
  auto found = table.find(op->getName().getStringRef());
  return found == table.end() ? nullptr : &found->second;
}
