//===- Operations.cpp - What single operations compute --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Operations.h"

#include "runtime/Interpreter/OperationTable.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::interpreter;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Any scalars
//===----------------------------------------------------------------------===//

/// One operand of an i1 `and` that is false decides it, and one of an `or` that
/// is true, whatever the other is (A12).
static void evaluateLogic(ArrayRef<Datum> operands,
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

/// Elements of a constant at most: as many as one of a kernel may have.
static constexpr std::uint64_t maxConstantElements = std::uint64_t(64) << 20;

static bool isTooLarge(mlir::ShapedType type) {
  std::uint64_t count = 1;
  for (std::int64_t size : type.getShape())
    count = llvm::SaturatingMultiply(count, std::uint64_t(size));
  return count > maxConstantElements;
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
  if (isTooLarge(type))
    return Undefined();
  Type elementType = type.getElementType();
  if (auto values = elements.tryGetValues<APFloat>()) {
    std::vector<double> numbers;
    for (const APFloat &value : *values)
      numbers.push_back(value.convertToDouble());
    return Tensor::create(elementType, type.getShape(), std::move(numbers));
  }
  if (auto values = elements.tryGetValues<APInt>()) {
    std::vector<std::int64_t> numbers;
    for (const APInt &value : *values)
      numbers.push_back(toInt64(value));
    return Tensor::create(elementType, type.getShape(), std::move(numbers));
  }
  return Undefined();
}

/// The result of an affine map, or the largest or smallest of its results.
static void evaluateAffine(Operation *op, ArrayRef<Datum> operands,
                           llvm::MutableArrayRef<Datum> results) {
  results[0] = Undefined();
  mlir::AffineMap map =
      llvm::cast<mlir::AffineMapAttr>(op->getAttr("map")).getValue();
  SmallVector<mlir::Attribute> numbers, values;
  for (const Datum &operand : operands) {
    const APInt *number = std::get_if<APInt>(&operand);
    if (!number)
      return;
    numbers.push_back(mlir::IntegerAttr::get(resultType(op), *number));
  }
  if (failed(map.constantFold(numbers, values)))
    return;
  auto isLess = [](mlir::Attribute a, mlir::Attribute b) {
    return llvm::cast<mlir::IntegerAttr>(a).getInt() <
           llvm::cast<mlir::IntegerAttr>(b).getInt();
  };
  mlir::Attribute chosen = llvm::isa<mlir::affine::AffineMaxOp>(op)
                               ? *llvm::max_element(values, isLess)
                               : *llvm::min_element(values, isLess);
  results[0] = llvm::cast<mlir::IntegerAttr>(chosen).getValue();
}

static void addConstant(Table &table) {
  table["arith.constant"] = strict(+[](Operation *op) {
    return convertConstant(llvm::cast<mlir::arith::ConstantOp>(op).getValue());
  });
}

static void addGeneralOps(Table &table) {
  addConstant(table);
  table["arith.bitcast"] = [](Operation *op, ArrayRef<Datum> operands,
                              llvm::MutableArrayRef<Datum> results) {
    results[0] = operands[0];
    Type from = operandType(op), to = resultType(op);
    if (const double *number = std::get_if<double>(&results[0]))
      results[0] = roundTo(from, *number).bitcastToAPInt();
    if (const APInt *bits = std::get_if<APInt>(&results[0]);
        bits && llvm::isa<mlir::FloatType>(to))
      results[0] = fromType(to, *bits);
  };
  table["arith.andi"] = [](Operation *, ArrayRef<Datum> operands,
                           llvm::MutableArrayRef<Datum> results) {
    evaluateLogic(operands, results, /*isAnd=*/true);
  };
  table["arith.ori"] = [](Operation *, ArrayRef<Datum> operands,
                          llvm::MutableArrayRef<Datum> results) {
    evaluateLogic(operands, results, /*isAnd=*/false);
  };
  table["arith.select"] = [](Operation *, ArrayRef<Datum> operands,
                             llvm::MutableArrayRef<Datum> results) {
    const APInt *condition = std::get_if<APInt>(&operands[0]);
    results[0] = !condition           ? Datum(Undefined())
                 : condition->isOne() ? operands[1]
                                      : operands[2];
  };
  for (StringRef name : {"affine.apply", "affine.max", "affine.min"})
    table[name] = evaluateAffine;
  table["ub.poison"] = [](Operation *, ArrayRef<Datum>,
                          llvm::MutableArrayRef<Datum> results) {
    results[0] = Undefined();
  };
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

static Table createScalarTable() {
  Table table;
  addIntegerOps(table);
  addFloatOps(table);
  addGeneralOps(table);
  return table;
}

static Table createTensorTable() {
  Table table;
  addConstant(table);
  addTensorOps(table);
  return table;
}

bool interpreter::isSupported(Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return isSupportedScalar(type);
  return !tensor.getEncoding() && tensor.getRank() <= TensorView::maxRank &&
         isSupportedScalar(tensor.getElementType());
}

bool interpreter::isElementwise(Operation *op) {
  return mlir::OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::any_of(op->getOperandTypes(),
                      llvm::IsaPred<mlir::RankedTensorType>);
}

const Evaluator *interpreter::lookupEvaluator(Operation *op) {
  static const Table scalarTable = createScalarTable();
  static const Table tensorTable = createTensorTable();
  auto isTensor = llvm::IsaPred<mlir::RankedTensorType>;
  if (!llvm::all_of(op->getOperandTypes(), isSupported) ||
      !llvm::all_of(op->getResultTypes(), isSupported))
    return nullptr;
  bool hasTensor = llvm::any_of(op->getOperandTypes(), isTensor) ||
                   llvm::any_of(op->getResultTypes(), isTensor);
  const Table &table =
      hasTensor && !isElementwise(op) ? tensorTable : scalarTable;
  auto found = table.find(op->getName().getStringRef());
  return found == table.end() ? nullptr : &found->second;
}
