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
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

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
  acc = b.loop(first, end, step, acc, [&](Value i, ValueRange carried) {
    acc = llvm::to_vector_of<Value>(carried);
    body(i);
    return acc;
  });
}

unsigned Contraction::getDimOfB(unsigned number) const {
  return *mapOfB.getResultPosition(
      getAffineDimExpr(number + 2, mapOfB.getContext()));
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

bool Contraction::hasPairsOfRows() const {
  return inPairs && getNumContracted() > 0 && endsWithRow(mapOfA);
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

//===----------------------------------------------------------------------===//
// Blocks that fit into registers
//===----------------------------------------------------------------------===//

namespace {
/// The part of a matrix that a loop over a reduction keeps in registers.
struct RegisterBlock {
  int64_t rows;
  /// Registers in each row.
  int64_t vectors;
};
} // namespace

/// Two FMAs a cycle with a latency of four: fewer than eight accumulators wait
/// for each other, and eight do whenever one is late.
static constexpr int64_t leastAccumulators = 10;

/// Vectors in a row of a block: the more, the fewer scalars are broadcast. Of
/// 16 registers, 4 would leave too few accumulators; of 32, all of a row of a
/// few more leave enough. Numbers that no less divide are taken as they are,
/// and so are those of which all sums fit: rows of B are read whole then, one
/// after the other, as a processor's own prefetchers expect.
static int64_t chooseVectors(int64_t numRows, int64_t numVectors,
                             unsigned numRegisters) {
  bool isMany = numRegisters >= 32;
  if (!ShapedType::isDynamic(numRows) &&
      numRows * numVectors <= numRegisters / 2)
    return numVectors;
  if (isMany ? numVectors == 5 || numVectors == 7 : numVectors == 3)
    return numVectors;
  int64_t vectors = isMany ? 4 : 2;
  while (numVectors % vectors != 0)
    --vectors;
  return vectors;
}

/// Rows of a block of `vectors` registers a row. Some registers are for a row
/// of B, and for scalars of A on their way, of which LLVM loads many early
/// where few products use each:
///
///   registers | 1 vector | 2 vectors | 3 vectors | 4 vectors
///   32        | 18       | 9         | 6         | 6
///   32, rows  | 18       | 9         | 6         | 4
///   16        | 12       | 6         | 4         |
///   16, rows  | 10       | 5         | 3         |
///
/// "rows": A has its rows apart, and each needs a pointer; LLVM then spills
/// sooner. Blocks of at least 2 vectors by 6 rows reach the peak of FMAs, and
/// those of 1 vector 85-94 % of it, for all the broadcasts.
static int64_t getMostRows(int64_t vectors, unsigned numRegisters,
                           bool needsPointers) {
  int64_t accumulators = needsPointers ? 10 : 12;
  if (numRegisters >= 32)
    accumulators = needsPointers || vectors < 4 ? 18 : 24;
  int64_t available = static_cast<int64_t>(numRegisters) - 1 - vectors;
  return std::max<int64_t>(std::min(accumulators, available) / vectors, 1);
}

/// Of `n` rows, the number in a block of at most `most`: one that leaves no
/// rest, if that keeps enough accumulators, else blocks of about equal size.
static int64_t divideRows(int64_t n, int64_t vectors, int64_t most) {
  if (n <= most)
    return n;
  for (int64_t rows = most; rows * vectors >= leastAccumulators; --rows)
    if (n % rows == 0)
      return rows;
  return llvm::divideCeil(n, llvm::divideCeil(n, most));
}

/// The block for a product of A and B of `numRows` rows, which may be dynamic,
/// of `numVectors` registers each. Of a static number of rows it may leave a
/// smaller rest. `needsPointers`: each row of A has its own address.
static RegisterBlock chooseRegisterBlock(int64_t numRows, int64_t numVectors,
                                         bool needsPointers,
                                         unsigned numRegisters) {
  int64_t vectors = chooseVectors(numRows, numVectors, numRegisters);
  int64_t most = getMostRows(vectors, numRegisters, needsPointers);
  if (!ShapedType::isDynamic(numRows))
    return {divideRows(numRows, vectors, most), vectors};
  // Dynamic numbers of rows are mostly powers of two, as keys in a block are.
  auto even = static_cast<int64_t>(llvm::bit_floor<uint64_t>(most));
  bool isEnough = even * vectors >= numRegisters / 2;
  return {isEnough ? even : most, vectors};
}

//===----------------------------------------------------------------------===//
// Loops over blocks
//===----------------------------------------------------------------------===//

namespace {
/// Emits the loops over the blocks of C.
class Emitter {
public:
  Emitter(IndexBuilder &b, const Contraction &contraction,
          const ContractionTarget &target);

  void emit();

private:
  void emitRows(Value column);
  void emitStaticRows(int64_t numRows, Value column);
  void emitDynamicRows(Value numRows, Value column);
  /// Computes the block of C at `row` and `column` of `numRows` rows.
  void emitBlock(Value row, Value column, int64_t numRows);

  IndexBuilder &b;
  const Contraction &contraction;
  RegisterBlock vectorBlock;
  /// Of a block.
  int64_t numLanes;
  /// Rows of blocks, the largest first.
  SmallVector<int64_t, 4> blockRows;
  bool inTiles;
  VectorBlocks vectors;
  TileBlocks tiles;
};
} // namespace

Emitter::Emitter(IndexBuilder &b, const Contraction &contraction,
                 const ContractionTarget &target)
    : b(b), contraction(contraction),
      inTiles(target.tiles && contraction.hasTiles()),
      vectors(b, contraction, target.registers,
              inTiles ? PrefetchShares() : contraction.shares),
      tiles(b, contraction, inTiles ? contraction.shares : PrefetchShares()) {
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
    while (blockRows.back() > 2) {
      int64_t rows = blockRows.back();
      blockRows.push_back(rows > 4 ? rows / 2 : rows - 1);
    }
}

void Emitter::emit() {
  int64_t first = contraction.firstLane, all = contraction.getNumLanes();
  if (all == numLanes)
    return emitRows(b.index(first));
  b.loop(b.index(first), b.index(first + all), numLanes,
         [&](Value column) { emitRows(column); });
}

void Emitter::emitRows(Value column) {
  if (int64_t rows = contraction.getNumRows(); !ShapedType::isDynamic(rows))
    return emitStaticRows(rows, column);
  emitDynamicRows(memref::DimOp::create(b, contraction.c, 0), column);
}

void Emitter::emitStaticRows(int64_t numRows, Value column) {
  int64_t done = 0;
  for (int64_t rows : blockRows) {
    int64_t whole = (numRows - done) / rows * rows;
    if (whole == rows)
      emitBlock(b.index(done), column, rows);
    else if (whole > 0)
      b.loop(b.index(done), b.index(done + whole), rows,
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
    Value whole =
        canRepeat
            ? b.select(b.compare(arith::CmpIPredicate::sge, numRows, size),
                       numRows, done)
            : b.sub(numRows, b.rem(numRows, size));
    b.loop(done, whole, rows, [&](Value row) {
      if (canRepeat)
        row = b.min(row, b.sub(numRows, size));
      emitBlock(row, column, rows);
    });
    done = whole;
  }
  b.loop(done, numRows, 1,
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
  unsigned bits = contraction.getElementType().getIntOrFloatBitWidth();
  int64_t width = target.registers.getWidth(bits),
          lanes = contraction.getNumLanes();
  if (lanes % width == 0)
    return Emitter(builder, contraction, target).emit();
  // What whole vectors leave is computed in smaller ones.
  Contraction part = contraction;
  ContractionTarget machine = target;
  part.numLanes = lanes / width * width;
  while (lanes > 0) {
    if (part.numLanes > 0)
      Emitter(builder, part, machine).emit();
    part.firstLane += part.numLanes;
    lanes -= part.numLanes;
    part.numLanes = int64_t(llvm::bit_floor(uint64_t(lanes)));
    machine.registers.bits = unsigned(part.numLanes) * bits;
    part.shares = {};
  }
}
