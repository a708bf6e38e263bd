//===- TableRanges.cpp - What loads of a region can yield -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   for c0 in blocks of dimension 0 that the index can be in
//     for c1 in ...
//       low = min(low, lows[c0, c1, ...]), high = max(high, highs[...])
//
// Usually, each loop has one iteration. Where one would have more than
// `kMaxBlocks`, none is executed and nothing is known.
//

#include "lib/Regions/TableRanges.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Blocks that are looked at in one dimension.
constexpr int64_t kMaxBlocks = 8;

/// Elements with the ranges of blocks of a table, or those of the table.
struct Blocks {
  Value low, high;
  SmallVector<int64_t> sizes;
  /// Both are one tensor, with low first.
  bool areJoint = false;
};

BlockRangeOp findBlockRange(OpBuilder &builder, Value table) {
  DominanceInfo dominance;
  for (Operation *user : table.getUsers()) {
    auto range = dyn_cast<BlockRangeOp>(user);
    if (range && range->getNumResults() == 2 && range.getTable() == table &&
        dominance.properlyDominates(range->getBlock(), range->getIterator(),
                                    builder.getInsertionBlock(),
                                    builder.getInsertionPoint()))
      return range;
  }
  return {};
}

/// The blocks to look at for a load: ranges, or elements that serve many
/// positions each. None if there are neither.
std::optional<Blocks> findBlocks(OpBuilder &builder,
                                 const IndexMovements &movements,
                                 const TableLoad &load, Value table) {
  if (auto given = table.getDefiningOp<WithBlockRangeOp>())
    return Blocks{given.getRanges(), given.getRanges(),
                  SmallVector<int64_t>(given.getBlocks()), /*areJoint=*/true};
  if (BlockRangeOp range = findBlockRange(builder, table))
    return Blocks{range.getResult(0), range.getResult(1),
                  SmallVector<int64_t>(range.getBlocks())};
  for (Value index : load.indices) {
    std::optional<IndexMovement> movement = movements.find(index);
    if (!movement || (!movement->isConstant() && movement->period < kMaxBlocks))
      return std::nullopt;
  }
  return Blocks{table, table, SmallVector<int64_t>(load.indices.size(), 1)};
}

/// The loops over blocks.
class RangeLoops {
public:
  RangeLoops(OpBuilder &builder, Location loc, const Blocks &blocks)
      : b(loc, builder), blocks(blocks) {
    type = cast<ShapedType>(blocks.low.getType()).getElementType();
  }

  /// Numbers of blocks in one dimension; without an end, there is one.
  void addDimension(Value begin, Value end) { bounds.push_back({begin, end}); }

  TableRange emit() {
    if (isa<FloatType>(type)) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      Value hasNone = b.boolean(false);
      SmallVector<Value> indices;
      SmallVector<Value> range = emitLoop(
          indices, {b.real(type, infinity), b.real(type, -infinity), hasNone});
      return {range[0], range[1], range[2]};
    }
    bool isFlag = type.isInteger(1);
    unsigned width = getIntegerWidth(type);
    Value least = arith::ConstantOp::create(
        b, b.getIntegerAttr(type, isFlag ? 0 : llvm::minIntN(width)));
    Value greatest = arith::ConstantOp::create(
        b, b.getIntegerAttr(type, isFlag ? 1 : llvm::maxIntN(width)));
    SmallVector<Value> indices;
    SmallVector<Value> range = emitLoop(indices, {greatest, least});
    return {range[0], range[1]};
  }

