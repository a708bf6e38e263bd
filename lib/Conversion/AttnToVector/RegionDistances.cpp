//===- RegionDistances.cpp - What depends on distances in a tile ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of RegionVectorizer that computes once for a tile of K rows and L
// lanes what its K + L - 1 distances decide, instead of K * L times.
//

#include "lib/Conversion/AttnToVector/RegionVectorization.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Vector operations that a row saves at least; it has a load instead.
static constexpr int kLeastSaved = 3;

/// About how many operations on vectors an op of distances takes in a row.
static int countOperations(Operation *op, const RegionDependence &dependence) {
  if (dependence.isDistance(op->getResult(0)))
    return 0; // A scalar and its multiples of lanes.
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return dependence.getForm(load) == LoadForm::Gather ? 2 * kLeastSaved : 1;
  if (isa<math::MathDialect>(op->getDialect()) &&
      !isa<math::AbsIOp, math::AbsFOp, math::FmaOp>(op))
    return 2 * kLeastSaved;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
          arith::RemUIOp>(op))
    return 2 * kLeastSaved;
  // To lanes first, with the numbers of the lanes added; a scalar that is
  // compared with those must become a small one.
  if (isa<arith::SIToFPOp, arith::UIToFPOp, arith::CmpIOp>(op))
    return 2;
  return 1;
}

/// The operations that values are computed by, of those that `filter` takes.
static SetVector<Operation *>
findSlice(ValueRange values, function_ref<bool(Operation &)> filter) {
  SetVector<Operation *> slice;
  SmallVector<Value> left(values);
  while (!left.empty()) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (op && filter(*op) && slice.insert(op))
      llvm::append_range(left, op->getOperands());
  }
  return slice;
}

void RegionVectorizer::findTables() {
  Operation *yield = region.front().getTerminator();
  auto isRoot = [&](Operation &op) {
    return dependence.onDistance(op.getResult(0)) &&
           llvm::any_of(op.getUsers(), [&](Operation *user) {
             return user == yield || !dependence.onDistance(user->getResult(0));
           });
  };
  SmallPtrSet<Operation *, 8> roots;
  for (Operation &op : region.front().without_terminator()) {
    if (!isRoot(op))
      continue;
    SetVector<Operation *> slice = findSlice(
        op.getResult(0), [&](Operation &made) { return isOnRow(made); });
    int saved = 0;
    for (Operation *made : slice)
      saved += countOperations(made, dependence);
    if (saved < kLeastSaved)
      continue;
    roots.insert(&op);
    tabulated.push_back(op.getResult(0));
    inTables.insert_range(slice);
  }
  inRows.insert_range(findSlice(yield->getOperands(), [&](Operation &made) {
    return isOnRow(made) && !roots.contains(&made);
  }));
}

/// Row `numKeys - 1 - first` has, in lane i, the distance of the table's
/// element `first + i`. It need not be one of the tile, and before the first
/// key it is not.
void RegionVectorizer::storeInTables(Value first) {
  Value one = b.index(1);
  Value last = b.createOrFold<arith::SubIOp>(tile.numKeys, one);
  Value row = b.createOrFold<arith::SubIOp>(last, first);
  Value distances = b.createOrFold<arith::AddIOp>(last, tile.numQueries);
  // What is loaded exists for the distances of the tile only.
  Pieces ofQueries = std::exchange(
      existingLanes,
      buildExistingLanes(b.createOrFold<arith::SubIOp>(distances, first)));
  Bound bound = invariant.at(dependence.getArguments().position).bound;
  current[dependence.getArguments().key] = LaneValue::uniform(
      b.createOrFold<arith::AddIOp>(tile.firstKey, row), bound);
  for (Operation &op : region.front().without_terminator())
    if (inTables.contains(&op))
      evaluate(&op, row);
  for (Value value : tabulated) {
    LaneValue lanes = get(value);
    Pieces pieces =
        lanes.isVarying() ? lanes.pieces : arithmetic.toVectors(lanes);
    if (value.getType().isInteger(1)) // In memory, vectors of i1 are bits.
      for (Value &piece : pieces)
        piece = b.create<arith::ExtUIOp>(b.getPieceType(b.getI8Type()), piece);
    Type element = cast<VectorType>(pieces.front().getType()).getElementType();
    int64_t rows = cast<ShapedType>(tile.scores.getType()).getDimSize(0);
    Value buffer =
        b.allocate(MemRefType::get({rows + 2 * b.getNumLanes()}, element));
    for (auto [number, piece] : llvm::enumerate(pieces))
      b.create<vector::StoreOp>(
          piece, buffer,
          b.createOrFold<arith::AddIOp>(
              first, b.index(int64_t(number) * b.getWidth())));
    tables[value] = {buffer, element, value.getType().isInteger(1),
                     lanes.bound};
  }
  current.clear();
  existingLanes = std::move(ofQueries);
}

void RegionVectorizer::buildTables() {
  if (tabulated.empty())
    return;
  Value last = b.createOrFold<arith::SubIOp>(tile.numKeys, b.index(1));
  Value end = b.createOrFold<arith::AddIOp>(last, b.index(b.getNumLanes()));
  b.loop(b.index(0), end, b.getNumLanes(),
         [&](Value first) { storeInTables(first); });
}

LaneValue RegionVectorizer::readTable(Value value, TileRow row) {
  const DistanceTable &table = tables.at(value);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    pieces.push_back(
        loadFromTable(table, row.first, piece * b.getWidth() - row.offset));
  return LaneValue::varying(value.getType(), std::move(pieces), table.bound);
}

/// The lanes of a piece, `offset` after the first of row `first`.
Value RegionVectorizer::loadFromTable(const DistanceTable &table, Value first,
                                      int64_t offset) {
  if (loadedFirst != first)
    loaded.clear();
  loadedFirst = first;
  Value &lanes = loaded[{table.buffer, offset}];
  if (lanes)
    return lanes;
  Value last = b.createOrFold<arith::SubIOp>(tile.numKeys, b.index(1));
  Value at = b.createOrFold<arith::AddIOp>(
      b.createOrFold<arith::SubIOp>(last, first), b.index(offset));
  VectorType vector = b.getPieceType(table.type);
  lanes = b.create<vector::LoadOp>(vector, table.buffer, at);
  if (table.isBoolean)
    lanes = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, lanes,
                                    b.integer(vector, 0));
  return lanes;
}
