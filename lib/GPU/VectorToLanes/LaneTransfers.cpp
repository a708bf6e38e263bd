//===- LaneTransfers.cpp - Reads and writes of lanes ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/LaneTransfers.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/VectorToLanes/Conversions.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether nothing but what each of the warps that share a workgroup executes
/// uses memory, through views, too.
static bool isOfWarp(Value memory) {
  return llvm::all_of(memory.getUsers(), [](Operation *user) {
    for (auto loop = user->getParentOfType<scf::ForallOp>(); loop;
         loop = loop->getParentOfType<scf::ForallOp>())
      if (isLoopOfWarps(loop))
        return true;
    return isa<ViewLikeOpInterface>(user) && isOfWarp(user->getResult(0));
  });
}

template <typename Op>
LogicalResult attn::convertBuffer(Op op, LaneValues &lanes) {
  if (!isWorkgroup(op) || !op.getType().hasStaticShape() ||
      !op.getType().getLayout().isIdentity())
    return op.emitOpError("is not of workgroup memory");
  constexpr uint64_t kAlignment = 16;
  using enum WorkgroupMemory::Owner;
  op.replaceAllUsesWith(lanes.memory.allocate(
      op.getType(), lanes.isInWarp() || isOfWarp(op) ? Warp : Workgroup,
      int64_t(op.getAlignment().value_or(kAlignment)),
      op->hasAttr(kKeptMemoryAttr)));
  return success();
}

template LogicalResult attn::convertBuffer(memref::AllocOp, LaneValues &);
template LogicalResult attn::convertBuffer(memref::AllocaOp, LaneValues &);

/// How many rows there are, in dimension `dim` of memory; null if all of a tile
/// are for certain.
template <typename Transfer>
static Value findNumRows(IndexBuilder &b, Transfer op, int64_t dim) {
  if (op.isDimInBounds(0))
    return {};
  return b.createOrFold<memref::DimOp>(op.getBase(), dim);
}

/// Whether a row is there; null if it is for certain.
static Value exists(IndexBuilder &b, Value row, Value numRows) {
  return numRows ? b.isLess(row, numRows) : Value();
}

/// Emits code in a branch, or without one if there is no condition.
static void emitWhere(IndexBuilder &b, Value condition,
                      llvm::function_ref<void()> emit) {
  if (condition)
    b.when(condition, emit);
  else
    emit();
}

/// Indices with those of an element of the vector added to the last ones.
static SmallVector<Value> offset(IndexBuilder &b, ValueRange indices,
                                 ArrayRef<Value> more) {
  SmallVector<Value> result(indices);
  for (auto [i, value] : llvm::enumerate(more)) {
    Value &index = result[result.size() - more.size() + i];
    index = matchPattern(index, m_Zero()) ? value : b.add(index, value);
  }
  return result;
}

namespace {
/// Where the elements of a lane are along a dimension of a vector.
struct Axis {
  std::optional<unsigned> dim; ///< Of memory; none for a broadcast.
  SmallVector<Value> indices;  ///< Of elements that are there, or of the first.
  SmallVector<Value> areThere; ///< i1; empty if all are.
};
} // namespace

static Axis findAxis(vector::TransferReadOp read, unsigned vectorDim,
                     ArrayRef<Value> numbers, LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  auto dim =
      dyn_cast<AffineDimExpr>(read.getPermutationMap().getResult(vectorDim));
  if (!dim)
    return {};
  Axis axis;
  axis.dim = dim.getPosition();
  Value first = read.getIndices()[*axis.dim];
  bool isInBounds = read.isDimInBounds(vectorDim);
  Value size = isInBounds
                   ? Value()
                   : b.createOrFold<memref::DimOp>(read.getBase(), *axis.dim);
  for (Value number : numbers) {
    Value index = offset(b, first, number).front();
    if (!isInBounds) {
      axis.areThere.push_back(b.isLess(index, size));
      index = b.select(axis.areThere.back(), index, first);
    }
    axis.indices.push_back(index);
  }
  return axis;
}

