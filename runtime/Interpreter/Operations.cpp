//===- Operations.cpp - What single operations compute --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Operations.h"

#include "runtime/Interpreter/OperationTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace attn;
using namespace attn::interpreter;
using llvm::APFloat;
using llvm::APInt;
using mlir::Operation;

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
