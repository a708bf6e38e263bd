//===- PackInTiles.cpp - Values packed by the tiles that read them --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   parallel for every pack of every head
//     packs[head, i] = rows of it, transposed
//   parallel for every head and tile
//     blocks of packs[head, first to end]
//
// becomes, if `first` moves with the tile,
//
//   parallel for every head and tile
//     state = {head, low, high, capacity}, kept from the iteration before
//     if the ring does not have packs of this head next to [first, end)
//       state = an empty ring with room for them
//     for every pack i of [first, end) that the ring does not have
//       ring[i mod capacity] = rows of it, transposed
//     blocks of ring[first mod capacity ...]
//
// Packs of one window stay in the second-level cache, where those of all heads
// do not, and rows are read next to where they are used, so that they can be
// fetched while a tile computes. A range that begins at the first key for every
// tile would be packed again by every thread: it stays as it is.
//

#include "lib/Memory/PackRing.h"
#include "lib/Memory/Passes.h"
#include "lib/Memory/SharedPacks.h"
#include "lib/Memory/SpreadPrefetch.h"
#include "lib/Plan/CacheLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PACKINTILES
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Makes the tiles pack what they read.
class PackMover {
public:
  PackMover(SharedPacks &packs, RewriterBase &rewriter)
      : packs(packs), rewriter(rewriter),
        b(packs.head.getLoc(), rewriter.getContext()),
        pack(packs.head.getType().getShape().drop_front()),
        elementType(packs.buffer.getType().getElementType()) {}

  /// Fails, without a change, if what is known of the range depends on what
  /// the tile computes.
  LogicalResult move();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value toValue(OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
  }
  template <typename Op> Value emit(Value lhs, Value rhs) {
    return b.createOrFold<Op>(lhs, rhs);
  }

  void emitPack(const PackRing &ring, Value number, Value slot);
  memref::SubViewOp emitView(Value buffer, Value slot, OpFoldResult size,
                             MemRefType type = {});
  void replacePrefetches();
  void erasePrefetch(memref::PrefetchOp prefetch);
  memref::SubViewOp findSource();
  /// Where the rows of a pack of the tile's head are in what `source` is a view
  /// of.
  SmallVector<OpFoldResult> getRowsAt(memref::SubViewOp source, Value number);
  void emitFetch(const PackRing &ring, Value number);
  /// What the packing loop's values are for a pack of the tile's head.
  IRMapping mapPack(Value number);

  SharedPacks &packs;
  RewriterBase &rewriter;
  ImplicitLocOpBuilder b;
  ArrayRef<int64_t> pack; ///< Sizes of one.
  Type elementType;
};

LogicalResult PackMover::move() {
  Operation *round = packs.tiles.getBody()->findAncestorOpInBlock(*packs.range);
  SmallVector<Operation *> known;
  for (OpFoldResult value :
       {packs.range.getMixedOffsets()[0], packs.range.getMixedSizes()[0]}) {
    auto dynamic = dyn_cast<Value>(value);
    Operation *op = dynamic ? dynamic.getDefiningOp() : nullptr;
    if (!dynamic || !round->isAncestor(dynamic.getParentBlock()->getParentOp()))
      continue;
    if (!op || !isPure(op) ||
        llvm::any_of(op->getOperands(), [&](Value operand) {
          return round->isAncestor(operand.getParentBlock()->getParentOp());
        }))
      return failure();
    known.push_back(op);
  }
  for (Operation *op : known)
    rewriter.moveOpBefore(op, round);
  b.setInsertionPoint(round);
  Value first = toValue(packs.range.getMixedOffsets()[0]);
  Value count = toValue(packs.range.getMixedSizes()[0]);
  PackRing ring = PackRing::emit(b, packs, first, count);
  auto loop = scf::ForOp::create(b, ring.low, ring.high, index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    emitFetch(ring, number);
    emitPack(ring, number,
             ring.emitSlot(b, emit<arith::SubIOp>(number, first)));
  }
  for (memref::SubViewOp block : packs.blocks) {
    b.setInsertionPoint(block);
    Value slot = ring.emitSlot(b, toValue(block.getMixedOffsets()[0]));
    rewriter.replaceOp(
        block,
        emitView(ring.buffer, slot, block.getMixedSizes()[0], block.getType()));
  }
  replacePrefetches();
  OpFoldResult length = packs.head.getMixedSizes()[packs.numLeading()];
  for (memref::DimOp dim : packs.lengths) {
    b.setInsertionPoint(dim);
    rewriter.replaceOp(dim, toValue(length));
  }
  rewriter.eraseOp(packs.range);
  rewriter.eraseOp(packs.head);
  rewriter.eraseOp(packs.packing);
  rewriter.eraseOp(packs.buffer);
  return success();
}