/// Element by element, of memory with any strides. Where one is missing, the
/// first of the row or column is read, which exists, and not used.
static LogicalResult convertElementRead(vector::TransferReadOp read,
                                        LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  VectorType type = read.getVectorType();
  Layout layout = *lanes.getLayout(type);
  bool isFragment = layout == Layout::Fragment;
  SmallVector<Value> rowNumbers = lanes.rows(), columnNumbers = {b.index(0)};
  if (layout == Layout::Columns)
    rowNumbers = columnNumbers;
  if (layout != Layout::Rows)
    columnNumbers = lanes.columns(type.getDimSize(1));
  Axis rows = findAxis(read, 0, rowNumbers, lanes), columns;
  if (type.getRank() == 2)
    columns = findAxis(read, 1, columnNumbers, lanes);
  SmallVector<Value> results;
  for (int64_t i = 0, end = lanes.getNumElements(type); i < end; ++i) {
    int64_t row = isFragment ? lanes.getRow(i) : i % int64_t(rowNumbers.size());
    int64_t column =
        isFragment ? lanes.getColumn(i) : i % int64_t(columnNumbers.size());
    SmallVector<Value> indices(read.getIndices());
    Value isThere;
    for (auto [axis, number] :
         {std::pair(&rows, row), std::pair(&columns, column)}) {
      if (!axis->dim)
        continue;
      indices[*axis->dim] = axis->indices[number];
      if (axis->areThere.empty())
        continue;
      Value other = axis->areThere[number];
      isThere = isThere ? b.bitAnd(isThere, other) : other;
    }
    Value element = memref::LoadOp::create(b, read.getBase(), indices);
    if (isThere)
      element = b.select(isThere, element, read.getPadding());
    results.push_back(element);
  }
  lanes.set(read, std::move(results));
  return success();
}

/// How many columns of a row a lane accesses at once: as many as 16 bytes have,
/// if rows are of whole ones. A pair at least, which lanes have anyway, and
/// need not exchange.
static int64_t getChunkSize(MemRefType memory) {
  int64_t bytes = memory.getElementTypeBitWidth() / 8,
          size = memory.getShape().back(), chunk = 2;
  if (!llvm::is_contained({2, 4}, bytes) || ShapedType::isDynamic(size))
    return chunk;
  while (2 * chunk * bytes <= kChunkBytes && size % (2 * chunk) == 0)
    chunk *= 2;
  return chunk;
}

/// Emits accesses of rows in `memory`, once for rows that are aligned, with how
/// many columns are accessed at once then, and once for others, with 1.
static SmallVector<Value>
emitForChunks(LaneValues &lanes, Value memory, TypeRange results,
              llvm::function_ref<SmallVector<Value>(int64_t)> emit) {
  IndexBuilder &b = lanes.b;
  auto type = cast<MemRefType>(memory.getType());
  // Rows in workgroup memory follow one another.
  if (isWorkgroup(memory))
    return emit(type.getShape().back() % 2 == 0 ? 2 : 1);
  int64_t chunk = getChunkSize(type);
  auto branch = scf::IfOp::create(
      b, results,
      emitIsAligned(b, memory, chunk * type.getElementTypeBitWidth() / 8),
      /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, size] : {std::pair(branch.thenBlock(), chunk),
                             std::pair(branch.elseBlock(), int64_t(1))}) {
    b.setInsertionPointToStart(block);
    SmallVector<Value> values = emit(size);
    if (!values.empty())
      scf::YieldOp::create(b, values);
  }
  return SmallVector<Value>(branch.getResults());
}

/// What the lane whose number differs by `offset` has, of 16 or 32 bits.
static Value shuffle(IndexBuilder &b, Value value, int64_t offset) {
  Type type = value.getType();
  if (auto pair = dyn_cast<VectorType>(type);
      pair && pair.getElementTypeBitWidth() == 32) {
    SmallVector<Value> elements;
    for (int64_t i : {0, 1})
      elements.push_back(
          shuffle(b, vector::ExtractOp::create(b, value, i), offset));
    return vector::FromElementsOp::create(b, pair, elements);
  }
  bool isPair = isa<VectorType>(type);
  if (isPair)
    value = LLVM::BitcastOp::create(b, b.getI32Type(), value);
  value = gpu::ShuffleOp::create(b, value, int32_t(offset), kLanesOfWarp,
                                 gpu::ShuffleMode::XOR)
              .getShuffleResult();
  return isPair ? LLVM::BitcastOp::create(b, type, value) : value;
}

/// Exchanges pairs of one row between as many of the lanes that have it: pair
/// `i` of lane `t` becomes pair `t` of lane `i`. So lanes have neighbours,
/// which they access at once, instead of pairs in columns that are 8 apart, and
/// back.
static void exchangePairs(LaneValues &lanes, MutableArrayRef<Value> pairs) {
  IndexBuilder &b = lanes.b;
  for (size_t distance = 1; distance < pairs.size(); distance *= 2) {
    Value bit = b.bitAnd(lanes.index.lane, b.index(int64_t(distance)));
    Value isUpper = b.compare(arith::CmpIPredicate::ne, bit, 0);
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i & distance)
        continue;
      Value &low = pairs[i], &high = pairs[i + distance];
      Value sent = arith::SelectOp::create(b, isUpper, low, high);
      Value other = shuffle(b, sent, int64_t(distance));
      low = arith::SelectOp::create(b, isUpper, other, low);
      high = arith::SelectOp::create(b, isUpper, high, other);
    }
  }
}

