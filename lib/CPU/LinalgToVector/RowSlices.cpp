//===- RowSlices.cpp - Parts of rows of linalg operations -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/RowSlices.h"
#include "dialect/Shared/Float8.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isContiguousAlongRows(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1;
}

bool attn::hasVectorLayout(Type elementType) {
  return elementType.isIndex() || elementType.isF16() || elementType.isBF16() ||
         elementType.isF32() || elementType.isF64() || isFloat8(elementType) ||
         elementType.isInteger(8) || elementType.isInteger(16) ||
         elementType.isInteger(32) || elementType.isInteger(64);
}

Value attn::allocateForThread(OpBuilder &b, Location loc, MemRefType type) {
  OpBuilder::InsertionGuard guard(b);
  Operation *parent = b.getInsertionBlock()->getParentOp();
  Operation *thread = parent;
  while (thread && !isa<scf::ForallOp, FunctionOpInterface>(thread))
    thread = thread->getParentOp();
  if (thread)
    b.setInsertionPointToStart(&thread->getRegion(0).front());
  return memref::AllocOp::create(b, loc, type, b.getI64IntegerAttr(64));
}

/// Whether the conversions to LLVM take `op` on vectors. Of math, those from
/// floats to floats that are not expanded, which happens on scalars only.
static bool isElementwise(Operation &op) {
  if (!OpTrait::hasElementwiseMappableTraits(&op))
    return false;
  if (isa<arith::ArithDialect>(op.getDialect()))
    return true;
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  return isa<math::MathDialect>(op.getDialect()) && !isa<math::ClampFOp>(op) &&
         llvm::all_of(op.getOperandTypes(), isFloat) &&
         llvm::all_of(op.getResultTypes(), isFloat);
}

StringRef attn::whyNoVectorBody(linalg::LinalgOp op) {
  for (Operation &nested : op.getBlock()->without_terminator())
    if (!isa<linalg::IndexOp, arith::ConstantOp>(nested) &&
        !isElementwise(nested))
      return "has an operation without a form for vectors";
  auto isElement = [](Value value) {
    return value.getType().isIntOrIndexOrFloat();
  };
  bool allElements = llvm::all_of(op.getBlock()->getArguments(), isElement);
  for (Operation &nested : *op.getBlock())
    allElements &= llvm::all_of(nested.getOperands(), isElement);
  return allElements ? "" : "computes with others than numbers";
}

StringRef attn::whyNoRow(OpOperand &operand) {
  AffineMap map = cast<linalg::LinalgOp>(operand.getOwner())
                      .getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return operand.get().getType().isIntOrIndexOrFloat()
               ? ""
               : "has an operand that is not a buffer";
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return "has an operand that it does not index by its loops";
  if (!hasVectorLayout(type.getElementType()))
    return "has elements that vectors lay out differently";
  unsigned last = map.getNumDims() - 1;
  if (!map.isFunctionOfDim(last))
    return "";
  if (map.getResults().back() != getAffineDimExpr(last, map.getContext()) ||
      !isContiguousAlongRows(type))
    return "has an operand that is not contiguous in the last loop";
  return "";
}

StringRef attn::whyNoRowSlices(linalg::LinalgOp op) {
  unsigned numLoops = op.getNumLoops();
  if (numLoops == 0)
    return "has no loops";
  if (op.getIteratorTypesArray().back() != utils::IteratorType::parallel)
    return "has a reduction in the last loop";
  for (OpOperand &operand : op->getOpOperands())
    if (StringRef reason = whyNoRow(operand); !reason.empty())
      return reason;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&output).isFunctionOfDim(numLoops - 1))
      return "has an output without the last loop";
  return whyNoVectorBody(op);
}

unsigned attn::getWidestElementBits(linalg::LinalgOp op) {
  unsigned bits = 8;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType()))
      bits = std::max(bits, type.getElementType().isIndex()
                                ? 64
                                : type.getElementTypeBitWidth());
  return bits;
}

SmallVector<Value> attn::getSliceIndices(OpBuilder &b, OpOperand &operand,
                                         ValueRange loops) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  SmallVector<Value> indices;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      indices.push_back(loops[dim.getPosition()]);
    else
      indices.push_back(arith::ConstantIndexOp::create(b, op.getLoc(), 0));
  }
  return indices;
}

