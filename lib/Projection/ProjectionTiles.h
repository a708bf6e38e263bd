//===- ProjectionTiles.h - Tiles of a projection ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PROJECTION_PROJECTIONTILES_H
#define ATTN_PROJECTION_PROJECTIONTILES_H

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Plan/Plan.h"

#include <optional>
#include <vector>

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

/// An elementwise operation on a projection's result, as the sum of a residual
/// or what a gate is multiplied by, that is computed as the result is stored.
struct ProjectionEpilogue {
  linalg::GenericOp op;
  /// The operand that is the result of the projection.
  OpOperand *stored;
  /// Operands that are results of other projections of the same input and
  /// types, which are computed in the same tiles and never stored as a whole.
  SmallVector<OpOperand *, 1> others;

  /// The epilogue of which `projection` is the last projection, if nothing else
  /// needs its result, and each element is computed from the same element and
  /// other tensors by operations that have a form for vectors.
  static std::optional<ProjectionEpilogue> find(ProjectionOp projection);

  ProjectionOp getProjection(OpOperand *operand) const {
    return operand->get().getDefiningOp<ProjectionOp>();
  }
  /// Moves the projections to right before the operation.
  void moveProjections(RewriterBase &rewriter) const;
};

/// Rows of a projection's input as its tiles read them.
struct ProjectionRows {
  /// How many there are: all of them or none.
  OpFoldResult count;
  /// The most that there can be if all are in each tile; 0 if they are packed.
  int64_t most;
  /// Null: tiles pack their own.
  Value rows;
};

/// Rows of inputs that were prepared in a block, for operations after it there
/// that have the same `getForm`.
using PreparedRows = llvm::DenseMap<std::tuple<Block *, Value, unsigned>,
                                    SmallVector<ProjectionRows, 2>>;

/// Emits a projection on tensors as parallel tiles of contractions. A row is a
/// token: `row = b * S + s`.
class ProjectionTiles {
public:
  /// `op` has a plan. `epilogue`, if there is one, is computed instead of the
  /// result.
  ProjectionTiles(IndexBuilder &b, ProjectionOp op,
                  const ProjectionEpilogue *epilogue = nullptr);

  /// B * S.
  OpFoldResult getNumRows();
  /// Tells apart what multiplies pairs of bf16: any rows, many rows, or none,
  /// which f32 is multiplied of.
  unsigned getForm() const { return hasPairs ? 2 : makesPairs ? 1 : 0; }
  /// The rows of the input, packed unless there are few: `most` at most.
  ProjectionRows prepare(OpFoldResult count, int64_t most);
  /// Writes these rows' results into `outs`.
  SmallVector<Value> emit(const ProjectionRows &prepared, ValueRange outs);

private:
  /// What is computed at once: `numBlocks` blocks of columns of a result from
  /// `column` on, which the weight has from `first + column` on, for some rows.
  struct Tile {
    Value out;
    int64_t first;
    /// Of the result; 0 if it has no heads.
    int64_t headSize;
    OpFoldResult column;
    /// Columns of a block that are multiplied, and those that there are.
    int64_t numColumns, width;
    int64_t mostBlocks;
    OpFoldResult numBlocks;
    OpFoldResult row, numRows;
    /// Whether these are no more rows than a tile may have.
    bool isOneTile;
    /// In the part of `out` that is written, which begins at `offsets`.
    OpFoldResult firstColumn;
    SmallVector<OpFoldResult> offsets = {};
    /// What `others` have for these rows and columns.
    SmallVector<Value> otherTiles = {};
    /// How many columns further on the tile begins that comes next on a thread;
    /// null if none does.
    OpFoldResult nextTile = {};
  };
  /// A box of a tensor.
  struct Box {
    SmallVector<OpFoldResult> offsets, sizes;
  };