namespace {
/// Columns of a row that a lane has at once: of `count` blocks of 8, which are
/// as many pairs of each of `count` lanes.
struct RowChunk {
  int64_t block; ///< The first one.
  int64_t count;
  Value column; ///< Where the lane's neighbours begin.
};
} // namespace

/// Cuts `blocks` of 8 columns into chunks of at most `size` columns.
static SmallVector<RowChunk> findChunks(LaneValues &lanes, int64_t blocks,
                                        int64_t size) {
  IndexBuilder &b = lanes.b;
  SmallVector<RowChunk> chunks;
  for (int64_t block = 0; block < blocks;) {
    int64_t count = std::max<int64_t>(size / 2, 1);
    while (block + count > blocks)
      count /= 2;
    // Lane t has block t % count, of which columns 2 * (t - t % count) begin.
    Value place = b.rem(lanes.index.lane, 4), own = b.rem(place, count);
    Value inBlock = b.mul(b.sub(place, own), 2);
    Value column = b.add(b.add(b.mul(own, 8), inBlock), 8 * block);
    chunks.push_back({block, count, column});
    block += count;
  }
  return chunks;
}

/// Loads neighbours: at once if there are several, else element by element.
/// LLVM would make one load of two that differ in nothing but alignment.
static SmallVector<Value> loadPairs(IndexBuilder &b, VectorType pair,
                                    Value memory, SmallVector<Value> indices,
                                    int64_t count, bool isAligned) {
  SmallVector<Value> pairs;
  Type element = pair.getElementType();
  if (!isAligned) {
    Value first = memref::LoadOp::create(b, memory, indices);
    indices.back() = b.add(indices.back(), 1);
    Value second = memref::LoadOp::create(b, memory, indices);
    return {vector::FromElementsOp::create(b, pair, ValueRange{first, second})};
  }
  unsigned bytes = unsigned(2 * count * element.getIntOrFloatBitWidth() / 8);
  Value chunk = vector::LoadOp::create(
      b, VectorType::get({2 * count}, element), memory, indices,
      /*nontemporal=*/false, llvm::MaybeAlign(bytes));
  for (int64_t i = 0; i < count; ++i)
    pairs.push_back(vector::ExtractStridedSliceOp::create(
        b, chunk, ArrayRef<int64_t>{2 * i}, ArrayRef<int64_t>{2},
        ArrayRef<int64_t>{1}));
  return pairs;
}

/// Whether a lane has elements of a matrix as pairs of neighbours in rows, or
/// gets them by a transpose.
static bool hasPairs(const LaneValues &lanes, VectorType type) {
  return !lanes.isTransposed || type.getElementTypeBitWidth() == 16;
}

/// The rows that a lane has such pairs of.
static SmallVector<Value> getRowsOfPairs(LaneValues &lanes) {
  if (lanes.isTransposed)
    return {lanes.index.rowOfFactor};
  return lanes.rows();
}

static bool isFirstFactor(vector::TransferReadOp read) {
  return llvm::all_of(read->getUses(), [](OpOperand &use) {
    return isa<vector::ContractionOp>(use.getOwner()) &&
           use.getOperandNumber() == 0;
  });
}

