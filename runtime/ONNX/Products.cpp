//===- Products.cpp - Matrices, and statistics of rows --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"
#include "runtime/ONNX/Nodes.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace attn;
using namespace attn::onnx;

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

/// `(..., S, K)` times a weight `(K, N)` of static sizes above 0, and a bias
/// `(N)` if there is one. Null if the dimensions before S are several dynamic
/// ones.
static Value createProjection(Builder &b, Value input, Value weight,
                              Value bias = {}) {
  auto type = llvm::cast<mlir::FloatType>(typeOf(input).getElementType());
  Sizes sizes = sizesOf(b, input), three;
  OpFoldResult columns = sizeOf(b, weight, 1);
  if (sizes.size() < 3)
    three.push_back(b.getIndexAttr(1));
  if (sizes.size() <= 3) {
    three.append(sizes);
  } else {
    OpFoldResult first = b.getIndexAttr(1);
    for (OpFoldResult size : ArrayRef(sizes).drop_back(2))
      first = multiply(b, first, size);
    three = {first, sizes[sizes.size() - 2], sizes.back()};
  }
  sizes.back() = columns;
  auto count =
      llvm::count_if(ArrayRef(sizes).drop_back(2), [](OpFoldResult size) {
        return !mlir::getConstantIntValue(size);
      });
  if (sizes.size() > 3 && count > 1)
    return {};
  input = reshape(b, input, three);
  three.back() = columns;
  Value empty = createEmpty(b, three, type);
  Value result = mlir::attn::ProjectionOp::create(
                     b, mlir::TypeRange(empty.getType()), input, weight, empty,
                     /*scales=*/Value(), bias)
                     .getResult(0);
  return reshape(b, result, sizes, three);
}

/// `(..., M, K)` times `(..., K, N)`, where what comes before broadcasts to
/// `batch`.
static Value createContraction(Builder &b, Value lhs, Value rhs,
                               ArrayRef<OpFoldResult> batch) {
  auto type = llvm::cast<mlir::FloatType>(typeOf(lhs).getElementType());
  mlir::FloatType sumType = getAccumulationType(type);
  auto rank = unsigned(batch.size());
  // Loops: the batch, rows, columns, and what is summed.
  auto map = [&](Value tensor, unsigned row, unsigned column) {
    SmallVector<mlir::AffineExpr> exprs =
        broadcastIndices(b, typeOf(tensor).getShape().drop_back(2), batch);
    exprs.push_back(b.getAffineDimExpr(rank + row));
    exprs.push_back(b.getAffineDimExpr(rank + column));
    return mlir::AffineMap::get(rank + 3, 0, exprs, b.getContext());
  };
  Sizes sizes(batch);
  sizes.push_back(sizeOf(b, lhs, typeOf(lhs).getRank() - 2));
  sizes.push_back(sizeOf(b, rhs, typeOf(rhs).getRank() - 1));
  Value sums =
      sumProducts(b, lhs, map(lhs, 0, 2), rhs, map(rhs, 2, 1), sizes, sumType);
  return convertFloats(b, sums, type);
}

/// Whether a product by tiles takes a weight.
static bool isWeight(RankedTensorType type) {
  return type.getRank() == 2 && type.hasStaticShape() &&
         type.getNumElements() > 0;
}

/// What the dimensions before those of matrices broadcast to.
static std::optional<Sizes> broadcastBatch(Builder &b, Value lhs, Value rhs) {
  Sizes result;
  std::int64_t ranks[] = {typeOf(lhs).getRank() - 2, typeOf(rhs).getRank() - 2};
  std::int64_t rank = std::max(ranks[0], ranks[1]);
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    std::int64_t x = dim - (rank - ranks[0]), y = dim - (rank - ranks[1]);
    std::int64_t left = x < 0 ? 1 : typeOf(lhs).getDimSize(x);
    std::int64_t right = y < 0 ? 1 : typeOf(rhs).getDimSize(y);
    if (left != 1 && right != 1 && !mayAgree(left, right))
      return std::nullopt;
    bool takesRight =
        left == 1 || (!isStatic(left) && isStatic(right) && right != 1);
    result.push_back(takesRight && y >= 0 ? sizeOf(b, rhs, y)
                                          : sizeOf(b, lhs, x));
  }
  return result;
}