private:
  SmallVector<Value> emitLoop(SmallVector<Value> &indices, ValueRange soFar) {
    if (indices.size() == bounds.size()) {
      Value low = createBlockLoad(blocks.low, 0, indices),
            high = createBlockLoad(blocks.high, 1, indices);
      if (isa<FloatType>(type))
        return combineFloats(soFar, low, high);
      return {combine<arith::AndIOp, arith::MinSIOp>(soFar[0], low),
              combine<arith::OrIOp, arith::MaxSIOp>(soFar[1], high)};
    }
    auto [begin, end] = bounds[indices.size()];
    if (!end) {
      indices.push_back(begin);
      SmallVector<Value> range = emitLoop(indices, soFar);
      indices.pop_back();
      return range;
    }
    return b.loop(begin, end, 1, soFar, [&](Value block, ValueRange carried) {
      indices.push_back(block);
      SmallVector<Value> range = emitLoop(indices, carried);
      indices.pop_back();
      return range;
    });
  }

  Value createBlockLoad(Value elements, int64_t part, ValueRange block) {
    SmallVector<Value> indices(block);
    if (blocks.areJoint)
      indices.insert(indices.begin(), b.index(part));
    return createLoad(b, b.getLoc(), elements, indices);
  }

  /// With whether there was a NaN: of a block that has one, both are. What
  /// propagates NaN is several instructions, and branches.
  SmallVector<Value> combineFloats(ValueRange soFar, Value low, Value high) {
    auto take = [&](arith::CmpFPredicate order, Value next, Value last) {
      Value isBeyond = arith::CmpFOp::create(b, order, next, last);
      return arith::SelectOp::create(b, isBeyond, next, last);
    };
    Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, low, low);
    return {take(arith::CmpFPredicate::OLT, low, soFar[0]),
            take(arith::CmpFPredicate::OGT, high, soFar[1]),
            arith::OrIOp::create(b, soFar[2], isNaN)};
  }

  template <typename FlagOp, typename Op> Value combine(Value lhs, Value rhs) {
    if (type.isInteger(1))
      return FlagOp::create(b, lhs, rhs);
    return Op::create(b, lhs, rhs);
  }

  IndexBuilder b;
  const Blocks &blocks;
  Type type;
  SmallVector<std::pair<Value, Value>> bounds;
};

} // namespace

std::optional<TableLoad> TableLoad::match(Operation *op) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return TableLoad{extract.getTensor(), extract.getIndices()};
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return TableLoad{load.getMemRef(), load.getIndices()};
  return std::nullopt;
}

std::optional<SmallVector<int64_t>>
attn::findBlockSizes(const IndexMovements &movements, const TableLoad &load,
                     TileShape tile) {
  SmallVector<int64_t> sizes;
  for (Value index : load.indices) {
    std::optional<IndexMovement> movement = movements.find(index);
    if (!movement)
      return std::nullopt;
    int64_t size = 1;
    if (movement->withKey)
      size = tile.keys / movement->period;
    if (movement->withPosition)
      size = std::min(movement->withKey ? size : SymbolicNumber::kMax,
                      tile.queries / movement->period);
    bool isFew = movement->period >= kMaxBlocks;
    sizes.push_back(isFew ? 1 : std::max<int64_t>(1, size));
  }
  return sizes;
}

/// Whether another load of the region is at an index that `load` makes.
static bool decidesIndex(Operation *load) {
  SetVector<Operation *> users;
  getForwardSlice(load, &users);
  return llvm::any_of(users, [](Operation *user) {
    return TableLoad::match(user).has_value();
  });
}

template <typename Op>
void attn::addBlockSizes(Op op, Region &region, TileShape tile,
                         BlockSizes &tables,
                         function_ref<void(Operation *)> refuse) {
  if (region.empty())
    return;
  IndexMovements movements(region);
  for (Operation &operation : region.front().without_terminator()) {
    std::optional<TableLoad> load = TableLoad::match(&operation);
    if (!load || llvm::all_of(load->indices, [&](Value index) {
          std::optional<IndexMovement> movement = movements.find(index);
          return movement && movement->isConstant();
        }))
      continue;
    auto argument = dyn_cast<BlockArgument>(load->table);
    if (!argument || argument.getOwner() != &region.front() ||
        (&region != &op.getMask() && !decidesIndex(&operation)))
      continue;
    Value table = op.getCapture(argument);
    if (!isa<RankedTensorType>(table.getType()) ||
        table.getDefiningOp<WithBlockRangeOp>())
      continue;
    std::optional<SmallVector<int64_t>> sizes =
        findBlockSizes(movements, *load, tile);
    if (!sizes) {
      refuse(&operation);
      continue;
    }
    auto [known, isNew] = tables.try_emplace(table, *sizes);
    if (isNew)
      continue;
    for (auto [size, other] : llvm::zip_equal(known->second, *sizes))
      size = std::min(size, other);
  }
}

template void attn::addBlockSizes(AttentionOp, Region &, TileShape,
                                  BlockSizes &,
                                  function_ref<void(Operation *)>);
template void attn::addBlockSizes(AttentionBackwardOp, Region &, TileShape,
                                  BlockSizes &,
                                  function_ref<void(Operation *)>);
