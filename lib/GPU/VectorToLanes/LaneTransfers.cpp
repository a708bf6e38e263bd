//===- LaneTransfers.cpp - Reads and writes of lanes ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/LaneTransfers.h"
#include "lib/GPU/VectorToLanes/Conversions.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::convertAlloca(memref::AllocaOp op, LaneValues &lanes) {
  if (!isWorkgroup(op) || !op.getType().hasStaticShape() ||
      !op.getType().getLayout().isIdentity())
    return op.emitOpError("is not of workgroup memory");
  op.replaceAllUsesWith(lanes.memory.allocate(op.getType()));
  return success();
}

/// Whether each of the two rows is in memory; null if it is for certain.
template <typename Transfer>
static Value exists(IndexBuilder &b, Transfer op, int64_t dim, Value row) {
  if (op.isDimInBounds(0))
    return {};
  return b.isLess(row, b.createOrFold<memref::DimOp>(op.getBase(), dim));
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
  SmallVector<Value> rowNumbers = {lanes.row(0), lanes.row(1)},
                     columnNumbers = {b.index(0)};
  if (layout == Layout::Columns)
    rowNumbers = columnNumbers;
  if (layout != Layout::Rows)
    columnNumbers = lanes.columns(type.getDimSize(1));
  Axis rows = findAxis(read, 0, rowNumbers, lanes), columns;
  if (type.getRank() == 2)
    columns = findAxis(read, 1, columnNumbers, lanes);
  SmallVector<Value> results;
  for (int64_t i = 0, end = lanes.getNumElements(type); i < end; ++i) {
    int64_t row = isFragment ? i / 2 % 2 : i % int64_t(rowNumbers.size());
    int64_t column =
        isFragment ? i / 4 * 2 + i % 2 : i % int64_t(columnNumbers.size());
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

/// Emits accesses of pairs of neighbours in `memory`, once for pairs that are
/// aligned, which are one access each then, and once for others.
static SmallVector<Value>
emitForPairs(LaneValues &lanes, Value memory, TypeRange results,
             llvm::function_ref<SmallVector<Value>(llvm::MaybeAlign)> emit) {
  IndexBuilder &b = lanes.b;
  auto type = cast<MemRefType>(memory.getType());
  uint64_t bytes = type.getElementTypeBitWidth() / 4;
  // Rows in workgroup memory are of even numbers of elements.
  if (isWorkgroup(memory))
    return emit(llvm::Align(bytes));
  auto branch =
      scf::IfOp::create(b, results, emitIsAligned(b, memory, int64_t(bytes)),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, alignment] :
       {std::pair(branch.thenBlock(), llvm::MaybeAlign(bytes)),
        std::pair(branch.elseBlock(), llvm::MaybeAlign())}) {
    b.setInsertionPointToStart(block);
    SmallVector<Value> values = emit(alignment);
    if (!values.empty())
      scf::YieldOp::create(b, values);
  }
  return SmallVector<Value>(branch.getResults());
}

/// Loads a pair: at once if it is aligned, else element by element. LLVM would
/// make one load of two that differ in nothing but alignment.
static Value loadPair(IndexBuilder &b, VectorType type, Value memory,
                      SmallVector<Value> indices, llvm::MaybeAlign alignment) {
  if (alignment)
    return vector::LoadOp::create(b, type, memory, indices,
                                  /*nontemporal=*/false, alignment);
  Value first = memref::LoadOp::create(b, memory, indices);
  indices.back() = b.add(indices.back(), 1);
  Value second = memref::LoadOp::create(b, memory, indices);
  return vector::FromElementsOp::create(b, type, ValueRange{first, second});
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
      type.getElementType().isInteger(1))
    return convertElementRead(read, lanes);
  // In pairs. Where a row is missing, another is read and not used.
  int64_t count = type.getDimSize(1) / 8, dim = memory.getRank() - 2;
  auto pair = VectorType::get({2}, type.getElementType());
  Value numbers[2], areThere[2];
  for (int64_t half : {0, 1}) {
    numbers[half] = lanes.row(half);
    areThere[half] = exists(b, read, dim, numbers[half]);
    if (areThere[half])
      numbers[half] = b.select(areThere[half], numbers[half], 0);
  }
  SmallVector<Value> pairs = emitForPairs(
      lanes, read.getBase(), SmallVector<Type>(2 * count, pair),
      [&](llvm::MaybeAlign alignment) {
        SmallVector<Value> loaded;
        for (Value number : numbers)
          for (int64_t n = 0; n < count; ++n) {
            Value column = b.add(lanes.index.firstColumn, 8 * n);
            loaded.push_back(loadPair(
                b, pair, read.getBase(),
                offset(b, read.getIndices(), {number, column}), alignment));
          }
        return loaded;
      });
  SmallVector<Value> results(lanes.getNumElements(type));
  for (auto [i, both] : llvm::enumerate(pairs)) {
    int64_t half = int64_t(i) / count, n = int64_t(i) % count;
    // As a pair, which is one register.
    if (areThere[half])
      both = b.select(
          areThere[half], both,
          Value(vector::FromElementsOp::create(
              b, pair, ValueRange{read.getPadding(), read.getPadding()})));
    for (int64_t e : {0, 1})
      results[(2 * n + half) * 2 + e] = vector::ExtractOp::create(b, both, e);
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

/// Stores pairs of half the rows of a fragment.
static void storePairs(LaneValues &lanes, ArrayRef<Value> elements,
                       int64_t half, Value memory, ValueRange indices,
                       llvm::MaybeAlign alignment) {
  IndexBuilder &b = lanes.b;
  auto pair = VectorType::get({2}, elements.front().getType());
  Value row = lanes.row(half);
  int64_t numColumns = cast<MemRefType>(memory.getType()).getShape().back();
  for (int64_t first = half * 2; first < int64_t(elements.size()); first += 4) {
    int64_t block = 2 * (first - half * 2);
    if (block >= numColumns)
      return;
    Value column = b.add(lanes.index.firstColumn, block);
    if (block + 8 > numColumns) {
      storeExisting(b, elements.slice(first, 2), memory,
                    offset(b, indices, {row, column}), numColumns);
      return;
    }
    Value both = vector::FromElementsOp::create(
        b, pair, ValueRange{elements[first], elements[first + 1]});
    vector::StoreOp::create(b, both, memory, offset(b, indices, {row, column}),
                            /*nontemporal=*/false, alignment);
  }
}

void attn::emitFragmentStore(LaneValues &lanes, ArrayRef<Value> elements,
                             Value memory, ValueRange indices,
                             std::array<Value, 2> areThere) {
  emitForPairs(lanes, memory, TypeRange(), [&](llvm::MaybeAlign alignment) {
    for (int64_t half : {0, 1})
      emitWhere(lanes.b, areThere[half], [&] {
        storePairs(lanes, elements, half, memory, indices, alignment);
      });
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
  SmallVector<Value> elements = lanes.get(write.getVector());
  // What the memory held before may still be read.
  if (isWorkgroup(write.getBase()))
    gpu::BarrierOp::create(b);
  std::array<Value, 2> numbers = {lanes.row(0), lanes.row(1)}, areThere;
  for (auto [number, isThere] : llvm::zip_equal(numbers, areThere))
    isThere = exists(b, write, memory.getRank() - type.getRank(), number);
  if (!isRows) {
    emitFragmentStore(lanes, elements, write.getBase(), write.getIndices(),
                      areThere);
  } else {
    for (int64_t half : {0, 1}) {
      // One of the four lanes that have the row.
      Value isOwn = lanes.index.isLeader;
      if (areThere[half])
        isOwn = b.bitAnd(areThere[half], isOwn);
      emitWhere(b, isOwn, [&] {
        memref::StoreOp::create(b, elements[half], write.getBase(),
                                offset(b, write.getIndices(), numbers[half]));
      });
    }
  }
  if (isWorkgroup(write.getBase()))
    gpu::BarrierOp::create(b);
  return success();
}
