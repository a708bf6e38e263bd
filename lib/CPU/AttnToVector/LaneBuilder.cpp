//===- LaneBuilder.cpp - Building code over the lanes of a tile -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/AttnToVector/LaneBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

LaneBuilder::LaneBuilder(Operation *anchor, TargetAttr target, int64_t numLanes,
                         unsigned bits)
    : MathBuilder(anchor->getLoc(), anchor), anchor(anchor),
      before(anchor->getPrevNode()), target(target), numLanes(numLanes),
      width(std::gcd(numLanes, target.getVectorBits() / bits)) {}

Value LaneBuilder::constant(TypedAttr value) {
  Value &cached = constants[value];
  if (!cached) {
    InsertionGuard guard(*this);
    if (before)
      setInsertionPointAfter(before);
    else
      setInsertionPointToStart(anchor->getBlock());
    cached = create<arith::ConstantOp>(value);
  }
  return cached;
}

Value LaneBuilder::number(Type type, double value) {
  TypedAttr scalar = getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return constant(DenseElementsAttr::get(vector, Attribute(scalar)));
  return constant(scalar);
}

Value LaneBuilder::integer(Type type, int64_t value) {
  TypedAttr scalar = getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return constant(DenseElementsAttr::get(vector, Attribute(scalar)));
  return constant(scalar);
}

Value LaneBuilder::laneNumbers(int64_t piece, int64_t stride,
                               Type elementType) {
  SmallVector<APInt> numbers;
  unsigned bits = elementType.getIntOrFloatBitWidth();
  for (int64_t lane = 0; lane < width; ++lane)
    numbers.push_back(
        APInt(64, uint64_t((piece * width + lane)) * uint64_t(stride))
            .trunc(bits));
  return constant(DenseElementsAttr::get(getPieceType(elementType), numbers));
}

Value LaneBuilder::loadPiece(int64_t piece, Value memref, ValueRange row,
                             Type elementType) {
  SmallVector<Value> indices(row);
  indices.push_back(index(piece * width));
  return create<vector::LoadOp>(getPieceType(elementType), memref, indices);
}

void LaneBuilder::storePiece(Value value, int64_t piece, Value memref,
                             ValueRange row) {
  SmallVector<Value> indices(row);
  indices.push_back(index(piece * width));
  create<vector::StoreOp>(value, memref, indices);
}

Pieces LaneBuilder::load(Value memref, ValueRange row, Type elementType) {
  Pieces pieces;
  for (int64_t piece = 0; piece < getNumPieces(); ++piece)
    pieces.push_back(loadPiece(piece, memref, row, elementType));
  return pieces;
}

void LaneBuilder::store(ArrayRef<Value> pieces, Value memref, ValueRange row) {
  for (auto [piece, value] : llvm::enumerate(pieces))
    storePiece(value, int64_t(piece), memref, row);
}

Pieces LaneBuilder::loadWhere(ArrayRef<Value> keep, Value memref,
                              ValueRange row, Value otherwise) {
  Pieces pieces;
  SmallVector<Value> indices(row);
  indices.emplace_back();
  for (auto [piece, mask] : llvm::enumerate(keep)) {
    indices.back() = index(int64_t(piece) * width);
    pieces.push_back(create<vector::MaskedLoadOp>(otherwise.getType(), memref,
                                                  indices, mask, otherwise));
  }
  return pieces;
}

Value LaneBuilder::allocate(MemRefType type) {
  InsertionGuard guard(*this);
  Operation *thread = anchor->getParentOfType<scf::ForallOp>();
  if (!thread)
    thread = anchor->getParentOfType<FunctionOpInterface>();
  setInsertionPointToStart(&thread->getRegion(0).front());
  return create<memref::AllocOp>(type, getI64IntegerAttr(64));
}

SmallVector<Value>
LaneBuilder::loop(Operand lower, Operand upper, int64_t step,
                  ValueRange initial,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto forOp = create<scf::ForOp>(
      integer(lower), integer(upper), index(step), initial,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        InsertionGuard guard(*this);
        setInsertionPointToStart(i.getParentBlock());
        create<scf::YieldOp>(body(i, carried));
      });
  return SmallVector<Value>(forOp.getResults());
}

void LaneBuilder::loop(Operand lower, Operand upper, int64_t step,
                       function_ref<void(Value)> body) {
  loop(lower, upper, step, {}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value>
LaneBuilder::branch(Value condition, function_ref<SmallVector<Value>()> then,
                    function_ref<SmallVector<Value>()> otherwise) {
  if (matchPattern(condition, m_One()))
    return then();
  if (matchPattern(condition, m_Zero()))
    return otherwise();
  auto build = [&](function_ref<SmallVector<Value>()> body) {
    return [this, body](OpBuilder &builder, Location) {
      InsertionGuard guard(*this);
      restoreInsertionPoint(builder.saveInsertionPoint());
      SmallVector<Value> values = body();
      create<scf::YieldOp>(values);
    };
  };
  auto ifOp = create<scf::IfOp>(condition, build(then), build(otherwise));
  return SmallVector<Value>(ifOp.getResults());
}

Value LaneBuilder::maximum(Value first, Value second) {
  Value larger =
      create<arith::CmpFOp>(arith::CmpFPredicate::OGT, first, second);
  return create<arith::SelectOp>(larger, first, second);
}

Value LaneBuilder::minimum(Value first, Value second) {
  Value smaller =
      create<arith::CmpFOp>(arith::CmpFPredicate::OLT, first, second);
  return create<arith::SelectOp>(smaller, first, second);
}
