//===- LayerOps.cpp - Ops around attention: rope and merge --------------===//
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

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

LogicalResult verifyLogSumExp(Operation *op, Value operand, StringRef name,
                              Type elementType) {
  if (failed(verifyShaped(op, operand, name, {"B", "H", "S"}, elementType)))
    return failure();
  return verifyStaticSize(op, cast<ShapedType>(operand.getType()), name, 1,
                          "heads");
}

} // namespace

//===----------------------------------------------------------------------===//
// attn.rope
//===----------------------------------------------------------------------===//

static bool isPositionInteger(Type type) {
  return type.isIndex() || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

LogicalResult attn::verifyRopeTables(Operation *op, const RopeTables &tables,
                                     FloatType rows, int64_t headSize) {
  FloatType sums = AttentionOp::getAccumulationType(rows);
  for (auto [table, name] : {std::pair(tables.cosine, tables.cosineName),
                             std::pair(tables.sine, tables.sineName)}) {
    if (failed(verifyShaped(op, table, name, {"S_max", "R / 2"}, nullptr)))
      return failure();
    auto type = cast<ShapedType>(table.getType());
    Type element = type.getElementType();
    if (!element.isF32() && !(element.isF64() && sums.isF64()))
      return op->emitOpError()
             << "operand '" << name << "': expected element type "
             << (sums.isF64() ? "f64 or f32" : "f32") << ", got " << element;
    if (failed(verifyStaticSize(op, type, name, 1, "half of the rotary size")))
      return failure();
    if (type.getDimSize(1) > headSize / 2) // R2
      return op->emitOpError() << "operand '" << name
                               << "': expected dimension 1 (half of the rotary "
                                  "size) to be at most half of the head size "
                               << headSize << ", got " << type.getDimSize(1);
  }
  return success();
}

void attn::addTableConstraints(const RopeTables &tables,
                               SmallVectorImpl<SizeConstraint> &constraints) {
  OperandSize cosine{tables.cosine, 0, tables.cosineName},
      sine{tables.sine, 0, tables.sineName};
  constraints.push_back({sine, cosine, "number of positions"});
  constraints.push_back({sine.at(1), cosine.at(1), "half of the rotary size"});
}

LogicalResult attn::verifyOffset(Operation *op, Value offset, StringRef shape) {
  ShapedType type = getPlainShapedType(offset.getType());
  if (type ? type.getRank() == 1 && isPositionInteger(type.getElementType())
           : isPositionInteger(offset.getType()))
    return success();
  return op->emitOpError() << "operand 'offset': expected index, i32 or i64, "
                              "or a tensor of them of shape ("
                           << shape << "), got " << offset.getType();
}

LogicalResult attn::verifyPositions(Operation *op, Value positions) {
  if (failed(verifyShaped(op, positions, "positions", {"B", "S"}, nullptr)))
    return failure();
  Type element = cast<ShapedType>(positions.getType()).getElementType();
  if (isPositionInteger(element))
    return success();
  return op->emitOpError() << "operand 'positions': expected element type "
                              "index, i32 or i64, got "
                           << element;
}

/// The operands of an op itself.
static RopeTables getTables(RopeOp op) {
  return {op.getCosine(), op.getSine(), "cosine", "sine"};
}

LogicalResult RopeOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"input", "cosine", "sine"})))
    return failure();
  if (getOuts().size() != 1)
    return emitOpError() << "expected 1 operand 'outs', got "
                         << getOuts().size();
  if (failed(verifyHeadRows(*this, getInput(), "input", nullptr))) // R1
    return failure();
  Type elementType = getInputType().getElementType();
  if (failed(verifyHeadRows(*this, getOutput(), "output", elementType)) ||
      failed(verifyRopeTables(*this, getTables(*this),
                              cast<FloatType>(elementType),
                              getInputType().getDimSize(3))))
    return failure();
  if (getOffset() && getPositions()) // R4
    return emitOpError("expected 'offset' or 'positions', got both");
  if ((getOffset() && failed(verifyOffset(*this, getOffset(), "B"))) ||
      (getPositions() && failed(verifyPositions(*this, getPositions()))))
    return failure();
  return failure(failed(verifyOneKind(*this)) ||
                 failed(verifySizes(*this, getSizeConstraints())));
}

SmallVector<SizeConstraint> RopeOp::getSizeConstraints() {
  OperandSize input{getInput(), 0, "input"};
  SmallVector<SizeConstraint> result;
  addSameSizes({getOutput(), 0, "output"}, input, result);
  addTableConstraints(getTables(*this), result);
  if (getOffset() && isa<ShapedType>(getOffset().getType()))
    result.push_back({{getOffset(), 0, "offset"}, input, "batch size"});
  if (getPositions()) {
    OperandSize positions{getPositions(), 0, "positions"};
    result.push_back({positions, input, "batch size"});
    result.push_back({positions.at(1), input.at(2), "sequence length"});
  }
  return result;
}

void RopeOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, {getOffset(), getPositions()},
                   {getInput(), getCosine(), getSine(), getOutput()});
  checkSizes(builder, loc, *this, getSizeConstraints(), describe);
  // R4
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto dim = [&](Value shaped, int64_t dimension) {
    return createFirstDim(builder, loc, shaped, dimension);
  };
  Value limit = dim(getCosine(), 0), numBatches = dim(getInput(), 0),
        length = dim(getInput(), 2);
  auto toIndex = [](OpBuilder &b, Location loc, Value value) -> Value {
    if (value.getType().isIndex())
      return value;
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  };
  auto require = [&](OpBuilder &b, Location loc, Value condition,
                     StringRef text, ArrayRef<Value> numbers) {
    assertWithNumbers(
        b, loc, condition,
        describe(*this, "a position is below 0 or not in the tables 'cosine' "
                        "and 'sine'"),
        text, numbers);
  };
  if (Value positions = getPositions()) {
    auto perRow = [&](OpBuilder &b, Location loc, ValueRange indices) {
      Value position = toIndex(b, loc, createLoad(b, loc, positions, indices));
      require(b, loc,
              createCompare(b, loc, arith::CmpIPredicate::ult, position, limit),
              "{0}, of row {1} in batch entry {2}, for tables of {3}",
              {position, indices[1], indices[0], limit});
    };
    scf::buildLoopNest(builder, loc, {zero, zero}, {numBatches, length},
                       {one, one}, perRow);
    return;
  }
  // From `first` on, `length` positions: none, or all below the limit.
  auto requireRange = [&](OpBuilder &b, Location loc, Value first) {
    Value isEmpty =
        createCompare(b, loc, arith::CmpIPredicate::eq, length, zero);
    Value room = b.createOrFold<arith::SubIOp>(loc, limit, first);
    Value begins =
        createCompare(b, loc, arith::CmpIPredicate::ule, first, limit);
    Value ends = createCompare(b, loc, arith::CmpIPredicate::ule, length, room);
    Value fits = arith::AndIOp::create(b, loc, begins, ends);
    require(b, loc, arith::OrIOp::create(b, loc, isEmpty, fits),
            "{1} positions from {0} on, for tables of {2}",
            {first, length, limit});
  };
  Value offset = getOffset();
  if (offset && isa<ShapedType>(offset.getType())) {
    auto perBatch = [&](OpBuilder &b, Location loc, ValueRange indices) {
      requireRange(b, loc,
                   toIndex(b, loc, createLoad(b, loc, offset, indices)));
    };
    scf::buildLoopNest(builder, loc, zero, numBatches, one, perBatch);
    return;
  }
  // Without batches there are no rows either.
  Value isEmpty =
      createCompare(builder, loc, arith::CmpIPredicate::eq, numBatches, zero);
  length = arith::SelectOp::create(builder, loc, isEmpty, zero, length);
  requireRange(builder, loc, offset ? toIndex(builder, loc, offset) : zero);
}

namespace {
/// An offset of 0 is left out.
struct EraseZeroOffset : OpRewritePattern<RopeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RopeOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getOffset() || !matchPattern(op.getOffset(), m_Zero()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getOffsetMutable().clear(); });
    return success();
  }
};
} // namespace

void RopeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<EraseZeroOffset>(context);
}

//===----------------------------------------------------------------------===//
// attn.merge
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  if (failed(verifyHeadRows(*this, getOutput1(), "output1", nullptr))) // M1
    return failure();
  Type elementType = cast<ShapedType>(getOutput1().getType()).getElementType();
  FloatType sums =
      AttentionOp::getAccumulationType(cast<FloatType>(elementType));
  if (failed(verifyHeadRows(*this, getOutput2(), "output2", elementType)) ||
      failed(verifyLogSumExp(*this, getLse1(), "lse1", sums)) ||
      failed(verifyLogSumExp(*this, getLse2(), "lse2", sums)))
    return failure();
  if (getOuts().empty() || getOuts().size() > 2)
    return emitOpError() << "expected 1 or 2 operands 'outs' (output and "
                            "log-sum-exp), got "
                         << getOuts().size();
  if (failed(verifyHeadRows(*this, getOutput(), "output", elementType)))
    return failure();
  if (Value lse = getLogSumExp())
    if (failed(verifyLogSumExp(*this, lse, "log-sum-exp", sums)))
      return failure();
  return failure(failed(verifyOneKind(*this)) ||
                 failed(verifySizes(*this, getSizeConstraints())));
}

SmallVector<SizeConstraint> MergeOp::getSizeConstraints() {
  OperandSize reference{getOutput1(), 0, "output1"};
  SmallVector<SizeConstraint> result;
  for (auto [operand, name] :
       {std::pair(getOutput2(), "output2"), std::pair(getLse1(), "lse1"),
        std::pair(getLse2(), "lse2"), std::pair(getOutput(), "output")})
    addSameSizes({operand, 0, name}, reference, result);
  if (Value lse = getLogSumExp())
    addSameSizes({lse, 0, "log-sum-exp"}, reference, result);
  return result;
}

void MergeOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  checkSizes(builder, loc, *this, getSizeConstraints(), describe);
}
