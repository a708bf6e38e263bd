//===- RegionVectorization.h - Regions over the lanes of a tile -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_REGIONVECTORIZATION_H
#define ATTN_CPU_ATTNTOVECTOR_REGIONVECTORIZATION_H

#include "lib/CPU/AttnToVector/CapturedTiles.h"
#include "lib/CPU/AttnToVector/LaneValue.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::attn {

/// Row `first + offset` of a tile.
struct TileRow {
  Value first;
  int64_t offset = 0;
};

/// Evaluates a score or mask region for all queries of a tile at once, key by
/// key. Every value in it must have a result at every position of the tile that
/// exists, and the region must have no obstacle.
///
/// What depends on the distance of query and key is the same along each
/// diagonal of the tile. If it is worth it, it is computed once for each
/// distance, into a table in which the lanes of a row are consecutive. Truths
/// are bits of an integer where vectors of them are masks in registers: what is
/// stored would be loaded before it has left the processor, at other places
/// than it was stored at, and would wait for all stores before it.
class RegionVectorizer {
public:
  RegionVectorizer(Region &region, const RegionDependence &dependence,
                   const ScoreTile &tile, ValueRange captures,
                   LaneArithmetic &arithmetic, LaneBuilder &b);

  /// A score region that is factor * tanh(inner * score), and no more.
  struct Cap {
    double inner, factor;
  };
  std::optional<Cap> getCap() const;
  /// Builds what is the same in all rows, before the loop over them.
  void prepare();
  /// Builds a mask region for a row.
  Pieces evaluateMask(TileRow row);
  /// Builds a score region for a row.
  Pieces evaluateScore(TileRow row, ArrayRef<Value> scores);
  /// Whether rows that are a piece's lanes apart share most of what they load,
  /// if they have the same `first`, in one basic block.
  bool sharesPieces() const;
  /// Whether rows that follow each other share what they take masks out of.
  bool readsBits() const;

private:
  LaneValue get(Value value) const;
  bool isOnRow(Operation &op) const;
  void evaluateRow(TileRow row);
  void evaluate(Operation *op, Value row);
  /// Finds a tanh that is only multiplied by constants to give the score.
  void findScaledTanh();

  void evaluateUniform(Operation *op);
  LaneValue evaluateLoad(memref::LoadOp load, Value row);
  LaneValue loadContiguous(memref::LoadOp load);
  LaneValue gather(memref::LoadOp load);
  LaneValue readTile(memref::LoadOp load, Value buffer, ValueRange row);
  Pieces getExistingLanes();
  Pieces buildExistingLanes(Value count);

  /// A value in a table by distance: of row r and lane i, at
  /// `numKeys - 1 - r + i`.
  struct DistanceTable {
    Value buffer; ///< Null if it is in `bits`.
    Value bits;
    Type type;
    bool isBoolean;
    Bound bound;
  };
  /// Finds the values to keep in tables, and what rows evaluate besides.
  void findTables();
  void buildTables();
  /// Adds the lanes from a distance on to the tables, and gives those in bits.
  SmallVector<Value> addToTables(Value first, ValueRange bits);
  bool isInBits(Value value);
  Value addToBits(Value bits, Value first, ArrayRef<Value> pieces);
  Value storeInBuffer(Value first, ArrayRef<Value> pieces);
  LaneValue readTable(Value value, TileRow row);
  Pieces readBits(Value bits, TileRow row);
  Value loadFromTable(const DistanceTable &table, Value first, int64_t offset);

  /// These fail if the op is not of their kind.
  FailureOr<LaneValue> evaluateAffine(Operation *op);
  FailureOr<LaneValue> evaluateNarrow(Operation *op);
  FailureOr<LaneValue> evaluateNear(Operation *op);
  FailureOr<LaneValue> evaluateCast(Operation *op);
  FailureOr<LaneValue> evaluateFunction(Operation *op);
  /// A division by what is the same everywhere, as products; only if no use of
  /// the quotient jumps where it is rounded differently.
  void buildReciprocals();
  FailureOr<LaneValue> evaluateDivision(Operation *op);
  static bool isDivisionByVariable(Operation *op);
  /// Divisors that are 1 in lanes without a query, which divide too.
  Pieces replaceMissing(const Pieces &divisors, Type elementType);
  /// Quotients or remainders of i32.
  Pieces divideWords(Operation *op, const Pieces &dividends,
                     const Pieces &divisors, bool isSigned);
  /// And of any other integers.
  Pieces divideElements(Operation *op, const Pieces &dividends,
                        const Pieces &divisors, Type elementType);
  LaneValue evaluateElementwise(Operation *op);

  Pieces buildPieces(Operation *op, ArrayRef<Pieces> operands,
                     Type elementType);
  static std::optional<arith::CmpIPredicate> getPredicate(Operation *op);
  /// The bound of an integer that the op computes, unknown if it may wrap.
  Bound getBound(Operation *op);
  Bound getUnwrappedBound(Operation *op);

  Region &region;
  const RegionDependence &dependence;
  ScoreTile tile;
  LaneArithmetic &arithmetic;
  LaneBuilder &b;
  CapturedTiles tiles;
  DenseMap<Value, LaneValue> invariant, current;
  DenseMap<Operation *, Value> buffers;
  Pieces existingLanes;
  /// In the order of the region; `inTables` are the ops that they are made of.
  SmallVector<Value> tabulated;
  DenseMap<Value, DistanceTable> tables;
  /// Lanes of a table's buffer, or a word of its bits, from an offset on, for
  /// rows of `loadedFirst`.
  DenseMap<std::pair<Value, int64_t>, Value> loaded;
  Value loadedFirst;
  SmallPtrSet<Operation *, 8> inTables, inRows;
  /// Factors that products are quotients of a division with.
  DenseMap<Operation *, std::pair<Value, Value>> reciprocals;
  /// That tanh and its factor, which are built together. Null if none.
  math::TanhOp scaledTanh;
  double tanhFactor = 1;
  /// The tanh and the products.
  SmallPtrSet<Operation *, 2> deferred;
};

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_REGIONVECTORIZATION_H
