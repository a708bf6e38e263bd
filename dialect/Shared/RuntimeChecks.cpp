//===- RuntimeChecks.cpp - Checks of operands at run time -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

StringAttr attn::getArgumentName(Value value) {
  while (Operation *cast = value.getDefiningOp()) {
    if (!isa<CastOpInterface, bufferization::ToTensorOp>(cast))
      return nullptr;
    value = cast->getOperand(0);
  }
  auto named = dyn_cast<NameLoc>(value.getLoc());
  return named ? named.getName() : nullptr;
}

std::string attn::describeOperand(Value value, StringRef name) {
  if (StringAttr argument = getArgumentName(value))
    return "argument '" + argument.str() + "'";
  return "operand '" + name.str() + "'";
}

Value attn::getFirstDestination(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    auto op = dyn_cast<DestinationStyleOpInterface>(result.getOwner());
    if (!op)
      break;
    value = op.getTiedOpOperand(result)->get();
  }
  return value;
}

Value attn::createFirstDim(OpBuilder &builder, Location loc, Value shaped,
                           int64_t dim) {
  shaped = getFirstDestination(shaped);
  ReifiedRankedShapedTypeDims sizes;
  if (Operation *op = shaped.getDefiningOp();
      isa_and_nonnull<CacheReadOp, tensor::EmptyOp>(op) &&
      succeeded(reifyResultShapes(builder, op, sizes)))
    return getValueOrCreateConstantIndexOp(builder, loc,
                                           sizes.front()[unsigned(dim)]);
  return createDim(builder, loc, shaped, dim);
}

void attn::moveBeforeWrites(OpBuilder &builder, ArrayRef<Value> values,
                            ArrayRef<Value> shaped) {
  // What memory holds is of its time.
  auto isMemory = [](Value value) {
    return value && isa<BaseMemRefType>(value.getType());
  };
  if (llvm::any_of(values, isMemory) || llvm::any_of(shaped, isMemory))
    return;
  SmallVector<Value> needed(values);
  for (Value value : shaped) {
    if (!value || cast<ShapedType>(value.getType()).hasStaticShape())
      continue;
    value = getFirstDestination(value);
    if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
      llvm::append_range(needed, empty.getDynamicSizes());
    else
      needed.push_back(value);
  }
  Block *block = builder.getInsertionBlock();
  Operation *last = nullptr;
  for (Value value : needed) {
    if (!value || value.getParentBlock()->getParent() != block->getParent())
      continue; // From a region around this one.
    if (value.getParentBlock() != block)
      return;
    if (Operation *op = value.getDefiningOp())
      if (!last || last->isBeforeInBlock(op))
        last = op;
  }
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(block);
}

/// `values` are what numbers come from beside the offset, and `shaped` what
/// sizes come from beside the operands that all have.
template <typename Op>
static void moveBeforeWritesOf(OpBuilder &builder, Op op,
                               SmallVector<Value> values,
                               SmallVector<Value> shaped = {}) {
  values.push_back(op.getOffset());
  llvm::append_range(values, op.getMaskCaptures());
  shaped.append({op.getQuery(), op.getSink()});
  llvm::append_range(shaped, op.getOuts());
  for (Value operand : {op.getKey(), op.getValue()}) {
    auto read = operand.template getDefiningOp<CacheReadOp>();
    shaped.push_back(read ? read.getCache() : operand);
    if (read)
      values.append({read.getLengths(), read.getSize()});
  }
  moveBeforeWrites(builder, values, shaped);
}

void attn::moveBeforeWrites(OpBuilder &builder, AttentionOp op) {
  moveBeforeWritesOf(
      builder, op,
      {op.getCumulativeQuery(), op.getCumulativeKey(), op.getCounts()});
}

void attn::moveBeforeWrites(OpBuilder &builder, AttentionBackwardOp op) {
  moveBeforeWritesOf(
      builder, op,
      {op.getCumulativeQuery(), op.getCumulativeKey(), op.getCounts()},
      {op.getOutput(), op.getLogSumExp(), op.getOutputGradient(),
       op.getLogSumExpGradient()});
}

void attn::moveBeforeWrites(OpBuilder &builder, AttentionTangentOp op) {
  SmallVector<Value> shaped = {op.getOutput(), op.getLogSumExp()};
  for (const AttentionTangentOp::Tangent &tangent : op.getTangents())
    for (Value value : {tangent.tangent, tangent.of})
      if (isa<ShapedType>(value.getType()))
        shaped.push_back(value);
  moveBeforeWritesOf(
      builder, op,
      {op.getCumulativeQuery(), op.getCumulativeKey(), op.getCounts()}, shaped);
}

void attn::moveBeforeWrites(OpBuilder &builder, MultiTokenAttentionOp op) {
  moveBeforeWritesOf(builder, op, {});
}

void attn::moveBeforeWrites(OpBuilder &builder,
                            MultiTokenAttentionBackwardOp op) {
  moveBeforeWritesOf(builder, op, {},
                     {op.getOutputGradient(), op.getLogSumExpGradient()});
}

Value attn::createDim(OpBuilder &builder, Location loc, Value shaped,
                      int64_t dim) {
  if (isa<MemRefType>(shaped.getType()))
    return builder.createOrFold<memref::DimOp>(loc, shaped, dim);
  return builder.createOrFold<tensor::DimOp>(loc, shaped, dim);
}