memref::SubViewOp PackMover::emitView(Value buffer, Value slot,
                                      OpFoldResult size, MemRefType type) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {slot, zero, zero},
                            sizes = {size, b.getIndexAttr(pack[0]),
                                     b.getIndexAttr(pack[1])},
                            strides(3, one);
  if (!type)
    type = memref::SubViewOp::inferRankReducedResultType(
        pack, cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(b, type, buffer, offsets, sizes, strides);
}

IRMapping PackMover::mapPack(Value number) {
  IRMapping mapping;
  unsigned numLeading = packs.numLeading();
  auto from = packs.destination.getMixedOffsets();
  auto to = packs.head.getMixedOffsets();
  for (unsigned dim = 0; dim < numLeading; ++dim)
    if (auto iv = dyn_cast<Value>(from[dim]))
      mapping.map(iv, toValue(to[dim]));
  mapping.map(cast<Value>(from[numLeading]), number);
  return mapping;
}

/// Packs the rows of one number into the ring.
void PackMover::emitPack(const PackRing &ring, Value number, Value slot) {
  OpFoldResult one = b.getIndexAttr(1);
  Value view = emitView(ring.buffer, slot, one);
  IRMapping mapping = mapPack(number);
  mapping.map(packs.destination, view);
  for (Operation &op : packs.packing.getBody()->without_terminator()) {
    // Of the next pack of all.
    bool prefetches = op.walk([](memref::PrefetchOp) {
                          return WalkResult::interrupt();
                        }).wasInterrupted();
    if (&op != packs.destination && !prefetches)
      b.clone(op, mapping);
  }
  if (packs.packsPerBlock == 1)
    return;
  Value isFirst = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, slot,
                                                index(packs.packsPerBlock - 1));
  auto ifOp = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  Value past = emit<arith::AddIOp>(slot, ring.capacity);
  memref::CopyOp::create(b, view, emitView(ring.buffer, past, one));
}