LogicalResult attn::convertToLanes(vector::TransferReadOp read,
                                   LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  VectorType type = read.getVectorType();
  auto memory = dyn_cast<MemRefType>(read.getBase().getType());
  if (!memory || read.getMask())
    return rejectForLanes(read);
  // Elements of i1 have a byte each.
  if (lanes.getLayout(type) != Layout::Fragment || !isSimple(read) ||
      !read.isDimInBounds(1) || !isZero(read.getIndices()) ||
      type.getElementType().isInteger(1) || !hasPairs(lanes, type))
    return convertElementRead(read, lanes);
  // Where a row is missing, another is read and not used.
  int64_t blocks = type.getDimSize(1) / 8, dim = memory.getRank() - 2;
  auto pair = VectorType::get({2}, type.getElementType());
  Value noPair = vector::FromElementsOp::create(
      b, pair, ValueRange{read.getPadding(), read.getPadding()});
  SmallVector<Value> numbers = getRowsOfPairs(lanes), areThere;
  for (Value &number : numbers) {
    areThere.push_back(exists(b, number, findNumRows(b, read, dim)));
    if (areThere.back())
      number = b.select(areThere.back(), number, 0);
  }
  SmallVector<Value> pairs = emitForChunks(
      lanes, read.getBase(),
      SmallVector<Type>(lanes.getNumElements(type) / 2, pair),
      [&](int64_t size) {
        SmallVector<Value> loaded;
        for (auto [number, isThere] : llvm::zip_equal(numbers, areThere))
          for (const RowChunk &chunk : findChunks(lanes, blocks, size)) {
            SmallVector<Value> own =
                loadPairs(b, pair, read.getBase(),
                          offset(b, read.getIndices(), {number, chunk.column}),
                          chunk.count, size > 1);
            // As pairs, which are one register each.
            if (isThere)
              for (Value &both : own)
                both = arith::SelectOp::create(b, isThere, both, noPair);
            exchangePairs(lanes, own);
            llvm::append_range(loaded, own);
          }
        return loaded;
      });
  if (lanes.isTransposed && isFirstFactor(read)) {
    lanes.factors[read] = std::move(pairs);
    return success();
  }
  if (lanes.isTransposed) {
    lanes.set(read, lanes.fromFactor(pairs));
    return success();
  }
  SmallVector<Value> results(lanes.getNumElements(type));
  for (auto [i, both] : llvm::enumerate(pairs)) {
    int64_t first = lanes.getPair(int64_t(i) / blocks, int64_t(i) % blocks);
    for (int64_t e : {0, 1})
      results[first + e] = vector::ExtractOp::create(b, both, e);
  }
  lanes.set(read, std::move(results));
  return success();
}

LogicalResult attn::convertToLanes(vector::GatherOp gather, LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  if (!isa<MemRefType>(gather.getBase().getType()))
    return rejectForLanes(gather);
  SmallVector<Value> results;
  for (auto [index, isThere, other] : llvm::zip_equal(
           lanes.get(gather.getIndices()), lanes.get(gather.getMask()),
           lanes.get(gather.getPassThru()))) {
    SmallVector<Value> indices =
        offset(b, gather.getOffsets(), b.toIndex(index));
    results.push_back(b.choose(
        isThere,
        [&]() -> Value {
          return memref::LoadOp::create(b, gather.getBase(), indices);
        },
        [&, other = other] { return other; }));
  }
  lanes.set(gather, std::move(results));
  return success();
}

/// Stores neighbours in a row, as far as that has so many columns.
static void storeExisting(IndexBuilder &b, ArrayRef<Value> elements,
                          Value memory, SmallVector<Value> indices,
                          int64_t numColumns) {
  for (Value element : elements) {
    b.when(b.isLess(indices.back(), numColumns),
           [&] { memref::StoreOp::create(b, element, memory, indices); });
    indices.back() = b.add(indices.back(), 1);
  }
}

/// The lane's pairs of `row` of a fragment.
static SmallVector<Value> getPairs(LaneValues &lanes, ArrayRef<Value> elements,
                                   int64_t row) {
  IndexBuilder &b = lanes.b;
  auto pair = VectorType::get({2}, elements.front().getType());
  SmallVector<Value> pairs;
  for (int64_t i = lanes.getPair(row, 0); i < int64_t(elements.size());
       i += 2 * lanes.laneRows)
    pairs.push_back(vector::FromElementsOp::create(
        b, pair, ValueRange{elements[i], elements[i + 1]}));
  return pairs;
}

/// Stores row `number`, of which the lane has `pairs`, up to `size` neighbours
/// at once. They are stored where the row is there, but exchanged by all lanes.
static void storeRow(LaneValues &lanes, SmallVector<Value> pairs, Value number,
                     Value memory, ValueRange indices, Value isThere,
                     int64_t size) {
  IndexBuilder &b = lanes.b;
  auto type = cast<MemRefType>(memory.getType());
  int64_t numColumns = type.getShape().back();
  int64_t blocks = std::min<int64_t>(numColumns / 8, pairs.size());
  SmallVector<RowChunk> chunks = findChunks(lanes, blocks, size);
  for (const RowChunk &chunk : chunks)
    exchangePairs(lanes,
                  MutableArrayRef(pairs).slice(chunk.block, chunk.count));
  emitWhere(b, isThere, [&] {
    for (const RowChunk &chunk : chunks) {
      Type element = type.getElementType();
      SmallVector<Value> own;
      for (Value both : ArrayRef(pairs).slice(chunk.block, chunk.count))
        for (int64_t e : {0, 1})
          own.push_back(vector::ExtractOp::create(b, both, e));
      llvm::MaybeAlign alignment;
      if (size > 1)
        alignment =
            llvm::Align(own.size() * element.getIntOrFloatBitWidth() / 8);
      vector::StoreOp::create(
          b,
          vector::FromElementsOp::create(
              b, VectorType::get({int64_t(own.size())}, element), own),
          memory, offset(b, indices, {number, chunk.column}),
          /*nontemporal=*/false, alignment);
    }
    if (8 * blocks < numColumns) {
      SmallVector<Value> last;
      for (int64_t e : {0, 1})
        last.push_back(vector::ExtractOp::create(b, pairs[size_t(blocks)], e));
      Value column = b.add(lanes.index.columnOfFactor, 8 * blocks);
      storeExisting(b, last, memory, offset(b, indices, {number, column}),
                    numColumns);
    }
  });
}