template void attn::addBlockSizes(AttentionTangentOp, Region &, TileShape,
                                  BlockSizes &,
                                  function_ref<void(Operation *)>);

void attn::emitBlockRange(OpBuilder &builder, Value table,
                          ArrayRef<int64_t> sizes) {
  if (llvm::all_of(sizes, [](int64_t size) { return size == 1; }))
    return;
  IndexBuilder b(table.getLoc(), builder);
  SmallVector<OpFoldResult> counts;
  for (auto [dim, size] : llvm::enumerate(sizes))
    counts.push_back(b.apply(b.getAffineSymbolExpr(0).ceilDiv(size),
                             {b.size(table, int64_t(dim))}));
  Type type = cast<RankedTensorType>(table.getType()).getElementType();
  SmallVector<Value> outs;
  for (int i = 0; i < 2; ++i)
    outs.push_back(
        tensor::EmptyOp::create(builder, table.getLoc(), counts, type));
  BlockRangeOp::create(builder, table.getLoc(), TypeRange(outs), table, outs,
                       sizes);
}

bool attn::hasBlocksOfKeys(OpBuilder &builder, Region &mask,
                           ValueRange captures) {
  if (mask.empty())
    return false;
  IndexMovements movements(mask);
  auto arguments = mask.getArguments().take_back(captures.size());
  for (Operation &op : mask.front().without_terminator()) {
    std::optional<TableLoad> load = TableLoad::match(&op);
    if (!load || !BlockRangeOp::isElementType(op.getResult(0).getType()))
      continue;
    auto argument = dyn_cast<BlockArgument>(load->table);
    if (!argument || argument.getOwner() != &mask.front() ||
        !llvm::is_contained(arguments, argument))
      continue;
    Value table =
        captures[argument.getArgNumber() - arguments.front().getArgNumber()];
    bool withKey = llvm::any_of(load->indices, [&](Value index) {
      std::optional<IndexMovement> movement = movements.find(index);
      return movement && movement->withKey;
    });
    if (withKey && findBlocks(builder, movements, *load, table))
      return true;
  }
  return false;
}

std::optional<TableRange>
attn::emitTableRange(SymbolicArithmetic &n, const IndexMovements &movements,
                     const TableLoad &load, Value table,
                     ArrayRef<IntegerInterval> indices) {
  OpBuilder &b = n.getBuilder();
  Location loc = n.getLoc();
  auto type = cast<ShapedType>(table.getType()).getElementType();
  bool isOneElement = llvm::all_of(
      indices, [](const IntegerInterval &index) { return index.isPoint(); });
  if (isOneElement || !BlockRangeOp::isElementType(type))
    return std::nullopt;
  std::optional<Blocks> blocks = findBlocks(b, movements, load, table);
  if (!blocks)
    return std::nullopt;

  RangeLoops loops(b, loc, *blocks);
  SymbolicFlag isKnown = true;
  SmallVector<std::pair<SymbolicNumber, SymbolicNumber>> bounds;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    SymbolicNumber size =
        n.read(createDim(b, loc, table, int64_t(dim)), 0, SymbolicNumber::kMax);
    // Of the elements that there are.
    SymbolicNumber low = n.max(index.low, 0);
    SymbolicNumber high = n.min(index.high, *n.subtract(size, 1));
    SymbolicNumber first = n.floorDivide(low, blocks->sizes[dim]);
    SymbolicNumber last = n.floorDivide(n.max(high, -1), blocks->sizes[dim]);
    SymbolicFlag areFew = n.isLess(*n.subtract(last, first), kMaxBlocks);
    isKnown = n.both(isKnown, n.both(n.isAtMost(low, high), areFew));
    bounds.push_back({first, *n.add(last, 1)});
  }
  for (auto [dim, bound] : llvm::enumerate(bounds)) {
    auto [first, end] = bound;
    // The loops over the other dimensions are not executed where it is outside.
    bool isOne = indices[dim].isPoint() && blocks->sizes[dim] == 1;
    loops.addDimension(n.toIndex(first),
                       isOne ? Value()
                             : n.toIndex(n.select(isKnown, end, first)));
  }
  TableRange range = loops.emit();
  range.isKnown = isKnown;
  if (range.hasNaN)
    range.isKnown = n.both(isKnown, n.negate(n.read(range.hasNaN)));
  return range;
}
