//===- RowPrefetch.cpp - What a contraction fetches ahead -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/RowPrefetch.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Plan/CacheLine.h"
#include "lib/Plan/CacheModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

void RowPrefetch::emit(OpBuilder &b, Location loc, Value row,
                       Value column) const {
  if (!matrix)
    return;
  if (rowsAhead > 0)
    row = b.createOrFold<arith::AddIOp>(
        loc, row, arith::ConstantIndexOp::create(b, loc, rowsAhead));
  SmallVector<Value> indices = {row, column};
  if (matrix.getType().getRank() == 3)
    indices.push_back(arith::ConstantIndexOp::create(b, loc, 0));
  // To the second level: the first has few lines under way at a time.
  memref::PrefetchOp::create(b, loc, matrix, indices,
                             /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}

void RowPrefetch::emitShare(OpBuilder &b, Location loc, Value row,
                            int64_t numRows, Value column,
                            int64_t numColumns) const {
  if (!matrix)
    return;
  MemRefType type = matrix.getType();
  int64_t size = type.getDimSize(1);
  if (ShapedType::isDynamic(size))
    return;
  int64_t line = kCacheLineBytes * 8 / type.getElementTypeBitWidth();
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  // The columns of the rows up to this one are so many elements of them.
  Value first = arith::MulIOp::create(b, loc, column, index(numRows));
  for (int64_t at = 0; at < numRows * numColumns; at += line) {
    Value element = arith::AddIOp::create(b, loc, first, index(at));
    Value down = arith::DivUIOp::create(b, loc, element, index(size));
    emit(b, loc, arith::AddIOp::create(b, loc, row, down),
         arith::RemUIOp::create(b, loc, element, index(size)));
  }
}

void RowPrefetch::emitRows(OpBuilder &b, Location loc, Value row,
                           int64_t numRows, Value first,
                           int64_t numColumns) const {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  int64_t line =
      kCacheLineBytes * 8 / matrix.getType().getElementTypeBitWidth();
  Value end = arith::AddIOp::create(b, loc, row, index(numRows));
  auto loop = scf::ForOp::create(b, loc, row, end, index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  for (int64_t at = 0; at < numColumns; at += line)
    emit(b, loc, loop.getInductionVar(),
         arith::AddIOp::create(b, loc, first, index(at)));
}

bool attn::multipliesMatrices(linalg::LinalgOp op) {
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  return succeeded(dims) && dims->batch.empty() && dims->m.size() == 1 &&
         dims->n.size() == 1 && dims->k.size() == 1;
}

/// Whether no two iterations of the parallel loops around `view` read the same
/// of it.
static bool isReadOnce(memref::SubViewOp view) {
  for (auto loop = view->getParentOfType<scf::ForallOp>(); loop;
       loop = loop->getParentOfType<scf::ForallOp>())
    for (Value iv : loop.getInductionVars())
      if (!dependsOn(view, iv))
        return false;
  return true;
}

/// Whether where a view begins is looked up in each iteration of its loop.
static bool isLookedUp(memref::SubViewOp view) {
  return llvm::any_of(*view->getBlock(), [&](Operation &op) {
    return isa<memref::LoadOp>(op) && dependsOn(view, op.getResult(0));
  });
}

/// How many rows of a block of `numRows`, beyond the block, have to be under
/// way while it is read. They are those of the next block, if blocks follow
/// each other in memory.
static int64_t getRowsAhead(memref::SubViewOp view, int64_t numRows) {
  MemRefType type = view.getType();
  if (isLookedUp(view) || type.isDynamicDim(1))
    return 0;
  int64_t rowBytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  CacheModel model(getTarget(view));
  int64_t rows = model.getBytesUnderWay() / std::max<int64_t>(rowBytes, 1);
  return std::max<int64_t>(rows - numRows, 0);
}

/// Fetches the beginnings of a later block. A processor fetches ahead by itself
/// within a page of memory as soon as it is read from; but where
/// blocks are in no order, each begins with waiting.
static void emitBeginnings(OpBuilder &b, scf::ForOp loop,
                           ArrayRef<memref::SubViewOp> views) {
  constexpr int64_t distance = 3;
  int64_t pageBytes = getTarget(loop).getPageBytes();
  std::optional<int64_t> numRows = getConstantIntValue(loop.getStep());
  if (!numRows || !llvm::all_of(views, isLookedUp))
    return;
  Location loc = loop.getLoc();
  LaterIteration later(b, loop, distance);
  for (memref::SubViewOp view : views) {
    MemRefType type = view.getType();
    auto block = cast_if_present<TypedValue<MemRefType>>(later.get(view));
    if (!block || type.isDynamicDim(1) || type.getDimSize(1) == 0)
      continue;
    int64_t rowBytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
    int64_t step =
        std::max<int64_t>(pageBytes / std::max<int64_t>(rowBytes, 1), 1);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    for (int64_t row = 0; row < *numRows; row += step)
      RowPrefetch{block, view}.emit(
          b, loc, arith::ConstantIndexOp::create(b, loc, row), zero);
  }
}

/// Whether `view` are rows of memory that each iteration of `loop` reads others
/// of.
static bool isBlock(memref::SubViewOp view, LoopLikeOpInterface loop) {
  return view->getParentOp() == loop &&
         dependsOn(view, *loop.getSingleInductionVar()) && isReadOnce(view);
}

static bool isMatrix(memref::SubViewOp view) {
  return view.getType().getRank() == 2;
}

/// The block of rows that a contraction of many rows and lanes reads; or null.
/// Other tiles may read it too, but before that, others have taken its place in
/// the second-level cache. What fetches it costs such a contraction little.
static memref::SubViewOp findBlockOfMany(linalg::LinalgOp op, scf::ForOp loop) {
  constexpr int64_t leastRows = 24, leastLanes = 64;
  if (!multipliesMatrices(op))
    return nullptr;
  auto output = dyn_cast<MemRefType>(op.getDpsInits().front().getType());
  if (!output || output.getRank() != 2 || output.getDimSize(0) < leastRows ||
      output.getDimSize(1) < leastLanes || !output.getElementType().isF32())
    return nullptr;
  auto view = op.getDpsInputs().back().getDefiningOp<memref::SubViewOp>();
  return view && isMatrix(view) && view->getBlock() == loop.getBody() &&
                 dependsOn(view, loop.getInductionVar())
             ? view
             : nullptr;
}

/// Whether `view` are rows of pairs.
static bool isPairs(memref::SubViewOp view) {
  MemRefType type = view.getType();
  return type.getRank() == 3 && type.getDimSize(2) == 2;
}

/// The rows that a contraction in `loop` reads from memory, a block in each
/// iteration; or null.
static memref::SubViewOp
findBlock(linalg::LinalgOp contraction, LoopLikeOpInterface loop,
          function_ref<bool(memref::SubViewOp)> hasForm = isMatrix) {
  for (Value operand : contraction.getDpsInputs()) {
    if (auto pairs = operand.getDefiningOp<memref::ExpandShapeOp>())
      operand = pairs.getSrc();
    auto view = operand.getDefiningOp<memref::SubViewOp>();
    if (view && hasForm(view) && isBlock(view, loop))
      return view;
  }
  return nullptr;
}

/// The same, of which packs are made for a contraction in pairs.
static memref::SubViewOp findPackedBlock(scf::ForOp loop) {
  memref::SubViewOp block;
  loop.getBody()->walk([&](linalg::TransposeOp pack) {
    auto view = pack.getInput().getDefiningOp<memref::SubViewOp>();
    while (view && !(isMatrix(view) && isBlock(view, loop)))
      view = view.getSource().getDefiningOp<memref::SubViewOp>();
    if (view)
      block = view;
  });
  return block;
}

llvm::DenseMap<Operation *, RowPrefetch>
attn::emitRowPrefetches(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions) {
  llvm::DenseMap<Operation *, RowPrefetch> prefetches;
  for (size_t i = 0; i + 1 < contractions.size(); ++i) {
    linalg::LinalgOp scores = contractions[i], products = contractions[i + 1];
    auto loop = scores->getParentOfType<scf::ForOp>();
    if (!loop || loop != products->getParentOfType<scf::ForOp>())
      continue;
    memref::SubViewOp keys = findBlock(scores, loop),
                      values = findBlock(products, loop);
    if (!values)
      values = findPackedBlock(loop);
    Operation *step = loop.getBody()->findAncestorOpInBlock(*scores);
    if (!keys || !values || keys == values || !values->isBeforeInBlock(step))
      continue;
    int64_t numRows = getConstantIntValue(loop.getStep()).value_or(0);
    prefetches[scores] = {
        values.getResult(), keys, numRows, {}, getRowsAhead(values, numRows)};
    b.setInsertionPoint(step);
    emitBeginnings(b, loop, {keys, values});
    if (Value next = LaterIteration(b, loop).get(keys))
      prefetches[products] = {cast<TypedValue<MemRefType>>(next),
                              values,
                              numRows,
                              {},
                              getRowsAhead(keys, numRows)};
  }
  for (linalg::LinalgOp op : contractions) {
    auto loop = op->getParentOfType<scf::ForOp>();
    if (!loop || prefetches.contains(op))
      continue;
    memref::SubViewOp block = findBlockOfMany(op, loop);
    if (!block)
      continue;
    b.setInsertionPoint(loop.getBody()->findAncestorOpInBlock(*op));
    if (Value next = LaterIteration(b, loop).get(block))
      prefetches[op] = {cast<TypedValue<MemRefType>>(next), block};
  }
  // A contraction alone in its loop fetches what it will read next.
  for (linalg::LinalgOp op : contractions) {
    auto loop = dyn_cast<LoopLikeOpInterface>(op->getParentOp());
    if (!loop || !loop.getSingleInductionVar() || prefetches.contains(op) ||
        llvm::count_if(contractions, [&](linalg::LinalgOp other) {
          return other->getBlock() == op->getBlock();
        }) != 1)
      continue;
    memref::SubViewOp block = findBlock(op, loop);
    if (!block)
      block = findBlock(op, loop, isPairs);
    if (!block)
      continue;
    b.setInsertionPoint(op);
    if (Value next = LaterIteration(b, loop).get(block))
      prefetches[op] = {cast<TypedValue<MemRefType>>(next), block,
                        /*numRows=*/0, block.getResult()};
  }
  return prefetches;
}
