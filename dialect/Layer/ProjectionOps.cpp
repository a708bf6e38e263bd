//===- ProjectionOps.cpp - attn.projection --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Features of a token of `(B, S, K)` or `(B, H, S, D)`.
static int64_t getNumFeatures(ShapedType type) {
  ArrayRef<int64_t> shape = type.getShape();
  return shape.size() == 4 ? shape[1] * shape[3] : shape[2];
}

/// The dimension of the sequence length.
static int64_t getLengthDim(Value tokens) {
  return cast<ShapedType>(tokens.getType()).getRank() - 2;
}

FloatType ProjectionOp::getAccumulationType() { // P4
  return AttentionOp::getAccumulationType(
      cast<FloatType>(getInputType().getElementType()));
}

int64_t ProjectionOp::getNumInputFeatures() {
  return getNumFeatures(getInputType());
}

SmallVector<int64_t> ProjectionOp::getNumOutputFeatures() {
  return llvm::map_to_vector(getOuts(), [](Value out) {
    return getNumFeatures(cast<ShapedType>(out.getType()));
  });
}

int64_t ProjectionOp::getPanelWidth() {
  return getWeightType().getDimSize(
      isInPairs() ? 2 : getWeightType().getRank() - 1);
}

/// Tokens, whose features may be those of heads (P1).
static LogicalResult verifyTokens(Operation *op, Value operand,
                                  StringRef name) {
  ShapedType type = getPlainShapedType(operand.getType());
  if (!type || (type.getRank() != 3 && type.getRank() != 4))
    return op->emitOpError() << "operand '" << name
                             << "': expected a tensor or memref of shape (B, "
                                "S, features) or (B, H, S, D), got "
                             << operand.getType();
  if (failed(verifyFloat(op, operand, name)))
    return failure();
  if (type.getRank() == 3)
    return verifyStaticSize(op, type, name, 2, "features");
  if (failed(verifyStaticSize(op, type, name, 1, "heads")) ||
      failed(verifyStaticSize(op, type, name, 3, "head size")))
    return failure();
  int64_t features;
  if (llvm::MulOverflow(type.getDimSize(1), type.getDimSize(3), features))
    return op->emitOpError()
           << "operand '" << name << "': expected less than 2^63 features, got "
           << operand.getType();
  return success();
}

static LogicalResult verifyWeight(Operation *op, Value weight, StringRef name,
                                  FloatType rows,
                                  int64_t features) { // P3, P4
  ShapedType type = getPlainShapedType(weight.getType());
  auto report = [&] {
    return op->emitOpError() << "operand '" << name << "': expected ";
  };
  if (!type || type.getRank() < 2 || type.getRank() > 4)
    return report() << "a tensor or memref of shape (K, N), (panels, K, P) or "
                       "(panels, K / 2, P, 2), got "
                    << weight.getType();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (failed(verifyStaticSize(op, type, name, dim, "weights")))
      return failure();
  Type element = type.getElementType();
  bool isWide = rows.isF64();
  if (!element.isF32() && !element.isF16() && !element.isBF16() &&
      !element.isSignlessInteger(8) && !(isWide && element.isF64()))
    return report() << "element type " << (isWide ? "f64, " : "")
                    << "f32, f16, bf16 or i8, got " << element;
  if (type.getRank() == 4 && features % 2 != 0)
    return report() << "an even number of features for pairs of rows, got "
                    << features;
  return success();
}

/// Scales and bias (P5).
static LogicalResult verifyColumns(Operation *op, const ProjectionMap &map,
                                   FloatType rows) {
  bool isQuantized =
      cast<ShapedType>(map.weight.getType()).getElementType().isInteger(8);
  if (isQuantized != bool(map.scales))
    return op->emitOpError()
           << "operand '" << map.weightName << "': expected scales "
           << (isQuantized ? "with" : "only with") << " a weight of i8";
  if (map.scales && failed(verifyShaped(op, map.scales, map.scalesName, {"N"},
                                        Float32Type::get(op->getContext()))))
    return failure();
  if (!map.bias)
    return success();
  if (failed(verifyShaped(op, map.bias, map.biasName, {"N"}, nullptr)) ||
      failed(verifyFloat(op, map.bias, map.biasName)))
    return failure();
  Type element = cast<ShapedType>(map.bias.getType()).getElementType();
  if (element.isF64() && !rows.isF64())
    return op->emitOpError()
           << "operand '" << map.biasName
           << "': expected element type f32, f16 or bf16, got f64";
  return success();
}

