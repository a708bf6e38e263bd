//===- ShardAttention.cpp - Functions of one rank -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A pass of our own on upstream's annotations, and not its ShardingInterface:
// in 22.1, that says by iterator types, indexing maps and one reduction how an
// op is split. An attention is reduced over keys by a state of two tensors, in
// an order that must not change, reads the numbers of its rows in regions, and
// sends what these let be seen; its partition() gets no sizes, of which ours
// may be dynamic.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Cache/CacheRows.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/Exchange.h"
#include "lib/Sharding/LocalBackward.h"
#include "lib/Sharding/LocalCaches.h"
#include "lib/Sharding/LocalLayer.h"
#include "lib/Sharding/Passes.h"
#include "lib/Sharding/Sharding.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SHARDATTENTION
#include "lib/Sharding/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Which part of an attention, or of its gradients, a rank has.
template <typename Op>
static AttentionExtents getExtents(Op op, IndexBuilder &b, const Splits &splits,
                                   LocalSizes &sizes) {
  AttentionAxes axes = splits.getAxes(op);
  CacheReadOp read = getCacheRead(op.getKey());
  Extent keys = read && axes.keys != kWhole
                    ? createLocalKeys(b, read, splits, sizes)
                    : sizes.get(b, op.getKey(), kRows);
  AttentionExtents of{
      sizes.get(b, op.getQuery(), kBatch), sizes.get(b, op.getQuery(), kHeads),
      sizes.get(b, op.getQuery(), kRows),  keys,
      splits.getNumRanks(axes.queries),    splits.getNumRanks(axes.keys)};
  if (axes.keys != kWhole) {
    of.keyStride = splits.getGrid().getStride(axes.keys);
    of.isRing = axes.keys == axes.queries;
    of.isZigzag = axes.isZigzag;
  }
  return of;
}

static SmallVector<Value> emitLocal(AttentionOp op, IndexBuilder &b,
                                    const Splits &splits, LocalSizes &sizes) {
  // What is cloned of it exchanges nothing.
  std::string exchange = getExchange(op).str();
  op->removeAttr(kExchangeName);
  return emitExchange(b, op, exchange, getExtents(op, b, splits, sizes));
}

static SmallVector<Value> emitLocal(AttentionBackwardOp op, IndexBuilder &b,
                                    const Splits &splits, LocalSizes &sizes) {
  std::string exchange = getExchange(op).str();
  op->removeAttr(kExchangeName);
  AttentionAxes axes = splits.getAxes(op);
  auto groupOf = [&](int64_t axis) {
    if (axis == kWhole)
      return RankGroup();
    return RankGroup{uint64_t(splits.getGrid().getStride(axis)),
                     uint64_t(splits.getNumRanks(axis))};
  };
  return emitLocalBackward(b, op, exchange, getExtents(op, b, splits, sizes),
                           {groupOf(axes.batch), groupOf(axes.heads),
                            groupOf(axes.queries), groupOf(axes.keys)});
}

/// What a rank computes of an attention, in the place of the whole.
template <typename Op>
static void replace(Op op, IndexBuilder &b, const Splits &splits,
                    LocalSizes &sizes) {
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  SmallVector<Value> results = emitLocal(op, b, splits, sizes);
  for (auto [result, part] : llvm::zip_equal(op.getResults(), results))
    result.replaceAllUsesWith(part);
  op.erase();
}

/// Makes `func`, whose splits are covered, that of one rank.
static void rewrite(func::FuncOp func, const Splits &splits) {
  IndexBuilder b(func.getLoc(),
                 OpBuilder::atBlockBegin(&func.getBody().front()));
  SmallVector<Operation *> ops;
  // What the function asks for are sizes of the whole.
  SmallVector<tensor::DimOp> asked;
  SmallVector<Value> values(func.getArguments());
  func.walk([&](Operation *op) {
    llvm::append_range(values, op->getResults());
    auto dim = dyn_cast<tensor::DimOp>(op);
    if (op == func || !splits.isSplit(op))
      return;
    if (dim &&
        splits.getAxis(dim.getSource(), *dim.getConstantIndex()) != kWhole)
      asked.push_back(dim);
    else
      ops.push_back(op);
  });
  LocalSizes sizes(func, splits);
  for (Value value : values)
    if (splits.isSplit(value))
      value.setType(splits.getLocalType(value));
  sizes.emitExchange(b);
  for (tensor::DimOp dim : asked) {
    dim.getResult().replaceAllUsesWith(
        sizes.get(b, dim.getSource(), *dim.getConstantIndex()).total);
    dim.erase();
  }
  // From the last one on, so that operands are those that splits are known of.
  for (Operation *op : llvm::reverse(ops))
    TypeSwitch<Operation *>(op)
        .Case<AttentionOp, AttentionBackwardOp>(
            [&](auto attention) { replace(attention, b, splits, sizes); })
        .Default([&](Operation *op) { makeOpLocal(op, b, splits, sizes); });
  func.setType(FunctionType::get(
      func.getContext(), func.getBody().getArgumentTypes(),
      func.getBody().back().getTerminator()->getOperandTypes()));
}

FailureOr<FunctionShards> attn::makeLocal(func::FuncOp func, int64_t ranks) {
  FailureOr<Annotations> annotations = readAnnotations(func, ranks);
  if (failed(annotations))
    return failure();
  if (!func.getBody().hasOneBlock() && !annotations->empty())
    return func.emitError("attn-shard covers functions of one block");
  dropAnnotations(func);
  FailureOr<Splits> splits = Splits::solve(func, *annotations);
  if (failed(splits) || failed(verifySplits(func, *splits)))
    return failure();
  FunctionShards shards{annotations->grid, {}, {}};
  for (BlockArgument argument : func.getArguments())
    shards.arguments.push_back(splits->get(argument));
  auto returned = cast<func::ReturnOp>(func.getBody().back().getTerminator());
  for (Value result : returned.getOperands())
    shards.results.push_back(splits->get(result));
  if (!annotations->empty())
    rewrite(func, *splits);
  return shards;
}

namespace {
struct ShardAttention : attn::impl::ShardAttentionBase<ShardAttention> {
  using ShardAttentionBase::ShardAttentionBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FailureOr<Annotations> annotations = readAnnotations(func, ranks);
      if (failed(annotations) ||
          (annotations->empty() && !split.empty() &&
           failed(annotate(func, ranks, split))) ||
          failed(makeLocal(func, ranks)))
        return signalPassFailure();
    }
  }
};
} // namespace