/// The rows that a pack is made of, of one tensor. Those of a page, which the
/// loop over packs looks up, are not known where it does not.
memref::SubViewOp PackMover::findSource() {
  auto isOfHead = [&](OpFoldResult offset) {
    auto value = dyn_cast<Value>(offset);
    return !value || packs.packing.isDefinedOutsideOfLoop(value) ||
           llvm::is_contained(packs.packing.getInductionVars(), value);
  };
  memref::SubViewOp source;
  packs.packing.walk([&](memref::SubViewOp view) {
    if (view != packs.destination &&
        packs.packing.isDefinedOutsideOfLoop(view.getSource()) &&
        view.getSourceType().getRank() == int64_t(packs.numLeading()) + 2 &&
        view.getSourceType().isLastDimUnitStride() &&
        llvm::all_of(
            ArrayRef(view.getMixedOffsets()).take_front(packs.numLeading()),
            isOfHead)) {
      source = view;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return source;
}

SmallVector<OpFoldResult> PackMover::getRowsAt(memref::SubViewOp source,
                                               Value number) {
  IRMapping mapping = mapPack(number);
  SmallVector<OpFoldResult> at = source.getMixedOffsets();
  for (OpFoldResult &offset :
       MutableArrayRef(at).take_front(packs.numLeading()))
    if (auto value = dyn_cast<Value>(offset))
      offset = mapping.lookupOrDefault(value);
  at.back() = b.getIndexAttr(0);
  return at;
}

/// Fetches the rows of the pack after one, if the ring lacks both: what the
/// first tile of a head packs, no tile before it has fetched.
void PackMover::emitFetch(const PackRing &ring, Value number) {
  memref::SubViewOp source = findSource();
  if (!source)
    return;
  unsigned dim = packs.numLeading();
  Value next = emit<arith::AddIOp>(number, index(1));
  Value end =
      emit<arith::MinSIOp>(emit<arith::AddIOp>(next, index(1)), ring.high);
  Value numRows = b.createOrFold<memref::DimOp>(source.getSource(), dim);
  Value last =
      emit<arith::MinSIOp>(emit<arith::MulIOp>(end, index(pack[1])), numRows);
  emitPrefetch(b, b.getLoc(), source.getSource(), getRowsAt(source, number),
               dim, {emit<arith::MulIOp>(next, index(pack[1])), last});
}

/// A loop that fetches lines of a pack becomes one over the rows that those
/// will be made of. Other prefetches of packs go.
void PackMover::replacePrefetches() {
  memref::SubViewOp source = findSource();
  int64_t perLine = kCacheLineBytes * 8 / elementType.getIntOrFloatBitWidth();
  for (memref::PrefetchOp prefetch : packs.prefetches) {
    Value number = prefetch.getIndices()[0];
    auto lines = dyn_cast<scf::ForOp>(prefetch->getParentOp());
    if (source && pack[0] % perLine == 0 && pack[1] == perLine && lines &&
        lines.isDefinedOutsideOfLoop(number) &&
        prefetch.getIndices()[1] == lines.getInductionVar() &&
        isOneInteger(OpFoldResult(lines.getStep()))) {
      b.setInsertionPoint(lines);
      unsigned dim = packs.numLeading();
      // Those of which the first line is among the lines.
      int64_t linesPerRow = pack[0] / perLine;
      Value firstRow = emit<arith::MulIOp>(number, index(pack[1]));
      auto getRow = [&](Value line) {
        Value above = emit<arith::AddIOp>(line, index(linesPerRow - 1));
        return emit<arith::AddIOp>(
            firstRow, emit<arith::DivUIOp>(above, index(linesPerRow)));
      };
      Value numRows = b.createOrFold<memref::DimOp>(source.getSource(), dim);
      Value end = emit<arith::MinSIOp>(getRow(lines.getUpperBound()), numRows);
      emitPrefetch(b, b.getLoc(), source.getSource(), getRowsAt(source, number),
                   dim, {getRow(lines.getLowerBound()), end});
    }
    erasePrefetch(prefetch);
  }
  // Of the packs of the next head.
  for (Operation *user : llvm::make_early_inc_range(packs.buffer->getUsers()))
    if (auto prefetch = dyn_cast<memref::PrefetchOp>(user))
      erasePrefetch(prefetch);
}

/// And the loop around it, if there is nothing else in it.
void PackMover::erasePrefetch(memref::PrefetchOp prefetch) {
  Operation *loop = prefetch->getParentOp();
  rewriter.eraseOp(prefetch);
  if (isOpTriviallyDead(loop))
    rewriter.eraseOp(loop);
}

struct PackInTiles : attn::impl::PackInTilesBase<PackInTiles> {
  static void remark(memref::AllocOp buffer, StringRef reason) {
    buffer.emitRemark("not packed by the tiles that read it: ") << reason;
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<SharedPacks> all;
    getOperation()->walk([&](memref::AllocOp buffer) {
      if (std::optional<SharedPacks> packs = SharedPacks::match(buffer))
        all.push_back(std::move(*packs));
      else if (SharedPacks::areReadOtherwise(buffer))
        remark(buffer, "blocks are no views of what a tile sees of its head");
    });
    for (SharedPacks &packs : all)
      if (failed(PackMover(packs, rewriter).move()))
        remark(packs.buffer, "what a tile sees depends on what it computes");
  }
};

} // namespace
