//===- CodeModels.cpp - Forward mode of loops and of what is in them ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Loops carry tangents along beside what they are of, and so do branches. What
// has no rule of its own, such as the gradient of an attention, becomes the
// loops of the reference lowering: so second derivatives are those of its code.
//

#include "dialect/AttnOps.h"
#include "lib/Gradient/FunctionDerivative.h"
#include "lib/Gradient/Models.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether anything moves that an operation, or one in it, reads.
static bool readsMoving(Operation *op, const OpTangents &tangents) {
  WalkResult result = op->walk([&](Operation *nested) {
    bool reads = llvm::any_of(nested->getOperands(), [&](Value operand) {
      return tangents.moves(operand);
    });
    return reads ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static LogicalResult emitTangentsOf(OpBuilder &b, Operation *op,
                                    OpTangents &tangents) {
  if (!llvm::any_of(op->getResultTypes(), isOfFloats) ||
      !readsMoving(op, tangents))
    return success();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(op);
  if (auto differentiable = dyn_cast<Differentiable>(op))
    return differentiable.emitTangents(b, tangents);
  if (!llvm::all_of(op->getResultTypes(),
                    [](Type type) { return type.isIntOrIndexOrFloat(); }))
    return refuseTangent(op);
  // Scalars, by the rules of scores.
  FailureOr<SmallVector<Value>> found = emitScalarTangents(
      b, op, [&](Value value) { return tangents.get(value); });
  if (failed(found))
    return failure();
  for (auto [result, tangent] : llvm::zip(op->getResults(), *found))
    if (tangent)
      tangents.set(result, tangent);
  return success();
}

LogicalResult attn::emitTangentsOfBlock(OpBuilder &b, Block &block,
                                        OpTangents &tangents) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(emitTangentsOf(b, op, tangents)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Those of the values that may move.
static SmallVector<Value> getFloats(ValueRange values) {
  return llvm::filter_to_vector(
      values, [](Value value) { return isOfFloats(value.getType()); });
}

/// Emits tangents in a block, which yields those of what it yields behind that.
static LogicalResult emitYielded(OpBuilder &b, Block &block,
                                 OpTangents &tangents) {
  if (failed(emitTangentsOfBlock(b, block, tangents)))
    return failure();
  Operation *yield = block.getTerminator();
  b.setInsertionPoint(yield);
  SmallVector<Value> values(yield->getOperands());
  for (Value value : getFloats(yield->getOperands()))
    values.push_back(tangents.getOrZeros(b, value));
  yield->setOperands(values);
  return success();
}

/// Replaces an operation by one that has tangents of its results behind them.
static void replaceWithTangents(Operation *op, Operation *by,
                                OpTangents &tangents) {
  auto results = by->getResults();
  op->replaceAllUsesWith(results.take_front(op->getNumResults()));
  SmallVector<Value> moving =
      getFloats(results.take_front(op->getNumResults()));
  for (auto [value, tangent] :
       llvm::zip(moving, results.drop_front(op->getNumResults())))
    tangents.set(value, tangent);
  op->erase();
}

static LogicalResult emitTangents(GradientBuilder &b, scf::ForOp op,
                                  OpTangents &tangents) {
  SmallVector<Value> inits(op.getInitArgs());
  for (Value init : getFloats(op.getInitArgs()))
    inits.push_back(tangents.getOrZeros(b, init));
  auto loop = scf::ForOp::create(b, op.getLowerBound(), op.getUpperBound(),
                                 op.getStep(), inits);
  size_t count = op.getInitArgs().size();
  Block &body = *loop.getBody();
  body.getOperations().clear();
  body.getOperations().splice(body.end(), op.getBody()->getOperations());
  for (auto [from, to] :
       llvm::zip(op.getBody()->getArguments(), body.getArguments()))
    from.replaceAllUsesWith(to);
  ValueRange carried = loop.getRegionIterArgs();
  for (auto [value, tangent] : llvm::zip(getFloats(carried.take_front(count)),
                                         carried.drop_front(count)))
    tangents.set(value, tangent);
  if (failed(emitYielded(b, body, tangents)))
    return failure();
  replaceWithTangents(op, loop, tangents);
  return success();
}

static LogicalResult emitTangents(GradientBuilder &b, scf::IfOp op,
                                  OpTangents &tangents) {
  SmallVector<Type> types(op.getResultTypes());
  for (Value result : getFloats(op.getResults()))
    types.push_back(result.getType());
  auto ifOp = scf::IfOp::create(b, types, op.getCondition(),
                                /*withElseRegion=*/true);
  ifOp.getThenRegion().takeBody(op.getThenRegion());
  ifOp.getElseRegion().takeBody(op.getElseRegion());
  if (failed(emitYielded(b, *ifOp.thenBlock(), tangents)) ||
      failed(emitYielded(b, *ifOp.elseBlock(), tangents)))
    return failure();
  replaceWithTangents(op, ifOp, tangents);
  return success();
}

//===----------------------------------------------------------------------===//
// What becomes loops
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult emitTangentsOfLoops(GradientBuilder &b, Op op,
                                         OpTangents &tangents) {
  op->emitRemark(
      "has the tangent of its reference lowering, for it has none of "
      "its own");
  // In a block of its own, which becomes a part of the function's.
  auto loops = scf::ExecuteRegionOp::create(b, op->getResultTypes());
  op->replaceAllUsesWith(loops->getResults());
  Block &block = loops.getRegion().emplaceBlock();
  op->moveBefore(&block, block.end());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&block);
    scf::YieldOp::create(b, op->getResults());
  }
  RewritePatternSet patterns(b.getContext());
  populateBackwardLowering(patterns);
  populateTangentLowering(patterns);
  populateMultiTokenLowerings(patterns);
  populateMultiTokenBackwardLowering(patterns);
  populateLayerLowerings(patterns);
  walkAndApplyPatterns(loops, std::move(patterns));
  for (Operation &left : block)
    if (isa<Op>(left)) // Of a score without a derivative.
      return refuseTangent(&left);
  if (failed(emitTangentsOfBlock(b, block, tangents)))
    return failure();
  Operation *yield = block.getTerminator();
  loops->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  loops->getBlock()->getOperations().splice(Block::iterator(loops),
                                            block.getOperations());
  loops->erase();
  return success();
}

void attn::attachCodeModels(MLIRContext *context) {
  attachModel<scf::ForOp, nullptr, emitTangents>(context);
  attachModel<scf::IfOp, nullptr, emitTangents>(context);
  attachModel<AttentionBackwardOp, nullptr, emitTangentsOfLoops>(context);
  attachModel<AttentionTangentOp, nullptr, emitTangentsOfLoops>(context);
  attachModel<MergeOp, nullptr, emitTangentsOfLoops>(context);
  attachModel<MultiTokenAttentionOp, emitMultiTokenGradients,
              emitTangentsOfLoops>(context);
  attachModel<MultiTokenAttentionBackwardOp, nullptr, emitTangentsOfLoops>(
      context);
}