static LogicalResult importMatMul(NodeImport &at) {
  Builder &b = at.b;
  FailureOr<mlir::FloatType> type = at.floats(0, "A");
  if (failed(type) || failed(at.floats(1, "B")))
    return failure();
  Value lhs = at.input(0), rhs = at.input(1);
  RankedTensorType lhsType = typeOf(lhs), rhsType = typeOf(rhs);
  bool isRow = lhsType.getRank() == 1, isColumn = rhsType.getRank() == 1;
  bool fits = lhsType.getRank() > 0 && rhsType.getRank() > 0 &&
              lhsType.getElementType() == rhsType.getElementType() &&
              mayAgree(lhsType.getShape().back(),
                       isColumn ? rhsType.getDimSize(0)
                                : rhsType.getDimSize(rhsType.getRank() - 2));
  // A vector is a matrix of one row, or of one column.
  if (fits && isRow)
    lhs = reshape(b, lhs, {b.getIndexAttr(1), sizeOf(b, lhs, 0)});
  if (fits && isColumn)
    rhs = reshape(b, rhs, {sizeOf(b, rhs, 0), b.getIndexAttr(1)});
  std::optional<Sizes> batch;
  if (fits)
    batch = broadcastBatch(b, lhs, rhs);
  if (!batch)
    return at.error() << "expected matrices that can be multiplied, got "
                      << formatType(lhsType) << " and " << formatType(rhsType);
  Value result;
  if (isWeight(typeOf(rhs)) &&
      typeOf(lhs).getShape().back() == typeOf(rhs).getDimSize(0))
    result = createProjection(b, lhs, rhs);
  if (!result)
    result = createContraction(b, lhs, rhs, *batch);
  Sizes sizes = sizesOf(b, result);
  if (isColumn)
    sizes.pop_back();
  if (isRow)
    sizes.erase(sizes.end() - (isColumn ? 1 : 2));
  at.setOutput(0, isRow || isColumn ? reshape(b, result, sizes) : result);
  return success();
}