LogicalResult attn::verifyProjectionMap(Operation *op, const ProjectionMap &map,
                                        FloatType rows, int64_t features) {
  if (failed(verifyWeight(op, map.weight, map.weightName, rows, features)))
    return failure();
  return verifyColumns(op, map, rows);
}

void attn::addMapConstraints(const ProjectionMap &map, int64_t features,
                             int64_t columns,
                             SmallVectorImpl<SizeConstraint> &constraints) {
  auto require = [&](Value operand, int64_t dim, StringRef name,
                     StringRef meaning, int64_t size) {
    constraints.push_back({{operand, dim, name}, {}, meaning, size});
  };
  auto type = cast<ShapedType>(map.weight.getType());
  auto requireOfWeight = [&](int64_t dim, StringRef meaning, int64_t size) {
    require(map.weight, dim, map.weightName, meaning, size);
  };
  if (type.getRank() == 2) {
    requireOfWeight(0, "features of the input", features);
    requireOfWeight(1, "columns of all results", columns); // P2
  } else {                                                 // P3
    bool isInPairs = type.getRank() == 4;
    requireOfWeight(0, "panels for the columns of all results",
                    int64_t(llvm::divideCeil(uint64_t(columns),
                                             uint64_t(type.getDimSize(2)))));
    if (isInPairs) {
      requireOfWeight(1, "pairs of features of the input", features / 2);
      requireOfWeight(3, "rows of a pair", 2);
    } else {
      requireOfWeight(1, "features of the input", features);
    }
  }
  for (auto [vector, name] : {std::pair(map.scales, map.scalesName),
                              std::pair(map.bias, map.biasName)})
    if (vector)
      require(vector, 0, name, "columns of all results", columns);
}

/// The operands of an op itself.
static ProjectionMap getMap(ProjectionOp op) {
  return {op.getWeight(), op.getScales(), op.getBias(),
          "weight",       "scales",       "bias"};
}

LogicalResult ProjectionOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"input", "weight"})))
    return failure();
  if (getOuts().empty())
    return emitOpError("expected at least 1 operand 'outs', got 0");
  if (failed(verifyTokens(*this, getInput(), "input")))
    return failure();
  Type element = getInputType().getElementType();
  int64_t columns = 0;
  for (Value out : getOuts()) {
    if (failed(verifyTokens(*this, out, "outs")))
      return failure();
    auto type = cast<ShapedType>(out.getType());
    if (type.getElementType() != element &&
        type.getElementType() != getAccumulationType()) {
      InFlightDiagnostic error = emitOpError("operand 'outs': expected element "
                                             "type ")
                                 << element;
      if (element != getAccumulationType())
        error << " or " << getAccumulationType();
      return error << ", got " << type.getElementType();
    }
    if (llvm::AddOverflow(columns, getNumFeatures(type), columns))
      return emitOpError("expected less than 2^63 features of all 'outs'");
  }
  return failure(
      failed(verifyProjectionMap(*this, getMap(*this), cast<FloatType>(element),
                                 getNumInputFeatures())) ||
      failed(verifyOneKind(*this)) ||
      failed(verifySizes(*this, getSizeConstraints())));
}

SmallVector<SizeConstraint> ProjectionOp::getSizeConstraints() {
  SmallVector<SizeConstraint> result;
  int64_t columns = 0;
  for (auto [out, features] : llvm::zip(getOuts(), getNumOutputFeatures())) {
    columns += features;
    result.push_back(
        {{out, 0, "outs"}, {getInput(), 0, "input"}, "batch size"});
    result.push_back({{out, getLengthDim(out), "outs"},
                      {getInput(), getLengthDim(getInput()), "input"},
                      "sequence length"});
  }
  addMapConstraints(getMap(*this), getNumInputFeatures(), columns, result);
  return result;
}

void ProjectionOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> shaped = {getInput()};
  llvm::append_range(shaped, getOuts());
  for (Value columns : {getScales(), getBias()})
    if (columns)
      shaped.push_back(columns);
  moveBeforeWrites(builder, {}, shaped);
  checkSizes(builder, loc, *this, getSizeConstraints(), describe);
}
