//===- LaneControlFlow.cpp - Loops and branches of lanes ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/Conversions.h"

using namespace mlir;
using namespace mlir::attn;

static bool haveLayouts(LaneValues &lanes, TypeRange types) {
  return llvm::all_of(types, [&](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return !vector || lanes.getLayout(vector);
  });
}

/// Moves what a region of one block holds to one with scalars as arguments.
static void moveBody(LaneValues &lanes, Block &from, Block &to,
                     unsigned leading = 0) {
  for (unsigned i = 0; i < leading; ++i)
    from.getArgument(i).replaceAllUsesWith(to.getArgument(i));
  lanes.assign(from.getArguments().drop_front(leading),
               to.getArguments().drop_front(leading));
  to.getOperations().splice(to.end(), from.getOperations());
}

LogicalResult attn::convertLoop(scf::ForOp loop, LaneValues &lanes,
                                ConvertBlock convert) {
  if (!haveLayouts(lanes, loop.getResultTypes()))
    return rejectForLanes(loop);
  auto lanesLoop =
      scf::ForOp::create(lanes.b, loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), lanes.flatten(loop.getInitArgs()));
  if (lanesLoop.getNumResults() == 0)
    lanesLoop.getBody()->getTerminator()->erase();
  moveBody(lanes, *loop.getBody(), *lanesLoop.getBody(), /*leading=*/1);
  lanes.assign(loop.getResults(), lanesLoop.getResults());
  return convert(*lanesLoop.getBody());
}

LogicalResult attn::convertWhile(scf::WhileOp loop, LaneValues &lanes,
                                 ConvertBlock convert) {
  if (!haveLayouts(lanes, loop.getResultTypes()) ||
      !haveLayouts(lanes, loop.getInits().getTypes()))
    return rejectForLanes(loop);
  auto lanesLoop =
      scf::WhileOp::create(lanes.b, lanes.flattenTypes(loop.getResultTypes()),
                           lanes.flatten(loop.getInits()));
  for (auto [from, to] :
       llvm::zip(loop->getRegions(), lanesLoop->getRegions())) {
    SmallVector<Type> types =
        lanes.flattenTypes(from.front().getArgumentTypes());
    OpBuilder::InsertionGuard guard(lanes.b);
    lanes.b.createBlock(&to, {}, types,
                        SmallVector<Location>(types.size(), loop.getLoc()));
    moveBody(lanes, from.front(), to.front());
  }
  lanes.assign(loop.getResults(), lanesLoop.getResults());
  if (failed(convert(*lanesLoop.getBeforeBody())))
    return failure();
  return convert(*lanesLoop.getAfterBody());
}

LogicalResult attn::convertBranch(scf::IfOp branch, LaneValues &lanes,
                                  ConvertBlock convert) {
  if (!haveLayouts(lanes, branch.getResultTypes()))
    return rejectForLanes(branch);
  auto lanesBranch = scf::IfOp::create(
      lanes.b, lanes.flattenTypes(branch.getResultTypes()),
      branch.getCondition(),
      /*addThenBlock=*/true, /*addElseBlock=*/branch.elseBlock() != nullptr);
  for (auto [from, to] :
       llvm::zip(branch->getRegions(), lanesBranch->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.front();
    block.clear();
    moveBody(lanes, from.front(), block);
    if (failed(convert(block)))
      return failure();
  }
  lanes.assign(branch.getResults(), lanesBranch.getResults());
  return success();
}

LogicalResult attn::convertForall(scf::ForallOp loop, LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  std::optional<SmallVector<int64_t>> sizes =
      getConstantIntValues(loop.getMixedUpperBound());
  WalkResult scalar = loop.getBody()->walk(
      [](Operation *op) { return WalkResult(failure(hasVectors(op))); });
  if (!loop.isNormalized() || !sizes || loop.getNumResults() > 0 ||
      scalar.wasInterrupted())
    return rejectForLanes(loop);
  int64_t count = llvm::product_of(*sizes);
  lanes.emitBarrier();
  LaneValues::Threads threads = lanes.getThreads();
  auto shared = scf::ForOp::create(b, threads.thread, b.index(count),
                                   b.index(threads.number));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(shared.getBody());
    Value number = shared.getInductionVar();
    for (size_t dim = sizes->size(); dim-- > 0;) {
      int64_t extent = (*sizes)[dim];
      loop.getInductionVar(int64_t(dim))
          .replaceAllUsesWith(b.rem(number, extent));
      number = b.div(number, extent);
    }
  }
  loop.getTerminator()->erase();
  shared.getBody()->getOperations().splice(
      shared.getBody()->getTerminator()->getIterator(),
      loop.getBody()->getOperations());
  lanes.emitBarrier();
  return success();
}
