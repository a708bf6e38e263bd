//===- ContractionLoops.cpp - Loops around products in registers ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/ContractionLoops.h"
#include "lib/CPU/LinalgToVector/TileBlocks.h"
#include "lib/CPU/LinalgToVector/VectorBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<Value> attn::getIndices(AffineMap map, Value row, Value column,
                                    ValueRange k) {
  SmallVector<Value> loops = {row, column};
  llvm::append_range(loops, k);
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return loops[cast<AffineDimExpr>(expr).getPosition()];
  });
}

void attn::emitLoop(IndexBuilder &b, Value first, Value end, int64_t step,
                    SmallVector<Value> &acc, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, first, end, b.index(step), acc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  acc = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  body(loop.getInductionVar());
  scf::YieldOp::create(b, acc);
  acc = loop.getResults();
}

int64_t Contraction::getNumTerms() const {
  AffineExpr term =
      getAffineDimExpr(2 + getNumContracted(), mapOfA.getContext());
  std::optional<unsigned> position = mapOfA.getResultPosition(term);
  return position ? a.getType().getDimSize(*position) : 1;
}

static bool endsWithRow(AffineMap mapOfA) {
  return mapOfA.getResults().back() == getAffineDimExpr(0, mapOfA.getContext());
}

bool Contraction::hasRowsInSteps() const {
  SmallVector<int64_t> strides;
  int64_t offset;
  AffineExpr row = getAffineDimExpr(0, mapOfA.getContext());
  // Blocks of fewer vectors have more rows, whose scalars would not be reused.
  return (hasPairs() || getNumLanes() % 64 == 0) && !endsWithRow(mapOfA) &&
         succeeded(a.getType().getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(strides[*mapOfA.getResultPosition(row)]);
}

bool Contraction::hasRowsApart() const {
  return !endsWithRow(mapOfA) && !hasRowsInSteps();
}

bool Contraction::hasTiles() const {
  AffineExpr row = getAffineDimExpr(0, mapOfA.getContext());
  int64_t numPairs = b.getType().getShape().end()[-2];
  return inPairs && mapOfA.getResults().drop_back().back() == row &&
         !ShapedType::isDynamic(numPairs) && numPairs % TileBlocks::kSize == 0;
}

namespace {
/// Emits the loops over the blocks of C.
class Emitter {
public:
  Emitter(IndexBuilder &b, Location loc, const Contraction &contraction,
          const ContractionTarget &target);

  void emit();

private:
  /// for (i = lower; i < upper; i += step) body(i)
  void emitLoop(Value lower, Value upper, int64_t step,
                function_ref<void(Value)> body);
  void emitRows(Value column);
  void emitStaticRows(int64_t numRows, Value column);
  void emitDynamicRows(Value numRows, Value column);
  /// Computes the block of C at `row` and `column` of `numRows` rows.
  void emitBlock(Value row, Value column, int64_t numRows);

  IndexBuilder &b;
  Location loc;
  const Contraction &contraction;
  RegisterBlock vectorBlock;
  /// Of a block.
  int64_t numLanes;
  /// Rows of blocks, the largest first.
  SmallVector<int64_t, 3> blockRows;
  bool inTiles;
  VectorBlocks vectors;
  TileBlocks tiles;
};
} // namespace

Emitter::Emitter(IndexBuilder &b, Location loc, const Contraction &contraction,
                 const ContractionTarget &target)
    : b(b), loc(loc), contraction(contraction),
      inTiles(target.tiles && contraction.hasTiles()),
      vectors(b, loc, contraction, target.registers,
              inTiles ? PrefetchShares() : contraction.shares),
      tiles(b, loc, contraction,
            inTiles ? contraction.shares : PrefetchShares()) {
  int64_t width = target.registers.getWidth(
      contraction.getElementType().getIntOrFloatBitWidth());
  int64_t numVectors = contraction.getNumLanes() / width;
  if (inTiles)
    numVectors = numVectors % 2 == 0 ? 2 : 1;
  vectorBlock = chooseRegisterBlock(
      contraction.getNumRows(), numVectors,
      /*needsPointers=*/contraction.hasRowsApart(), target.registers.count);
  numLanes = vectorBlock.vectors * width;
  if (inTiles)
    blockRows = {2 * TileBlocks::kSize, TileBlocks::kSize};
  else
    blockRows = {vectorBlock.rows};
  // Each block reads all of B, which is all that a few rows take time for.
  if (contraction.stream && ShapedType::isDynamic(contraction.getNumRows()))
    for (int64_t rows = blockRows.back() / 2; rows > 1; rows /= 2)
      blockRows.push_back(rows);
}

void Emitter::emitLoop(Value lower, Value upper, int64_t step,
                       function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, loc, lower, upper, b.index(step));
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Emitter::emit() {
  if (contraction.getNumLanes() == numLanes)
    return emitRows(b.index(0));
  emitLoop(b.index(0), b.index(contraction.getNumLanes()), numLanes,
           [&](Value column) { emitRows(column); });
}

void Emitter::emitRows(Value column) {
  if (int64_t rows = contraction.getNumRows(); !ShapedType::isDynamic(rows))
    return emitStaticRows(rows, column);
  emitDynamicRows(memref::DimOp::create(b, loc, contraction.c, 0), column);
}

void Emitter::emitStaticRows(int64_t numRows, Value column) {
  int64_t done = 0;
  for (int64_t rows : blockRows) {
    int64_t whole = (numRows - done) / rows * rows;
    if (whole == rows)
      emitBlock(b.index(done), column, rows);
    else if (whole > 0)
      emitLoop(b.index(done), b.index(done + whole), rows,
               [&](Value row) { emitBlock(row, column, rows); });
    done += whole;
  }
  while (done < numRows) {
    int64_t rows = std::min(numRows - done, vectorBlock.rows);
    emitBlock(b.index(done), column, rows);
    done += rows;
  }
}

/// Where C's old values do not matter, the last block moves back to where it is
/// whole, and rows are computed twice. So there is no code for any number of
/// rows below a block's but one.
void Emitter::emitDynamicRows(Value numRows, Value column) {
  bool canRepeat = contraction.producer && hasEqualRows(contraction.producer);
  Value done = b.index(0);
  for (int64_t rows : blockRows) {
    Value size = b.index(rows);
    Value whole;
    if (canRepeat) {
      Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                         numRows, size);
      whole = arith::SelectOp::create(b, loc, fits, numRows, done);
    } else {
      Value rest = arith::RemUIOp::create(b, loc, numRows, size);
      whole = arith::SubIOp::create(b, loc, numRows, rest);
    }
    emitLoop(done, whole, rows, [&](Value row) {
      if (canRepeat) {
        Value last = arith::SubIOp::create(b, loc, numRows, size);
        row = arith::MinSIOp::create(b, loc, row, last);
      }
      emitBlock(row, column, rows);
    });
    done = whole;
  }
  emitLoop(done, numRows, 1,
           [&](Value row) { emitBlock(row, column, /*numRows=*/1); });
}

void Emitter::emitBlock(Value row, Value column, int64_t numRows) {
  if (!inTiles || numRows % TileBlocks::kSize != 0)
    return vectors.emit(row, column, numRows, vectorBlock.vectors);
  tiles.emit(row, column, numRows / TileBlocks::kSize,
             numLanes / TileBlocks::kSize);
}

void attn::emitContractionLoops(OpBuilder &b, Location loc,
                                const Contraction &contraction,
                                const ContractionTarget &target) {
  IndexBuilder builder(loc, b);
  Emitter(builder, loc, contraction, target).emit();
}