/// Stores a transposed fragment, of whose rows eight lanes have neighbours, of
/// 32 bytes of f32.
static void storeElements(LaneValues &lanes, ArrayRef<Value> elements,
                          Value memory, ValueRange indices, Value numRows) {
  IndexBuilder &b = lanes.b;
  int64_t numColumns = cast<MemRefType>(memory.getType()).getShape().back();
  SmallVector<Value> columns = lanes.columns(llvm::alignTo(numColumns, 8));
  for (auto [row, number] : llvm::enumerate(lanes.rows()))
    emitWhere(b, exists(b, number, numRows), [&, row = row, number = number] {
      for (auto [i, column] : llvm::enumerate(columns)) {
        Value element = elements[lanes.getElement(row, i)];
        SmallVector<Value> place = offset(b, indices, {number, column});
        if (8 * int64_t(i + 1) <= numColumns)
          memref::StoreOp::create(b, element, memory, place);
        else
          storeExisting(b, element, memory, place, numColumns);
      }
    });
}

void attn::emitFragmentStore(LaneValues &lanes, ArrayRef<Value> elements,
                             Value memory, ValueRange indices, Value numRows) {
  IndexBuilder &b = lanes.b;
  auto type = cast<MemRefType>(memory.getType());
  if (!hasPairs(lanes, VectorType::get({1}, type.getElementType())))
    return storeElements(lanes, elements, memory, indices, numRows);
  SmallVector<Value> factor, numbers = getRowsOfPairs(lanes), areThere;
  if (lanes.isTransposed)
    factor = lanes.toFactor(elements);
  for (Value number : numbers)
    areThere.push_back(exists(b, number, numRows));
  emitForChunks(lanes, memory, TypeRange(), [&](int64_t size) {
    for (size_t row = 0; row < numbers.size(); ++row)
      storeRow(lanes,
               lanes.isTransposed ? factor
                                  : getPairs(lanes, elements, int64_t(row)),
               numbers[row], memory, indices, areThere[row], size);
    return SmallVector<Value>();
  });
}

LogicalResult attn::convertToLanes(vector::TransferWriteOp write,
                                   LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  VectorType type = write.getVectorType();
  std::optional<Layout> layout = lanes.getLayout(type);
  if (!isSimple(write) || !layout || *layout == Layout::Columns ||
      !isZero(write.getIndices()))
    return rejectForLanes(write);
  auto memory = cast<MemRefType>(write.getBase().getType());
  bool isRows = *layout == Layout::Rows;
  if (isRows ? type.getRank() != 1 : memory.isDynamicDim(memory.getRank() - 1))
    return rejectForLanes(write);
  // All warps of a workgroup pass its barrier, whatever keys each has.
  if (isWorkgroup(write.getBase()) && lanes.isInWarp() &&
      !lanes.memory.isOfWarp(write.getBase()) &&
      !isa<gpu::LaunchOp>(write->getParentOp()))
    return rejectForLanes(write);
  SmallVector<Value> elements = lanes.get(write.getVector());
  // What the memory held before may still be read.
  if (isWorkgroup(write.getBase()))
    lanes.emitBarrier(write.getBase());
  Value numRows = findNumRows(b, write, memory.getRank() - type.getRank());
  if (!isRows) {
    emitFragmentStore(lanes, elements, write.getBase(), write.getIndices(),
                      numRows);
  } else {
    for (auto [element, number] : llvm::zip_equal(elements, lanes.rows())) {
      // One of the lanes that have the row.
      Value isOwn = lanes.index.isLeader;
      if (Value isThere = exists(b, number, numRows))
        isOwn = b.bitAnd(isThere, isOwn);
      emitWhere(b, isOwn, [&, element = element, number = number] {
        memref::StoreOp::create(b, element, write.getBase(),
                                offset(b, write.getIndices(), number));
      });
    }
  }
  if (isWorkgroup(write.getBase()))
    lanes.emitBarrier(write.getBase());
  return success();
}
