//===- ForallToGPU.cpp - Parallel tiles as workgroups ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ForallToGPU/HostCode.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTFORALLTOGPU
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A warp for so many rows of the products in a tile, and of what it writes, as
/// the loop says. Of keys that are all hidden, there are no products.
FailureOr<int64_t> findNumThreads(scf::ForallOp loop) {
  FailureOr<int64_t> warpRows = getWarpRows(loop);
  if (failed(warpRows))
    return failure();
  int64_t rows = 0;
  bool agree = true;
  auto addRows = [&](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    int64_t own = vector && vector.getRank() > 0 ? vector.getDimSize(0) : 0;
    agree &= own > 0 && own % *warpRows == 0 && (rows == 0 || rows == own);
    rows = own;
  };
  loop.walk([&](vector::ContractionOp op) { addRows(op.getResultType()); });
  loop.walk([&](vector::TransferWriteOp op) { addRows(op.getVectorType()); });
  if (rows == 0 || !agree)
    return loop.emitOpError(
               "expected products and writes of one number of rows "
               "that is a multiple of ")
           << *warpRows << " in a tile for a GPU";
  return rows / *warpRows * kLanesOfWarp;
}

/// How many warps share a workgroup, each of which has all rows of a tile.
FailureOr<int64_t> findNumShares(scf::ForallOp loop, int64_t threads) {
  SmallVector<scf::ForallOp> shares;
  loop.walk([&](scf::ForallOp inner) {
    if (inner != loop && isLoopOfWarps(inner))
      shares.push_back(inner);
  });
  if (shares.empty())
    return 1;
  std::optional<int64_t> count =
      getConstantIntValue(shares.front().getMixedUpperBound().front());
  if (shares.size() > 1 || !count || *count < 2 || *count > kMostShares ||
      !shares.front().isNormalized() || threads != kLanesOfWarp)
    return shares.front().emitOpError(
               "expected one loop over warps in a tile, with the rows of one "
               "warp, from 0 by 1 to a constant from 2 to ")
           << kMostShares;
  return *count;
}

/// Emits how many iterations each dimension of `loop` has.
SmallVector<Value> emitExtents(IndexBuilder &b, scf::ForallOp loop) {
  SmallVector<Value> extents;
  AffineExpr begin, end;
  bindSymbols(b.getContext(), begin, end);
  for (auto [low, high, by] :
       llvm::zip(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                 loop.getMixedStep()))
    extents.push_back(
        b.ceilDiv(b.index(b.apply(end - begin, {low, high})), b.index(by)));
  return extents;
}

/// Moves the body of `loop` to the insertion point, for the iteration
/// `numbers`.
void moveBody(RewriterBase &rewriter, IndexBuilder &b, scf::ForallOp loop,
              ValueRange numbers) {
  SmallVector<Value> indices;
  for (auto [i, first, by] :
       llvm::zip(numbers, loop.getMixedLowerBound(), loop.getMixedStep()))
    indices.push_back(b.index(affine::makeComposedFoldedAffineApply(
        b, b.getLoc(),
        b.getAffineSymbolExpr(0) +
            b.getAffineDimExpr(0) * b.getAffineSymbolExpr(1),
        {i, first, by})));
  rewriter.eraseOp(loop.getTerminator());
  rewriter.inlineBlockBefore(loop.getBody(), b.getInsertionBlock(),
                             b.getInsertionPoint(), indices);
  rewriter.eraseOp(loop);
}

/// Emits an empty launch, to insert into.
gpu::LaunchOp emitLaunch(IndexBuilder &b, ArrayRef<Value> grid, int64_t threads,
                         int64_t shares = 1) {
  Value one = b.index(1);
  SmallVector<Value> sizes(grid);
  sizes.resize(3, one);
  auto launch = gpu::LaunchOp::create(b, sizes[0], sizes[1], sizes[2],
                                      b.index(threads), b.index(shares), one);
  b.setInsertionPointToStart(&launch.getBody().front());
  b.setInsertionPoint(gpu::TerminatorOp::create(b));
  return launch;
}

/// The most workgroups that a launch has in y and in z; in x, it has 2^31 - 1.
constexpr int64_t kMostInDimension = 65535;

/// Emits a loop for launches of at most `kMostInDimension` of `extent`, if that
/// may be more, and inserts into it. Makes `extent` that of a launch, and
/// returns the number of its first workgroup; nothing if it is 0.
Value emitLaunches(IndexBuilder &b, Value &extent) {
  std::optional<int64_t> constant = getConstantIntValue(extent);
  if (constant && *constant <= kMostInDimension)
    return {};
  Value first = b.enterLoop(0, extent, kMostInDimension);
  extent = arith::MinUIOp::create(b, b.sub(extent, first),
                                  b.index(kMostInDimension));
  return first;
}