static LogicalResult importGemm(NodeImport &at) {
  Builder &b = at.b;
  FailureOr<mlir::FloatType> type = at.floats(0, "A");
  FailureOr<double> alpha = at.number("alpha", 1), beta = at.number("beta", 1);
  FailureOr<bool> transA = at.flag("transA"), transB = at.flag("transB");
  if (failed(type) || failed(at.rank(0, "A", 2)) ||
      failed(at.rank(1, "B", 2)) || failed(alpha) || failed(beta) ||
      failed(transA) || failed(transB))
    return failure();
  Value lhs = at.input(0), rhs = at.input(1), bias = at.input(2);
  if (*transA)
    lhs = transpose(b, lhs, {1, 0});
  if (*transB)
    rhs = transpose(b, rhs, {1, 0});
  if (typeOf(rhs).getElementType() != *type ||
      !mayAgree(typeOf(lhs).getDimSize(1), typeOf(rhs).getDimSize(0)))
    return at.error() << "expected matrices that can be multiplied, got "
                      << formatType(typeOf(lhs)) << " and "
                      << formatType(typeOf(rhs));
  std::int64_t shape[] = {typeOf(lhs).getDimSize(0), typeOf(rhs).getDimSize(1)};
  if (bias) {
    RankedTensorType given = typeOf(bias);
    bool fits = given.getRank() <= 2 && given.getElementType() == *type;
    for (std::int64_t dim = 0; fits && dim < given.getRank(); ++dim)
      fits = given.getDimSize(dim) == 1 ||
             mayAgree(given.getDimSize(dim), shape[2 - given.getRank() + dim]);
    if (!fits)
      return at.error("C") << "expected what broadcasts to "
                           << formatType(RankedTensorType::get(shape, *type))
                           << ", got " << formatType(given);
  }
  bool isProjection = isWeight(typeOf(rhs)) &&
                      typeOf(lhs).getDimSize(1) == typeOf(rhs).getDimSize(0);
  bool addsBias = bias && isProjection && *alpha == 1 && *beta == 1 &&
                  typeOf(bias).getRank() == 1 &&
                  typeOf(bias).getDimSize(0) == shape[1];
  Value result = isProjection
                     ? createProjection(b, lhs, rhs, addsBias ? bias : Value())
                     : createContraction(b, lhs, rhs, {});
  if ((bias && !addsBias) || *alpha != 1) {
    mlir::FloatType sumType = getAccumulationType(*type);
    SmallVector<Value> inputs = {result};
    if (bias)
      inputs.push_back(bias);
    result = computeElements(
        b, inputs, sizesOf(b, result), *type,
        [&](OpBuilder &body, Location loc, ValueRange elements) {
          Value sum;
          const double factors[] = {*alpha, *beta};
          for (auto [element, factor] : llvm::zip(elements, factors)) {
            Value number = mlir::arith::ConstantOp::create(
                body, loc, body.getFloatAttr(sumType, factor));
            Value product = mlir::arith::MulFOp::create(
                body, loc, convertFloat(body, loc, element, sumType), number);
            sum = sum ? mlir::arith::AddFOp::create(body, loc, sum, product)
                      : product;
          }
          return convertFloat(body, loc, sum, *type);
        });
  }
  at.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static LogicalResult importSoftmax(NodeImport &at) {
  Builder &b = at.b;
  FailureOr<mlir::FloatType> type = at.floats(0, "input");
  FailureOr<std::int64_t> axis =
      at.axis("axis", -1, typeOf(at.input(0)).getRank());
  if (failed(type) || failed(axis))
    return failure();
  mlir::FloatType sumType = getAccumulationType(*type);
  Value input = convertFloats(b, at.input(0), sumType);
  Value empty = createEmpty(b, sizesOf(b, input), sumType);
  auto op = mlir::linalg::SoftmaxOp::create(b, mlir::TypeRange(empty.getType()),
                                            input, empty, std::uint64_t(*axis));
  at.setOutput(0, convertFloats(b, op->getResult(0), *type));
  return success();
}

static LogicalResult importLayerNormalization(NodeImport &at) {
  Builder &b = at.b;
  FailureOr<mlir::FloatType> type = at.floats(0, "X");
  RankedTensorType shape = typeOf(at.input(0));
  FailureOr<std::int64_t> axis = at.axis("axis", -1, shape.getRank());
  FailureOr<double> epsilon = at.number("epsilon", 1e-5F);
  FailureOr<std::int64_t> stash = at.integer("stash_type", 1);
  if (failed(type) || failed(axis) || failed(epsilon) || failed(stash))
    return failure();
  if (DataType(*stash) != DataType::f32)
    return at.error() << "attribute 'stash_type': expected 1, float, got "
                      << *stash;
  for (unsigned output : {1U, 2U})
    if (at.wantsOutput(output))
      return at.error() << "the outputs of means and deviations are not "
                           "imported";
  std::int64_t count = 1;
  for (std::int64_t size : shape.getShape().drop_front(*axis)) {
    if (mlir::ShapedType::isDynamic(size) || size == 0)
      return at.error("X") << "expected static positive sizes from axis "
                           << *axis << " on, got " << formatType(shape);
    count *= size;
  }
  for (auto [index, name] :
       {std::pair(1U, StringRef("Scale")), std::pair(2U, StringRef("B"))}) {
    Value factor = at.input(index);
    if (!factor)
      continue;
    RankedTensorType given = typeOf(factor);
    bool fits =
        given.getElementType() == *type && given.getRank() <= shape.getRank();
    for (std::int64_t dim = 0; fits && dim < given.getRank(); ++dim)
      fits =
          given.getDimSize(dim) == 1 ||
          mayAgree(given.getDimSize(dim),
                   shape.getDimSize(shape.getRank() - given.getRank() + dim));
    if (!fits)
      return at.error(name)
             << "expected what broadcasts to " << formatType(shape) << ", got "
             << formatType(given);
  }
  mlir::FloatType sumType = getAccumulationType(*type);
  auto number = [&](OpBuilder &body, Location loc, double value) {
    return mlir::arith::ConstantOp::create(body, loc,
                                           body.getFloatAttr(sumType, value));
  };
  Value rows = convertFloats(b, at.input(0), sumType);
  Value sum = sumElements(
      b, rows, *axis, sumType,
      [](OpBuilder &, Location, ValueRange element) { return element[0]; });
  Value centred = computeElements(
      b, {rows, sum}, sizesOf(b, rows), sumType,
      [&](OpBuilder &body, Location loc, ValueRange elements) {
        Value mean = mlir::arith::DivFOp::create(
            body, loc, elements[1], number(body, loc, double(count)));
        return mlir::arith::SubFOp::create(body, loc, elements[0], mean);
      });
  Value squares = sumElements(
      b, centred, *axis, sumType,
      [](OpBuilder &body, Location loc, ValueRange element) {
        return mlir::arith::MulFOp::create(body, loc, element[0], element[0]);
      });
  SmallVector<Value> all = {centred, squares, at.input(1)};
  if (at.input(2))
    all.push_back(at.input(2));
  at.setOutput(
      0, computeElements(
             b, all, sizesOf(b, rows), *type,
             [&](OpBuilder &body, Location loc, ValueRange elements) {
               Value variance = mlir::arith::DivFOp::create(
                   body, loc, elements[1], number(body, loc, double(count)));
               Value shifted = mlir::arith::AddFOp::create(
                   body, loc, variance, number(body, loc, *epsilon));
               Value root = mlir::math::SqrtOp::create(body, loc, shifted);
               Value result =
                   mlir::arith::DivFOp::create(body, loc, elements[0], root);
               result = mlir::arith::MulFOp::create(
                   body, loc, result,
                   convertFloat(body, loc, elements[2], sumType));
               if (elements.size() > 3)
                 result = mlir::arith::AddFOp::create(
                     body, loc, result,
                     convertFloat(body, loc, elements[3], sumType));
               return convertFloat(body, loc, result, *type);
             }));
  return success();
}

ArrayRef<Operator> attn::onnx::getProductOperators() {
  static const Operator operators[] = {
      {"", "MatMul", 13, newestOpset, 2, 2, 1, importMatMul},
      {"", "Gemm", 13, newestOpset, 2, 3, 1, importGemm},
      {"", "Softmax", 13, newestOpset, 1, 1, 1, importSoftmax},
      {"", "LayerNormalization", 17, newestOpset, 2, 3, 3,
       importLayerNormalization}};
  return operators;
}