  OpFoldResult index(int64_t value) { return b.getIndexAttr(value); }
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> operands);
  OpFoldResult minimum(ArrayRef<AffineExpr> exprs,
                       ArrayRef<OpFoldResult> operands);
  /// Part `part` of a number of f32, of the type that is multiplied.
  Value emitPart(Value number, int64_t part);
  /// Elements of `source` at the indices `from`, converted to those of
  /// `destination`, or part `part` of them.
  Value convertElements(Value source, Value destination,
                        ArrayRef<AffineExpr> from,
                        std::optional<int64_t> part = std::nullopt);

  /// S.
  OpFoldResult getLength();
  /// From now on emits code for these rows, and first of all for the weights.
  void use(const ProjectionRows &prepared);
  /// From now on emits code for `count` rows, `most` at most, or 0 if they are
  /// packed.
  void setRows(OpFoldResult count, int64_t most);
  int64_t getRowsPerPack();
  int64_t getPacksPerTile();
  /// Runs through `count` rows from `first` on, which are those of any batch
  /// entry; `i` counts from 0.
  Value forRows(OpFoldResult count, Value initial,
                function_ref<Value(Value i, OpFoldResult batch,
                                   OpFoldResult row, Value carried)>
                    body,
                OpFoldResult first);
  /// Rows of the input, of the type that is multiplied or split, in a matrix of
  /// `capacity` rows.
  Value gatherRows(OpFoldResult first, OpFoldResult count, int64_t capacity);
  Value gatherBlock(OpFoldResult batch, OpFoldResult row, OpFoldResult count,
                    OpFoldResult to, Value rows);
  /// The same as a matrix of `count` rows, in the input if they lie there.
  Value getRows(OpFoldResult first, OpFoldResult count, int64_t capacity);
  /// All rows as a matrix: of bf16 where they are multiplied in pairs and have
  /// no parts, else of f32.
  Value getFewRows(int64_t capacity);
  bool packsInTiles();
  /// Sizes of `count` packs: (count, K, rows), or (count, K / 32, parts, rows,
  /// 32).
  SmallVector<OpFoldResult> getPackSizes(OpFoldResult count);
  /// The rows of pack `number` in the place of `to`.
  Value emitPack(Value number, Value to);
  /// All rows in packs.
  Value packRows();
  /// Those of tile `tile` of rows, at its beginning.
  Value keepPacksOfTile(OpFoldResult tile);
  /// From now on emits code for a tile that has these.
  void setPacksOfTile(Value packs);

  /// The weight's panels in pairs of bf16, computed in parallel; none if there
  /// are no rows.
  Value convertToPairs();
  /// Features, or in pairs tiles of them.
  int64_t getNumSteps();
  /// Those of a block: of blocks of about the same size, of at most `most`, the
  /// fewest.
  int64_t getStepsOfBlock(int64_t most);
  /// What a weight without panels has of a block, which begins at `column` of
  /// the tile, for `count` features from `at` on, as it lies: (count, n), or
  /// (n, count) of one that is transposed.
  Value getPart(const Tile &tile, OpFoldResult column, OpFoldResult at,
                int64_t count);
  /// The same side by side, as it is multiplied. Rows that are far apart are a
  /// page of memory each, and in few places of a cache.
  Value packPart(const Tile &tile, Value part, int64_t count);
  /// The weight's columns of such a block: (count, n). In pairs these are tiles
  /// of features: (count, 16, n, 2).
  Value getColumns(const Tile &tile, OpFoldResult column, OpFoldResult at,
                   int64_t count, bool few);
  /// Whether those are a part of the weight, and no copy.
  bool readsWeight(const Tile &tile, bool few);
  Value add(Value part, Value sums);
  /// Adds the products of the same features of all rows and such columns; if
  /// there are no other features, in the place of `sums`.
  Value multiplyFew(Value columns, OpFoldResult at, int64_t count, Value sums,
                    bool isOnly);
  /// Whether products of a block of features are summed by themselves.
  bool addsProducts(bool isFirst);
  /// The same of the rows of a pack; if it is the first of its blocks, in the
  /// place of `sums`. Sums of blocks are rounded less than one long sum.
  Value multiplyPack(OpFoldResult pack, OpFoldResult at, int64_t count,
                     Value columns, Value sums, bool isFirst);
  /// Scales sums of `count` rows, adds the bias, and stores them in the rows of
  /// a tile from `first` on, in the block that begins at `column`.
  Value storeRows(const Tile &tile, OpFoldResult column, Value sums,
                  OpFoldResult first, OpFoldResult count, Value outTile);
  Value storeBlock(const Tile &tile, OpFoldResult column, Value sums,
                   OpFoldResult first, OpFoldResult count, OpFoldResult batch,
                   OpFoldResult row, Value outTile);
  /// `count` rows from `row` on of a block of columns, of the dimensions of a
  /// result.
  Box getBlock(const Tile &tile, OpFoldResult column, OpFoldResult count,
               OpFoldResult batch, OpFoldResult row);
  /// The same in the part of the result that is written.
  Box getStoredBlock(const Tile &tile, OpFoldResult column, OpFoldResult count,
                     OpFoldResult batch, OpFoldResult row);
  /// What the epilogue reads of such a box of the result besides the result,
  /// with maps from rows and columns.
  void addOperands(const Tile &tile, const Box &inTile, const Box &inOut,
                   SmallVectorImpl<Value> &inputs,
                   SmallVectorImpl<AffineMap> &maps);
  /// Elements of the epilogue from those of the result and what it reads.
  Value emitEpilogue(Value result, ValueRange operands);
  /// Of a pack and a block of columns for `count` features from `at` on.
  struct Product {
    Value pack, block;   ///< Their numbers in the tile.
    OpFoldResult ofRows; ///< The pack's in `rows`.
    OpFoldResult at;
    int64_t count;
    bool isLast; ///< No features follow.
  };
  /// Has the product that follows, of few rows and a block of columns for
  /// `count` features from `at` on, read these as a stream, which goes on in
  /// the next block, or in the next features, or in the next tile.
  void fetchStream(const Tile &tile, Value block, OpFoldResult at,
                   int64_t count);
  /// Whether products of packs fetch: their operands are more than the
  /// first-level cache holds. Where no tiles multiply pairs, they do not.
  bool fetchesOperands(const Tile &tile, int64_t count);
  /// Has the product that follows fetch its share of what is read later from
  /// beyond the second level, as the columns stay in the first and packs in the
  /// second: the next columns, and the packs' next features.
  void fetchOperands(const Tile &tile, const Product &product);
  /// Has it fetch rows of a matrix of f32 or of the result that are written
  /// next, or stores would wait for them.
  void fetchForWrite(Value matrix);
  /// Has the product that follows fetch `numRows` rows.
  PrefetchOp spread(Value source, int64_t numRows);
  Value emitFewRows(const Tile &tile, int64_t mostRows, Value outTile);
  Value emitTile(const Tile &tile, Value outTile);
  /// A tile, or of the blocks of `others` and of this one each in turn, so that
  /// theirs stay in the first two levels of the caches.
  Value emitBlocks(const Tile &tile, int64_t fewRows, Value outTile);
  /// `body` for all features, `step` of them at a time.
  SmallVector<Value>
  forFeatures(int64_t step, ValueRange initial,
              function_ref<SmallVector<Value>(OpFoldResult at, int64_t count,
                                              ValueRange carried, bool isFirst,
                                              bool isLast)>
                  body);
  /// Whether all features of a panel go by before the next panel, since a
  /// tile's rows stay in the second-level cache. Otherwise a block of features
  /// of all panels goes by before the next block.
  bool keepsRowsOfTile();
  Box getBox(const Tile &tile);
  Value emitResult(Value out, int64_t first, int64_t fewRows);

  IndexBuilder &b;
  ProjectionOp op;
  PlanAttr plan;
  int64_t lanes;
  int64_t numFeatures;
  bool isOneBatch;
  const ProjectionEpilogue *epilogue;
  /// Those that the epilogue has.
  std::vector<ProjectionTiles> others;
  /// Whether the weight has the pairs that are multiplied, or is converted to
  /// them for many rows.
  bool hasPairs, makesPairs;
  /// Whether pairs of bf16 are multiplied; f32 otherwise.
  bool inPairs;
  Type multiplied;
  /// Parts of bf16 that an element of the input is the sum of.
  int64_t numParts;
  /// That are computed.
  OpFoldResult numRows;
  /// The weight, its pairs, or the matrix that is transposed to be the weight.
  Value weight;
  bool isTransposed = false;
  /// All rows, as they were prepared, or those of the tile.
  Value rows;
  bool hasPacksOfTile = false;
};

/// Replaces a projection by the parallel tiles that its plan says. Rows are
/// those that operations before it in the block have `prepared` of the same
/// input. An `epilogue`, before which its projections are, is replaced as well.
void tileProjection(RewriterBase &rewriter, ProjectionOp op,
                    PreparedRows &prepared,
                    const ProjectionEpilogue *epilogue = nullptr);

} // namespace mlir::attn

#endif // ATTN_PROJECTION_PROJECTIONTILES_H
