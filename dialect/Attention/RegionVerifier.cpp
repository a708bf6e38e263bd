//===- RegionVerifier.cpp - Verification of pointwise regions -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isSupportedScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && integer.getWidth() >= 1 &&
           integer.getWidth() <= 64;
  return type.isIndex() || type.isF64() || type.isF32() || type.isF16() ||
         type.isBF16();
}

ShapedType attn::getPlainShapedType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getEncoding() ? ShapedType() : ShapedType(tensor);
  auto memref = dyn_cast<MemRefType>(type);
  return memref ? ShapedType(memref) : ShapedType();
}

namespace {

/// A captured operand and the region argument that stands for it agree. A
/// tensor argument may be less static, so that folding a cast into the op
/// leaves valid IR; canonicalization then refines it.
bool isCompatibleCapture(Type operand, Type argument) {
  return operand == argument ||
         (tensor::preservesStaticInformation(argument, operand) &&
          succeeded(verifyCompatibleShape(argument, operand)));
}

/// A11: an op of a region works on scalars and has no side effects.
LogicalResult verifyRegionOp(Operation *op, Operation &nested, StringRef name) {
  auto report = [&](const Twine &message) {
    InFlightDiagnostic error = nested.emitError()
                               << "'" << nested.getName() << "' in the '"
                               << name << "' region of '" << op->getName()
                               << "': " << message;
    error.attachNote(op->getLoc()) << "see this op";
    return error;
  };
  // Poison joins the list because folders produce it.
  StringRef dialect = nested.getName().getDialectNamespace();
  bool load = isa<tensor::ExtractOp>(nested) ||
              nested.getName().getStringRef() == "memref.load";
  if (!load && dialect != "arith" && dialect != "math" && dialect != "index" &&
      nested.getName().getStringRef() != "ub.poison")
    return report("expected an op of arith, math or index, tensor.extract or "
                  "attn.yield");
  if (!load && !isMemoryEffectFree(&nested))
    return report("expected an op without side effects");
  if (nested.getNumRegions() != 0)
    return report("expected an op without regions");
  for (Type type : nested.getResultTypes())
    if (!isSupportedScalar(type))
      return report("expected scalar results of type index, integer of at most "
                    "64 bits, f64, f32, f16 or bf16, got ")
             << type;
  return success();
}

} // namespace

LogicalResult attn::verifyPosition(Operation *op, ValueRange position) {
  if (position.empty() || position.size() == 4)
    return success();
  return op->emitOpError() << "expected the 4 indices of a position or none, "
                              "got "
                           << position.size();
}

LogicalResult YieldOp::verify() { return verifyPosition(*this, getPosition()); }

/// The arguments of a region are `leading` and the captures, its ops are those
/// of A11, and it yields one `yielded`.
static LogicalResult verifyPointwiseRegion(Operation *op, Region &region,
                                           StringRef name,
                                           ArrayRef<Type> leading,
                                           OperandRange captures,
                                           Type yielded) {
  if (region.empty()) {
    if (!captures.empty())
      return op->emitOpError()
             << "expected no '" << name << "' captures without a '" << name
             << "' region, got " << captures.size();
    return success();
  }
  Block &block = region.front();
  size_t expected = leading.size() + captures.size();
  if (block.getNumArguments() != expected)
    return op->emitOpError()
           << "'" << name << "' region: expected " << expected << " arguments ("
           << leading.size() << " and " << captures.size() << " captures), got "
           << block.getNumArguments();
  for (auto [index, type] : llvm::enumerate(leading))
    if (block.getArgument(index).getType() != type)
      return op->emitOpError()
             << "'" << name << "' region: argument " << index << ": expected "
             << type << ", got " << block.getArgument(index).getType();
  for (auto [index, capture] : llvm::enumerate(captures)) {
    ShapedType shaped = getPlainShapedType(capture.getType());
    Type scalar = shaped ? shaped.getElementType() : capture.getType();
    if (!isSupportedScalar(scalar))
      return op->emitOpError()
             << "'" << name << "' capture " << index
             << ": expected a scalar, tensor or memref of index, integer of at "
                "most 64 bits, f64, f32, f16 or bf16, got "
             << capture.getType();
    Type argument = block.getArgument(leading.size() + index).getType();
    if (!isCompatibleCapture(capture.getType(), argument))
      return op->emitOpError()
             << "'" << name << "' region: argument " << leading.size() + index
             << ": expected " << capture.getType() << " as its capture, got "
             << argument;
  }
  for (Operation &nested : block.without_terminator())
    if (failed(verifyRegionOp(op, nested, name)))
      return failure();
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError()
           << "'" << name << "' region: expected 'attn.yield' at its end, got '"
           << block.back().getName() << "'";
  if (yield.getValue().getType() != yielded)
    return yield.emitOpError()
           << "expected the '" << name << "' region to yield " << yielded
           << ", got " << yield.getValue().getType();
  return success();
}

LogicalResult attn::verifyScoreAndMask(Operation *op, Region &score,
                                       OperandRange scoreCaptures, Region &mask,
                                       OperandRange maskCaptures, Type type) {
  Type index = IndexType::get(op->getContext());
  if (failed(verifyPointwiseRegion(op, score, "score",
                                   {type, index, index, index, index},
                                   scoreCaptures, type)))
    return failure();
  return verifyPointwiseRegion(op, mask, "mask", {index, index, index, index},
                               maskCaptures,
                               IntegerType::get(op->getContext(), 1));
}
