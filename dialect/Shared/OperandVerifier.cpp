//===- OperandVerifier.cpp - Verification of shaped operands --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/OperandVerifier.h"
#include "dialect/Attention/RegionVerifier.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyShaped(Operation *op, Value operand, StringRef name,
                                 ArrayRef<StringRef> dims, Type elementType) {
  ShapedType type = getPlainShapedType(operand.getType());
  if (!type || type.getRank() != int64_t(dims.size())) {
    InFlightDiagnostic error = op->emitOpError()
                               << "operand '" << name
                               << "': expected a tensor or memref of shape (";
    llvm::interleaveComma(dims, error);
    return error << "), got " << operand.getType();
  }
  if (elementType && type.getElementType() != elementType)
    return op->emitOpError()
           << "operand '" << name << "': expected element type " << elementType
           << ", got " << type.getElementType();
  return success();
}

LogicalResult attn::verifySizes(Operation *op,
                                ArrayRef<SizeConstraint> constraints) {
  auto sizeOf = [](const OperandSize &size) {
    return cast<ShapedType>(size.operand.getType()).getDimSize(size.dimension);
  };
  for (const SizeConstraint &constraint : constraints) {
    int64_t size = sizeOf(constraint.size);
    uint64_t expected = constraint.delta; // Sizes go up to 2^63 - 1.
    if (constraint.reference.operand) {
      int64_t reference = sizeOf(constraint.reference);
      if (ShapedType::isDynamic(reference))
        continue;
      expected += reference;
    }
    if (ShapedType::isDynamic(size) || uint64_t(size) == expected)
      continue;
    InFlightDiagnostic error = op->emitOpError()
                               << "operand '" << constraint.size.name
                               << "': dimension " << constraint.size.dimension
                               << " (" << constraint.meaning << ") is " << size
                               << ", expected " << expected;
    if (constraint.reference.operand)
      error.attachNote(constraint.reference.operand.getLoc())
          << "dimension " << constraint.reference.dimension << " of '"
          << constraint.reference.name << "' is "
          << sizeOf(constraint.reference) << ", from "
          << constraint.reference.operand.getType();
    return error;
  }
  return success();
}

LogicalResult attn::verifyStaticSize(Operation *op, ShapedType type,
                                     StringRef name, int64_t dimension,
                                     StringRef meaning) {
  int64_t size = type.getDimSize(dimension);
  if (!ShapedType::isDynamic(size) && size >= 1)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "operand '" << name << "': expected dimension "
                             << dimension << " (" << meaning
                             << ") to be static and at least 1, got ";
  if (ShapedType::isDynamic(size))
    return error << "'?'";
  return error << size;
}

LogicalResult attn::verifyHeadSize(Operation *op, ShapedType type,
                                   StringRef name) {
  if (failed(verifyStaticSize(op, type, name, 3, "head size")))
    return failure();
  int64_t size = type.getDimSize(3);
  if (size <= maxHeadSize)
    return success();
  return op->emitOpError() << "operand '" << name
                           << "': expected dimension 3 (head size) to be at "
                              "most "
                           << maxHeadSize << ", got " << size;
}

LogicalResult attn::verifySegments(Operation *op, ArrayRef<int32_t> sizes,
                                   ArrayRef<StringRef> names) {
  for (auto [size, name] : llvm::zip(sizes, names))
    if (!name.empty() && size != 1)
      return op->emitOpError()
             << "expected 1 operand '" << name << "', got " << size;
  return success();
}

LogicalResult attn::verifyOneKind(Operation *op) {
  bool tensors = false, memrefs = false;
  for (Type type : op->getOperandTypes()) {
    tensors |= isa<RankedTensorType>(type);
    memrefs |= isa<MemRefType>(type);
  }
  if (tensors && memrefs)
    return op->emitOpError("expected only tensors or only memrefs, got both");
  return success();
}

bool attn::isComputedFloat(Type type) {
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16();
}

LogicalResult attn::verifyFloat(Operation *op, Value operand, StringRef name) {
  Type type = cast<ShapedType>(operand.getType()).getElementType();
  if (isComputedFloat(type))
    return success();
  return op->emitOpError() << "operand '" << name
                           << "': expected element type f64, f32, f16 or "
                              "bf16, got "
                           << type;
}

LogicalResult attn::verifyHeadRows(Operation *op, Value operand, StringRef name,
                                   Type elementType) {
  if (failed(
          verifyShaped(op, operand, name, {"B", "H", "S", "D"}, elementType)))
    return failure();
  auto type = cast<ShapedType>(operand.getType());
  return failure(failed(verifyFloat(op, operand, name)) ||
                 failed(verifyStaticSize(op, type, name, 1, "heads")) ||
                 failed(verifyStaticSize(op, type, name, 3, "head size")));
}

void attn::addSameSizes(OperandSize operand, OperandSize reference,
                        SmallVectorImpl<SizeConstraint> &constraints) {
  StringRef meanings[] = {"batch size", "number of heads", "sequence length",
                          "head size"};
  int64_t rank = cast<ShapedType>(operand.operand.getType()).getRank();
  for (int64_t dimension = 0; dimension < rank; ++dimension)
    constraints.push_back(
        {operand.at(dimension), reference.at(dimension), meanings[dimension]});
}