SmallVector<Value> attn::emitOuterLoops(IndexBuilder &b, linalg::LinalgOp op,
                                        SmallVector<Value> &sizes) {
  for (Range range : op.createLoopRanges(b, b.getLoc()))
    sizes.push_back(b.index(range.size));
  SmallVector<Value> loops;
  for (Value size : ArrayRef(sizes).drop_back())
    loops.push_back(b.enterLoop(0, size, 1));
  return loops;
}

Value attn::loadSlice(OpBuilder &b, OpOperand &operand, ValueRange loops,
                      int64_t lanes) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return operand.get();
  SmallVector<Value> indices = getSliceIndices(b, operand, loops);
  if (!op.getMatchingIndexingMap(&operand).isFunctionOfDim(loops.size() - 1))
    return memref::LoadOp::create(b, op.getLoc(), operand.get(), indices);
  return vector::LoadOp::create(b, op.getLoc(),
                                VectorType::get(lanes, type.getElementType()),
                                operand.get(), indices);
}

void attn::storeSlice(OpBuilder &b, Value vector, OpOperand &output,
                      ValueRange loops) {
  vector::StoreOp::create(b, output.getOwner()->getLoc(), vector, output.get(),
                          getSliceIndices(b, output, loops));
}

/// The product that a step of a sum of products adds, lane by lane, or null. It
/// is not rounded, nor is it in loops over registers: sums have the same bits
/// however many lanes they fill.
static arith::MulFOp getSummedProduct(linalg::LinalgOp op, Operation *nested) {
  if (op.getNumReductionLoops() == 0 ||
      op.getIteratorTypesArray().back() != utils::IteratorType::parallel ||
      !isa<arith::AddFOp>(nested))
    return {};
  for (Value operand : nested->getOperands())
    if (auto product = operand.getDefiningOp<arith::MulFOp>();
        product && product->hasOneUse())
      return product;
  return {};
}

SmallVector<Value> attn::computeSlice(OpBuilder &b, linalg::LinalgOp op,
                                      ValueRange loops, int64_t lanes,
                                      ValueRange operands) {
  Location loc = op.getLoc();
  IRMapping mapping;
  mapping.map(op.getBlock()->getArguments(), operands);
  auto toVector = [&](Value value) -> Value {
    Value mapped = mapping.lookupOrDefault(value);
    if (isa<VectorType>(mapped.getType()))
      return mapped;
    return vector::BroadcastOp::create(
        b, loc, VectorType::get(lanes, mapped.getType()), mapped);
  };
  for (Operation &nested : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      Value position = loops[index.getDim()];
      if (index.getDim() == loops.size() - 1) {
        auto type = VectorType::get(lanes, b.getIndexType());
        position = arith::AddIOp::create(
            b, loc, vector::BroadcastOp::create(b, loc, type, position),
            vector::StepOp::create(b, loc, type));
      }
      mapping.map(index.getResult(), position);
      continue;
    }
    if (isa<arith::ConstantOp>(nested)) {
      b.clone(nested, mapping);
      continue;
    }
    if (arith::MulFOp product = getSummedProduct(op, &nested)) {
      Value sum = nested.getOperand(nested.getOperand(0) == product ? 1 : 0);
      mapping.map(nested.getResult(0),
                  vector::FMAOp::create(b, loc, toVector(product.getLhs()),
                                        toVector(product.getRhs()),
                                        toVector(sum)));
      continue;
    }
    if (isa<arith::MulFOp>(nested) && nested.hasOneUse() &&
        getSummedProduct(op, *nested.user_begin()) == &nested)
      continue;
    IRMapping vectors;
    for (Value operand : nested.getOperands())
      vectors.map(operand, toVector(operand));
    Operation *clone = b.clone(nested, vectors);
    for (auto [result, original] :
         llvm::zip_equal(clone->getResults(), nested.getResults())) {
      result.setType(VectorType::get(lanes, original.getType()));
      mapping.map(original, result);
    }
  }
  return llvm::map_to_vector(op.getBlock()->getTerminator()->getOperands(),
                             toVector);
}

SmallVector<Value> attn::computeSlice(OpBuilder &b, linalg::LinalgOp op,
                                      ValueRange loops, int64_t lanes) {
  SmallVector<Value> operands;
  for (OpOperand *operand : op.getOpOperandsMatchingBBargs()) {
    bool used = op.payloadUsesValueFromOperand(operand);
    operands.push_back(used ? loadSlice(b, *operand, loops, lanes) : Value());
  }
  return computeSlice(b, op, loops, lanes, operands);
}
