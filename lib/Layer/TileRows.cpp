//===- TileRows.cpp - Operations on rows in parallel ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Layer/Passes.h"
#include "lib/Layer/RowGroup.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TILEROWS
#include "lib/Layer/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Rows of a tile, of so many elements in all: about as many as the first level
/// of the caches has room for in f32, which pays for handing it to a thread.
static int64_t getRowsOfTile(Operation *op, int64_t rowElements) {
  int64_t elements = getTarget(op).getL1Bytes() / 4;
  return int64_t(
      llvm::bit_ceil(uint64_t(llvm::divideCeil(elements, rowElements))));
}

namespace {

/// Emits a group of operations as one parallel loop.
class GroupTiler {
public:
  GroupTiler(IRRewriter &rewriter, const RowGroup &group, int64_t rowsPerTile)
      : rewriter(rewriter), b(group.getRoot()->getLoc(), rewriter),
        group(group), rowsPerTile(rowsPerTile), zero(b.getIndexAttr(0)) {}

  /// Replaces the group's results. Fails, without a change, if an operation
  /// cannot be tiled.
  LogicalResult emit();

private:
  struct Box {
    SmallVector<OpFoldResult> offsets, sizes;
  };

  OpFoldResult getNumRows();
  Box getBox(const RowGroup::Member &member, OpFoldResult first,
             OpFoldResult count);
  Value slice(Value tensor, const Box &box);
  Value createLocal(RankedTensorType type, const Box &box);
  void setInputs(Operation *tile);
  void setInit(Operation *tile, OpResult whole, const Box &box);
  LogicalResult emitTile(const RowGroup::Member &member, OpFoldResult first,
                         OpFoldResult count);

  IRRewriter &rewriter;
  IndexBuilder b;
  const RowGroup &group;
  int64_t rowsPerTile;
  OpFoldResult zero;
  /// Of the root's loops, before the loop.
  SmallVector<Range> domain;
  /// What the loop shares of results that are used outside of it.
  DenseMap<Value, Value> shared;
  /// Results' parts that this iteration computes, and where these are.
  DenseMap<Value, Value> tiles;
  DenseMap<Value, Box> boxes;
};

} // namespace

/// Of the tensor that the root writes into, which is none of the group's.
OpFoldResult GroupTiler::getNumRows() {
  const RowGroup::Member &root = group.getMembers().back();
  OpResult result = root.op->getResult(0);
  unsigned dim = *root.getRowDim(result);
  return b.size(group.getDestination(result), dim);
}

GroupTiler::Box GroupTiler::getBox(const RowGroup::Member &member,
                                   OpFoldResult first, OpFoldResult count) {
  Box box;
  for (auto [loop, size] : llvm::enumerate(member.getStaticLoops())) {
    bool isRow = loop == member.loop;
    box.offsets.push_back(isRow ? first : zero);
    if (isRow)
      box.sizes.push_back(count);
    else if (ShapedType::isDynamic(size)) // Of the root.
      box.sizes.push_back(domain[loop].size);
    else
      box.sizes.push_back(b.getIndexAttr(size));
  }
  return box;
}

Value GroupTiler::slice(Value tensor, const Box &box) {
  return b.slice(tensor, box.offsets, box.sizes);
}

/// A tensor of the sizes of `box`, of which there is one for all iterations of
/// a thread if all but the number of rows is static.
Value GroupTiler::createLocal(RankedTensorType type, const Box &box) {
  Box whole = {SmallVector<OpFoldResult>(box.sizes.size(), zero), box.sizes};
  SmallVector<OpFoldResult> sizes = box.sizes;
  for (auto [size, offset] : llvm::zip_equal(sizes, box.offsets))
    if (!getConstantIntValue(size) && !isZeroInteger(offset))
      size = b.getIndexAttr(rowsPerTile);
  Value local = b.empty(sizes, type.getElementType());
  return sizes == box.sizes ? local : slice(local, whole);
}

/// Has a tile read what the tiles before it computed.
void GroupTiler::setInputs(Operation *tile) {
  for (OpOperand &operand : tile->getOpOperands()) {
    auto part = operand.get().getDefiningOp<tensor::ExtractSliceOp>();
    Value known = part ? tiles.lookup(part.getSource()) : Value();
    if (!known)
      continue;
    if (known.getType() != part.getType())
      known = tensor::CastOp::create(b, part.getType(), known);
    operand.set(known);
  }
}

/// Has a tile write its part of `whole`, at `box`, to where it belongs.
void GroupTiler::setInit(Operation *tile, OpResult whole, const Box &box) {
  auto original = cast<DestinationStyleOpInterface>(whole.getOwner());
  OpOperand *init = original.getTiedOpOperand(whole);
  if (group.isMember(init->get().getDefiningOp()))
    return; // It is a tile.
  Value to;
  if (Value all = shared.lookup(whole))
    to = slice(all, box);
  else if (!isRead(*init))
    to = createLocal(cast<RankedTensorType>(whole.getType()), box);
  else
    return;
  OpOperand &initOfTile = tile->getOpOperand(init->getOperandNumber());
  if (to.getType() != initOfTile.get().getType())
    to = tensor::CastOp::create(b, initOfTile.get().getType(), to);
  initOfTile.set(to);
}