Value attn::createLoad(OpBuilder &builder, Location loc, Value shaped,
                       ValueRange indices) {
  if (isa<MemRefType>(shaped.getType()))
    return memref::LoadOp::create(builder, loc, shaped, indices);
  return tensor::ExtractOp::create(builder, loc, shaped, indices);
}

Value attn::createCompare(OpBuilder &builder, Location loc,
                          arith::CmpIPredicate predicate, Value lhs,
                          Value rhs) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, lhs, rhs);
}

void attn::assertWithNumbers(OpBuilder &builder, Location loc, Value condition,
                             const std::string &message, StringRef text,
                             ArrayRef<Value> numbers) {
  Value yes =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  SmallVector<Value> wide;
  for (Value number : numbers)
    wide.push_back(number.getType().isIndex()
                       ? arith::IndexCastOp::create(
                             builder, loc, builder.getI64Type(), number)
                       : number);
  ReportOp::create(builder, loc,
                   builder.createOrFold<arith::XOrIOp>(loc, condition, yes),
                   builder.getStringAttr(message), wide,
                   arith::ConstantIndexOp::create(builder, loc, 0),
                   builder.getStrArrayAttr(text), ValueRange());
  cf::AssertOp::create(builder, loc, condition, message);
}

static bool isStatic(const OperandSize &size) {
  return !size.operand || !cast<ShapedType>(size.operand.getType())
                               .isDynamicDim(unsigned(size.dimension));
}

void attn::checkSizes(OpBuilder &builder, Location loc, Operation *op,
                      ArrayRef<SizeConstraint> constraints,
                      DescribeCheck describe) {
  for (const SizeConstraint &constraint : constraints) {
    if (isStatic(constraint.size) && isStatic(constraint.reference))
      continue; // The verifier has seen it.
    Value size = createFirstDim(builder, loc, constraint.size.operand,
                                constraint.size.dimension);
    Value expected =
        arith::ConstantIndexOp::create(builder, loc, constraint.delta);
    if (constraint.reference.operand) {
      Value reference =
          createFirstDim(builder, loc, constraint.reference.operand,
                         constraint.reference.dimension);
      expected = builder.createOrFold<arith::AddIOp>(loc, reference, expected);
    }
    std::string message;
    llvm::raw_string_ostream stream(message);
    stream << describeOperand(constraint.size.operand, constraint.size.name)
           << ": dimension " << constraint.size.dimension << " ("
           << constraint.meaning << ") is not ";
    if (constraint.reference.operand)
      stream << "that of "
             << describeOperand(constraint.reference.operand,
                                constraint.reference.name);
    else
      stream << constraint.delta;
    assertWithNumbers(
        builder, loc,
        createCompare(builder, loc, arith::CmpIPredicate::eq, size, expected),
        describe(op, message), "{0} instead of {1}", {size, expected});
  }
}

void attn::checkOffset(OpBuilder &builder, Location loc, Value offset,
                       const std::string &message) {
  if (isa<ShapedType>(offset.getType())) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange) {
      checkOffset(b, loc, createLoad(b, loc, offset, n), message);
      scf::YieldOp::create(b, loc);
    };
    scf::ForOp::create(builder, loc, zero, createDim(builder, loc, offset, 0),
                       one, ValueRange{}, body);
    return;
  }
  if (offset.getType().isInteger(32))
    return; // As every i32 is.
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(offset.getType(), value));
  };
  // One unsigned comparison for both bounds.
  Value distance = builder.createOrFold<arith::AddIOp>(
      loc, offset, constant(AttentionOp::kMaxOffset));
  assertWithNumbers(builder, loc,
                    createCompare(builder, loc, arith::CmpIPredicate::ule,
                                  distance,
                                  constant(2 * AttentionOp::kMaxOffset)),
                    message, "got {0}", offset);
}

void attn::checkCumulative(OpBuilder &builder, Location loc, Operation *op,
                           Value cumulative, StringRef name, Value rows,
                           StringRef meaning, DescribeCheck describe) {
  std::string operand = describeOperand(cumulative, name);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = createDim(builder, loc, cumulative, 0);
  Value notEmpty =
      createCompare(builder, loc, arith::CmpIPredicate::sge, count, one);
  cf::AssertOp::create(
      builder, loc, notEmpty,
      describe(op, operand + ": expected at least 1 element, got 0"));
  std::string message =
      describe(op, operand +
                       ": expected numbers that do not decrease, none "
                       "below 0 or above the " +
                       meaning.str());
  auto load = [&](OpBuilder &b, Location loc, Value n) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      createLoad(b, loc, cumulative, n));
  };
  // Each number by itself, so that they can be checked in parallel.
  auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange) {
    Value bound = load(b, loc, n);
    Value isFirst = createCompare(b, loc, arith::CmpIPredicate::eq, n, zero);
    Value before = arith::SubIOp::create(
        b, loc, arith::MaxUIOp::create(b, loc, n, one), one);
    Value previous =
        arith::SelectOp::create(b, loc, isFirst, zero, load(b, loc, before));
    Value ordered =
        createCompare(b, loc, arith::CmpIPredicate::sge, bound, previous);
    Value inside =
        createCompare(b, loc, arith::CmpIPredicate::sle, bound, rows);
    assertWithNumbers(b, loc, arith::AndIOp::create(b, loc, ordered, inside),
                      message, "element {0} is {1}, after {2}, of at most {3}",
                      {n, bound, previous, rows});
    scf::YieldOp::create(b, loc);
  };
  scf::ForOp::create(builder, loc, zero, count, one, ValueRange{}, body);
}
