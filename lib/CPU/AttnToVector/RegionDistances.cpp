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

#include "lib/CPU/AttnToVector/RegionVectorization.h"

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
  if (isDivision(op))
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

/// Bits of the integers that tables of truths are. Rows are taken out of words
/// of 64, which have the first one's lanes after `kRowsInWord`, and those of
/// rows after it before them.
static constexpr int64_t kTableBits = 128, kWordBits = 64, kRowsInWord = 32;

bool RegionVectorizer::isInBits(Value value) {
  int64_t rows = cast<ShapedType>(tile.scores.getType()).getDimSize(0);
  int64_t lanes = b.getNumLanes();
  return value.getType().isInteger(1) && b.getTarget().getScalef() &&
         kRowsInWord + lanes <= kWordBits &&
         kRowsInWord + rows + lanes <= kTableBits;
}

bool RegionVectorizer::sharesPieces() const {
  return llvm::any_of(tables,
                      [](const auto &entry) { return entry.second.buffer; });
}

bool RegionVectorizer::readsBits() const {
  return llvm::any_of(tables,
                      [](const auto &entry) { return entry.second.bits; });
}

/// Row `numKeys - 1 - first` has, in lane i, the distance of the table's
/// element `first + i`. It need not be one of the tile, and before the first
/// key it is not.
SmallVector<Value> RegionVectorizer::addToTables(Value first, ValueRange bits) {
  Value last = b.subI(tile.numKeys, 1);
  Value row = b.subI(last, first);
  Value distances = b.addI(last, tile.numQueries);
  // What is loaded exists for the distances of the tile only.
  Pieces ofQueries = std::exchange(
      existingLanes, buildExistingLanes(b.subI(distances, first)));
  Bound bound = invariant.at(dependence.getArguments().position).bound;
  current[dependence.getArguments().key] =
      LaneValue::uniform(b.addI(tile.firstKey, row), bound);
  for (Operation &op : region.front().without_terminator())
    if (inTables.contains(&op))
      evaluate(&op, row);
  SmallVector<Value> results;
  for (Value value : tabulated) {
    LaneValue lanes = get(value);
    Pieces pieces =
        lanes.isVarying() ? lanes.pieces : arithmetic.toVectors(lanes);
    bool isBoolean = value.getType().isInteger(1);
    if (isInBits(value)) {
      results.push_back(addToBits(bits[results.size()], first, pieces));
      tables[value] = {Value(), Value(), value.getType(), isBoolean,
                       lanes.bound};
      continue;
    }
    if (isBoolean) // In memory, vectors of i1 are bits.
      for (Value &piece : pieces)
        piece = b.create<arith::ExtUIOp>(b.getPieceType(b.getI8Type()), piece);
    Type element = cast<VectorType>(pieces.front().getType()).getElementType();
    tables[value] = {storeInBuffer(first, pieces), Value(), element, isBoolean,
                     lanes.bound};
  }
  current.clear();
  existingLanes = std::move(ofQueries);
  return results;
}

/// `bits` with those of pieces from distance `first` on.
Value RegionVectorizer::addToBits(Value bits, Value first,
                                  ArrayRef<Value> pieces) {
  Type wide = b.getIntegerType(kTableBits);
  Type narrow = b.getIntegerType(unsigned(b.getWidth()));
  Value shift = b.create<arith::IndexCastUIOp>(wide, first);
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    Value word = b.create<vector::BitCastOp>(VectorType::get(1, narrow), piece);
    word = b.create<vector::ExtractOp>(word, int64_t(0));
    word = b.create<arith::ExtUIOp>(wide, word);
    Value places = b.addI(
        shift, b.integer(wide, kRowsInWord + int64_t(number) * b.getWidth()));
    word = b.create<arith::ShLIOp>(word, places);
    bits = b.create<arith::OrIOp>(bits, word);
  }
  return bits;
}

/// Stores pieces from element `first` on, and gives the buffer.
Value RegionVectorizer::storeInBuffer(Value first, ArrayRef<Value> pieces) {
  Type element = cast<VectorType>(pieces.front().getType()).getElementType();
  int64_t rows = cast<ShapedType>(tile.scores.getType()).getDimSize(0);
  Value buffer =
      b.allocate(MemRefType::get({rows + 2 * b.getNumLanes()}, element));
  for (auto [number, piece] : llvm::enumerate(pieces))
    b.create<vector::StoreOp>(piece, buffer,
                              b.addI(first, int64_t(number) * b.getWidth()));
  return buffer;
}

void RegionVectorizer::buildTables() {
  if (tabulated.empty())
    return;
  Value last = b.subI(tile.numKeys, 1);
  Value end = b.addI(last, b.getNumLanes());
  auto inBits = llvm::to_vector(llvm::make_filter_range(
      tabulated, [&](Value value) { return isInBits(value); }));
  SmallVector<Value> none(inBits.size(),
                          b.integer(b.getIntegerType(kTableBits), 0));
  SmallVector<Value> bits =
      b.loop(0, end, b.getNumLanes(), none, [&](Value first, ValueRange bits) {
        return addToTables(first, bits);
      });
  for (auto [value, word] : llvm::zip_equal(inBits, bits))
    tables[value].bits = word;
}

LaneValue RegionVectorizer::readTable(Value value, TileRow row) {
  const DistanceTable &table = tables.at(value);
  if (table.bits)
    return LaneValue::varying(value.getType(), readBits(table.bits, row),
                              table.bound);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    pieces.push_back(
        loadFromTable(table, row.first, piece * b.getWidth() - row.offset));
  return LaneValue::varying(value.getType(), std::move(pieces), table.bound);
}

/// Those of a row's lanes, as vectors.
Pieces RegionVectorizer::readBits(Value bits, TileRow row) {
  if (loadedFirst != row.first)
    loaded.clear();
  loadedFirst = row.first;
  Type wordType = b.getIntegerType(kWordBits);
  int64_t inWord = row.offset % kRowsInWord;
  Value &word = loaded[{bits, row.offset - inWord}];
  if (!word) {
    Value last = b.subI(tile.numKeys, 1);
    Value at = b.addI(b.subI(last, row.first), inWord - row.offset);
    word = b.create<arith::ShRUIOp>(
        bits, b.create<arith::IndexCastUIOp>(bits.getType(), at));
    word = b.create<arith::TruncIOp>(wordType, word);
  }
  Value lanes =
      b.create<arith::ShRUIOp>(word, b.integer(wordType, kRowsInWord - inWord));
  Type narrow = b.getIntegerType(unsigned(b.getNumLanes()));
  lanes = b.create<arith::TruncIOp>(narrow, lanes);
  lanes = b.create<vector::BroadcastOp>(VectorType::get(1, narrow), lanes);
  lanes = b.create<vector::BitCastOp>(
      VectorType::get(b.getNumLanes(), b.getI1Type()), lanes);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    pieces.push_back(b.create<vector::ExtractStridedSliceOp>(
        lanes, ArrayRef<int64_t>{piece * b.getWidth()},
        ArrayRef<int64_t>{b.getWidth()}, ArrayRef<int64_t>{1}));
  return pieces;
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
  Value last = b.subI(tile.numKeys, 1);
  Value at = b.addI(b.subI(last, first), offset);
  VectorType vector = b.getPieceType(table.type);
  lanes = b.create<vector::LoadOp>(vector, table.buffer, at);
  if (table.isBoolean)
    lanes = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, lanes,
                                    b.integer(vector, 0));
  return lanes;
}