LogicalResult GroupTiler::emitTile(const RowGroup::Member &member,
                                   OpFoldResult first, OpFoldResult count) {
  Box loops = getBox(member, first, count);
  auto op = cast<TilingInterface>(member.op);
  FailureOr<TilingResult> tiled =
      op.getTiledImplementation(b, loops.offsets, loops.sizes);
  if (failed(tiled) || tiled->tiledOps.size() != 1)
    return failure();
  Operation *tile = tiled->tiledOps.front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(tile);
  setInputs(tile);
  for (OpResult result : member.op->getResults()) {
    Box &box = boxes[result];
    if (failed(op.getResultTilePosition(b, result.getResultNumber(),
                                        loops.offsets, loops.sizes, box.offsets,
                                        box.sizes)))
      return failure();
    setInit(tile, result, box);
    tiles[result] = tile->getResult(result.getResultNumber());
  }
  for (Operation *slice : tiled->generatedSlices)
    if (slice->use_empty())
      rewriter.eraseOp(slice);
  return success();
}

LogicalResult GroupTiler::emit() {
  Operation *root = group.getRoot();
  b.setInsertionPoint(root);
  if (group.getMembers().size() == 1) // Others have static loops but one.
    domain = cast<TilingInterface>(root).getIterationDomain(b);
  OpFoldResult numRows = getNumRows();
  SmallVector<Value> results = group.getUsedResults(), inits;
  for (Value result : results) {
    Value to = group.getDestination(result);
    auto original = cast<DestinationStyleOpInterface>(result.getDefiningOp());
    // What a member wrote there first, its tiles write to tensors of their own.
    if (to != original.getTiedOpOperand(cast<OpResult>(result))->get())
      to = b.empty(b.sizes(to), getElementTypeOrSelf(result));
    inits.push_back(to);
  }
  scf::ForallOp loop = b.enterForall(numRows, inits, b.fold({rowsPerTile}));
  for (auto [result, all] : llvm::zip_equal(results, loop.getRegionIterArgs()))
    shared[result] = all;
  OpFoldResult first = loop.getInductionVars()[0];
  OpFoldResult count = b.getIndexAttr(rowsPerTile);
  std::optional<int64_t> rows = getConstantIntValue(numRows);
  if (!rows || *rows % rowsPerTile != 0) {
    AffineExpr i = b.getAffineDimExpr(0), n = b.getAffineSymbolExpr(0);
    count = affine::makeComposedFoldedAffineMin(
        b, b.getLoc(),
        AffineMap::get(1, 1, {b.getAffineConstantExpr(rowsPerTile), n - i},
                       b.getContext()),
        {first, numRows});
  }
  for (const RowGroup::Member &member : group.getMembers())
    if (failed(emitTile(member, first, count))) {
      rewriter.eraseOp(loop);
      return failure();
    }
  for (Value result : results) {
    const Box &box = boxes[result];
    b.insertInParallel(loop, tiles[result], shared[result], box.offsets,
                       box.sizes);
  }
  for (auto [result, replacement] : llvm::zip_equal(results, loop.getResults()))
    rewriter.replaceUsesWithIf(result, replacement, [&](OpOperand &use) {
      return !group.isMember(use.getOwner()) &&
             !loop->isAncestor(use.getOwner());
    });
  for (const RowGroup::Member &member : llvm::reverse(group.getMembers()))
    rewriter.eraseOp(member.op);
  return success();
}

namespace {
struct TileRows : attn::impl::TileRowsBase<TileRows> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](func::FuncOp func) {
      if (func.isExternal())
        return;
      // Users first: they take what computes their operands along, as appends
      // to caches do.
      SmallVector<Operation *> ops;
      for (Operation &op : llvm::reverse(func.getBody().front()))
        if (isa<linalg::GenericOp, linalg::TransposeOp, RopeOp, HeadNormOp>(
                op) &&
            llvm::none_of(op.getUsers(), llvm::IsaPred<CacheAppendOp>))
          ops.push_back(&op);
      DenseSet<Operation *> done;
      for (Operation *op : ops) {
        if (done.contains(op))
          continue;
        std::optional<RowGroup> group = RowGroup::find(op);
        if (!group)
          continue;
        int64_t rows = getRowsOfTile(op, group->getRowElements());
        int64_t all = group->getMembers().back().getStaticRows();
        if (!ShapedType::isDynamic(all) && all <= rows)
          continue;
        SmallVector<Operation *> members;
        for (const RowGroup::Member &member : group->getMembers())
          members.push_back(member.op);
        if (succeeded(GroupTiler(rewriter, *group, rows).emit()))
          done.insert_range(members);
      }
    });
  }
};
} // namespace