/// Whether how far a loop in an iteration goes depends on where that is in the
/// last dimension, as keys do of tiles of queries under a causal mask. What is
/// no tile there is a part of the keys, each of which is as long as the others.
bool isUnevenInLast(scf::ForallOp loop) {
  if (isConstantIntValue(loop.getMixedStep().back(), 1))
    return false;
  Value last = loop.getInductionVars().back();
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  return loop
      .walk([&](scf::ForOp inner) {
        SetVector<Operation *> slice;
        if (inner.getUpperBound() == last ||
            failed(getBackwardSlice(inner.getUpperBound(), &slice, options)))
          return WalkResult::interrupt();
        bool depends = llvm::any_of(slice, [&](Operation *op) {
          return llvm::is_contained(op->getOperands(), last);
        });
        return depends ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// An iteration for a workgroup, which has its vectors.
LogicalResult convertTiles(RewriterBase &rewriter, scf::ForallOp loop) {
  if (loop.getRank() > 3)
    return loop.emitOpError("expected at most 3 loops over tiles for a GPU");
  FailureOr<int64_t> threads = findNumThreads(loop);
  if (failed(threads))
    return failure();
  FailureOr<int64_t> shares = findNumShares(loop, *threads);
  if (failed(shares))
    return failure();
  IndexBuilder b(loop.getLoc(), rewriter);
  // x is the last loop.
  SmallVector<Value> grid(llvm::reverse(emitExtents(b, loop)));
  SmallVector<Value> firsts(grid.size());
  for (size_t dim = 1; dim < grid.size(); ++dim)
    firsts[dim] = emitLaunches(b, grid[dim]);
  bool isUneven = isUnevenInLast(loop);
  int64_t producers = loop->hasAttr(kWarpgroupsAttr) ? kThreadsOfWarpgroup : 0;
  gpu::LaunchOp launch = emitLaunch(b, grid, *threads + producers, *shares);
  if (producers > 0)
    launch->setAttr(kProducersAttr, b.getIndexAttr(producers));
  for (StringRef name : {kWarpRowsAttr, kMostRowsAttr, kWarpgroupsAttr})
    if (Attribute said = loop->getAttr(name))
      launch->setAttr(name, said);
  gpu::KernelDim3 ids = launch.getBlockIds();
  SmallVector<Value> numbers = {ids.x, ids.y, ids.z};
  // Workgroups start in the order of their numbers. Those that have most to do
  // must not be the last ones, for which all others wait.
  if (isUneven)
    numbers[0] = b.sub(b.sub(launch.getGridSize().x, 1), ids.x);
  numbers.truncate(grid.size());
  for (auto [number, first] : llvm::zip(numbers, firsts))
    if (first)
      number = b.add(first, number);
  moveBody(rewriter, b, loop, SmallVector<Value>(llvm::reverse(numbers)));
  return success();
}

/// An iteration for a thread; neighbours are next to each other in the last
/// loop.
void convertElements(RewriterBase &rewriter, scf::ForallOp loop) {
  constexpr int64_t kThreads = 4 * kLanesOfWarp;
  IndexBuilder b(loop.getLoc(), rewriter);
  SmallVector<Value> extents = emitExtents(b, loop);
  Value count = extents.front();
  for (Value extent : ArrayRef(extents).drop_front())
    count = b.mul(count, extent);
  gpu::LaunchOp launch = emitLaunch(b, b.ceilDiv(count, kThreads), kThreads);
  Value rest =
      b.add(b.mul(launch.getBlockIds().x, kThreads), launch.getThreadIds().x);
  auto exists =
      scf::IfOp::create(b, b.compare(arith::CmpIPredicate::ult, rest, count),
                        /*withElseRegion=*/false);
  b.setInsertionPointToStart(exists.thenBlock());
  SmallVector<Value> numbers;
  for (Value extent : llvm::reverse(ArrayRef(extents).drop_front())) {
    numbers.push_back(b.rem(rest, extent));
    rest = b.div(rest, extent);
  }
  numbers.push_back(rest);
  moveBody(rewriter, b, loop, SmallVector<Value>(llvm::reverse(numbers)));
}

bool computesVectors(scf::ForallOp loop) {
  return loop
      .walk([](Operation *op) {
        // A constant vector may be before the loop.
        return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<VectorType>) ||
                       llvm::any_of(op->getResultTypes(),
                                    llvm::IsaPred<VectorType>)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult convertLoop(RewriterBase &rewriter, scf::ForallOp loop) {
  if (loop.getRank() == 0 || loop.getNumResults() > 0)
    return loop.emitOpError("expected loops on buffers for a GPU");
  rewriter.setInsertionPoint(loop);
  if (computesVectors(loop))
    return convertTiles(rewriter, loop);
  convertElements(rewriter, loop);
  return success();
}

/// Has all kernels of a function outlined to one gpu.module, so that compilers
/// for GPUs run once for a function, not once for a launch.
void nameKernelModule(FunctionOpInterface function) {
  auto name = FlatSymbolRefAttr::get(function.getContext(),
                                     (function.getName() + "_kernels").str());
  function.walk([&](gpu::LaunchOp launch) { launch.setModuleAttr(name); });
}

struct ConvertForallToGPU
    : attn::impl::ConvertForallToGPUBase<ConvertForallToGPU> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    convertElementwiseToLoops(rewriter, getOperation());
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (scf::ForallOp loop : loops)
      if (failed(convertLoop(rewriter, loop)))
        return signalPassFailure();
    getOperation()->walk([&](FunctionOpInterface function) {
      if (failed(convertHostCode(rewriter, function)))
        return signalPassFailure();
      nameKernelModule(function);
    });
  }
};

} // namespace
