//===- Annotations.cpp - What shard.shard says of a function --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/Annotations.h"
#include "dialect/AttnOps.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/RowOrder.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

std::string attn::describe(const TensorSplit &split) {
  std::string text = "[";
  for (auto [dim, axis] : llvm::enumerate(split.axes))
    text += (dim ? ", [" : "[") + (axis == kWhole ? "" : std::to_string(axis)) +
            "]";
  return text + (split.isZigzag ? "] {attn.zigzag}" : "]");
}

/// The value that some annotations are of.
static Value getAnnotated(Value value) {
  while (auto shard = value.getDefiningOp<shard::ShardOp>())
    value = shard.getSrc();
  return value;
}

static FailureOr<RankGrid> readGrid(shard::ShardingOp op, int64_t ranks) {
  auto grid =
      SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, op.getGridAttr());
  if (!grid)
    return op.emitOpError("expected a shard.grid @") << op.getGrid();
  RankGrid result{grid.getSymName().str(), llvm::to_vector(grid.getShape())};
  int64_t known = 1, numOpen = 0;
  for (int64_t size : result.shape)
    if (ShapedType::isDynamic(size))
      ++numOpen;
    else
      known *= size;
  if (known < 1 || numOpen > 1 || (ranks == 0 && numOpen > 0))
    return grid.emitOpError("expected positive sizes")
           << (ranks == 0 ? "" : ", and at most one that is open");
  if (ranks == 0)
    return result;
  for (int64_t &size : result.shape)
    if (ShapedType::isDynamic(size) && ranks % known == 0)
      size = ranks / known;
  if (result.getStride(-1) != ranks)
    return grid.emitOpError("expected ") << (numOpen ? "a multiple of " : "")
                                         << known << " ranks, got " << ranks;
  return result;
}

static FailureOr<TensorSplit> readSplit(shard::ShardOp shard,
                                        shard::ShardingOp sharding,
                                        const RankGrid &grid) {
  if (!sharding.getStaticHaloSizes().empty() ||
      !sharding.getStaticShardedDimsOffsets().empty())
    return sharding.emitOpError("with halos or with offsets is not covered by "
                                "attn-shard");
  auto rank = size_t(cast<ShapedType>(shard.getSrc().getType()).getRank());
  TensorSplit result;
  result.axes.assign(rank, kWhole);
  for (auto [dim, split] : llvm::enumerate(sharding.getSplitAxes())) {
    if (split.size() > 1)
      return sharding.emitOpError("expected at most one axis for dimension ")
             << dim << ", got " << split.size();
    if (split.size() == 1 && dim < rank)
      result.axes[dim] = split.asArrayRef().front();
  }
  for (int64_t axis : result.axes)
    if (axis >= int64_t(grid.shape.size()))
      return sharding.emitOpError("expected an axis of @")
             << grid.name << ", got " << axis;
  if (sharding->hasAttr(kZigzagName)) {
    // Tokens (B, S, M) have theirs in dimension 1.
    auto isSplit = [&](unsigned dim) {
      return rank > dim && result[dim] != kWhole;
    };
    result.inPieces = rank == 3 && !isSplit(kRows) ? 1 : kRows;
    if (!isSplit(result.inPieces))
      return sharding.emitOpError("expected rows (dimension 2, or 1 of tokens) "
                                  "that are split, which attn.zigzag is of");
    // The order of one rank is that of the whole.
    result.isZigzag = grid.shape[result[result.inPieces]] > 1;
  }
  return result;
}

FailureOr<Annotations> attn::readAnnotations(func::FuncOp func, int64_t ranks) {
  Annotations result;
  WalkResult walk = func.walk([&](shard::ShardOp op) -> WalkResult {
    auto sharding = op.getSharding().getDefiningOp<shard::ShardingOp>();
    if (!sharding)
      return op.emitOpError("expected a sharding of shard.sharding");
    FailureOr<RankGrid> grid = readGrid(sharding, ranks);
    if (failed(grid))
      return failure();
    if (!result.empty() && result.grid.name != grid->name)
      return op.emitOpError("expected one grid in a function, got @")
             << result.grid.name << " and @" << grid->name;
    FailureOr<TensorSplit> split = readSplit(op, sharding, *grid);
    if (failed(split))
      return failure();
    result.grid = std::move(*grid);
    auto [entry, isNew] =
        result.splits.try_emplace(getAnnotated(op.getSrc()),
                                  Annotations::Annotation{*split, op.getLoc()});
    if (!isNew && !entry->second.split.isLike(*split))
      return op.emitOpError("with another sharding than before is not covered "
                            "by attn-shard: nothing is distributed again");
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return result;
}

LogicalResult attn::annotate(func::FuncOp func, int64_t ranks,
                             StringRef split) {
  constexpr StringRef kGrid = "ranks";
  enum Order { InOrder, Zigzag, ByMask };
  struct Split {
    StringRef name;
    int64_t ofQuery, ofKey;
    Order order = InOrder;
    StringRef exchange = {};
  };
  constexpr Split splits[] = {{"batch", kBatch, kBatch},
                              {"heads", kHeads, kHeads},
                              {"sequence", kRows, kRows, ByMask},
                              {"zigzag", kRows, kRows, Zigzag},
                              {"ring", kRows, kRows, ByMask, kRing},
                              {"gather", kRows, kRows, ByMask, kGather},
                              {"ulysses", kRows, kRows, InOrder, kUlysses},
                              {"keys", kWhole, kRows}};
  const Split *found = llvm::find_if(
      splits, [&](const Split &known) { return known.name == split; });
  if (found == std::end(splits))
    return func.emitError(
               "split: expected 'batch', 'heads', 'sequence', "
               "'zigzag', 'ring', 'gather', 'ulysses' or 'keys', got '")
           << split << "'";
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<AttentionOp, AttentionBackwardOp>(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return func.emitError("split: expected a function with attn.attention");
  MLIRContext *context = func.getContext();
  context->getOrLoadDialect<shard::ShardDialect>();
  auto module = func->getParentOfType<ModuleOp>();
  if (SymbolTable::lookupSymbolIn(module, kGrid))
    return func.emitError("split: the module has a symbol '")
           << kGrid << "' already";
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  shard::GridOp::create(b, func.getLoc(), kGrid,
                        ArrayRef<int64_t>{ShapedType::kDynamic});
  bool isZigzag = found->order == Zigzag ||
                  (found->order == ByMask && isBalancedByZigzag(ops, ranks));
  auto shardAlong = [&](OpOperand &operand, int64_t dim) {
    if (dim == kWhole)
      return;
    Location loc = operand.getOwner()->getLoc();
    b.setInsertionPoint(operand.getOwner());
    SmallVector<shard::GridAxesAttr> axes(
        4, shard::GridAxesAttr::get(context, ArrayRef<shard::GridAxis>{}));
    axes[dim] = shard::GridAxesAttr::get(context, ArrayRef<shard::GridAxis>{0});
    auto sharding = shard::ShardingOp::create(
        b, loc, FlatSymbolRefAttr::get(context, kGrid), axes);
    if (isZigzag)
      sharding->setAttr(kZigzagName, b.getUnitAttr());
    operand.set(shard::ShardOp::create(b, loc, operand.get(), sharding,
                                       /*annotate_for_users=*/true));
  };
  for (Operation *op : ops)
    TypeSwitch<Operation *>(op).Case<AttentionOp, AttentionBackwardOp>(
        [&](auto op) {
          shardAlong(op.getQueryMutable(), found->ofQuery);
          shardAlong(op.getKeyMutable(), found->ofKey);
          shardAlong(op.getValueMutable(), found->ofKey);
          if (!found->exchange.empty())
            op->setAttr(kExchangeName, b.getStringAttr(found->exchange));
        });
  return success();
}

void attn::dropAnnotations(func::FuncOp func) {
  SmallVector<Operation *> shardings;
  func.walk([&](Operation *op) {
    if (auto shard = dyn_cast<shard::ShardOp>(op)) {
      shard.getResult().replaceAllUsesWith(shard.getSrc());
      shard.erase();
    } else if (isa<shard::ShardingOp>(op)) {
      shardings.push_back(op);
    }
  });
  for (Operation *sharding : shardings)
    if (sharding->use_empty())
      sharding->erase();
}
