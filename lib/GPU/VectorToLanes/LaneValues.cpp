//===- LaneValues.cpp - Scalars of a lane for vectors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/LaneValues.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

/// How many warps share a workgroup, each with keys of its own.
static int64_t getNumShares(gpu::LaunchOp launch) {
  APInt shares;
  return matchPattern(launch.getBlockSizeOperandValues().y,
                      m_ConstantInt(&shares))
             ? shares.getSExtValue()
             : 1;
}

/// Emits the number of this warp among those. It comes from its first lane, so
/// that ptxas knows that it is the same in all of them, as are branches that
/// depend on it: else it has them meet again behind each. A bound says how many
/// bits it has.
static Value emitShare(IndexBuilder &b, gpu::LaunchOp launch) {
  Value own =
      arith::IndexCastOp::create(b, b.getI32Type(), launch.getThreadIds().y);
  Value ofFirst =
      gpu::ShuffleOp::create(b, own, 0, kLanesOfWarp, gpu::ShuffleMode::IDX)
          .getShuffleResult();
  return b.emit<arith::MinUIOp>(b.toIndex(ofFirst), getNumShares(launch) - 1);
}

/// Emits the index of this lane at the start of a launch.
static LaneIndex emitLaneIndex(IndexBuilder &b, gpu::LaunchOp launch,
                               int64_t warpRows, bool isTransposed) {
  LaneIndex result;
  result.thread = launch.getThreadIds().x;
  if (getNumShares(launch) > 1)
    result.share = emitShare(b, launch);
  result.lane = b.rem(result.thread, kLanesOfWarp);
  Value warp = b.div(result.thread, kLanesOfWarp),
        group = b.div(result.lane, 4), place = b.rem(result.lane, 4);
  Value ofWarp = b.mul(warp, warpRows);
  result.rowOfFactor = b.add(ofWarp, group);
  result.columnOfFactor = b.mul(place, 2);
  result.firstRow =
      isTransposed ? b.add(ofWarp, result.columnOfFactor) : result.rowOfFactor;
  result.firstColumn = isTransposed ? group : result.columnOfFactor;
  result.isLeader = b.isEqual(isTransposed ? group : place, 0);
  return result;
}

Value WorkgroupMemory::allocate(MemRefType type, Owner owner, int64_t alignment,
                                bool isKept) {
  OpBuilder builder(launch);
  builder.setInsertionPointToStart(&launch.getBody().front());
  ImplicitLocOpBuilder b(launch.getLoc(), builder);
  if (!base)
    base = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                           MemRefLayoutAttrInterface{}, type.getMemorySpace()));
  b.setInsertionPointAfterValue(base);
  Value offset = arith::ConstantIndexOp::create(b, 0);
  auto view = memref::ViewOp::create(b, type, base, offset, ValueRange{});
  buffers.push_back({view, owner, alignment, isKept});
  return view;
}

bool WorkgroupMemory::isOfWarp(Value memory) const {
  while (memory) {
    for (Buffer buffer : buffers)
      if (buffer.view.getResult() == memory)
        return buffer.owner == Owner::Warp;
    auto view = memory.getDefiningOp<ViewLikeOpInterface>();
    memory = view ? view.getViewSource() : Value();
  }
  return false;
}

namespace {
/// Where a buffer is, and which operations of a block use it.
struct PlacedBuffer {
  memref::ViewOp view;
  int64_t alignment; ///< Bytes.
  bool isKept;
  SmallVector<Operation *> users; ///< Not views.
  int64_t begin = 0, end = 0;     ///< Bytes.
  Operation *first = nullptr, *last = nullptr;

  bool isUsedBeside(const PlacedBuffer &other) const {
    if (isKept || other.isKept)
      return true;
    return !last->isBeforeInBlock(other.first) &&
           !other.last->isBeforeInBlock(first);
  }
};
} // namespace

static void findUsers(Value memory, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : memory.getUsers())
    if (isa<ViewLikeOpInterface>(user))
      findUsers(user->getResult(0), users);
    else
      users.push_back(user);
}

/// The block in which the uses of buffers are told apart: that of the launch,
/// or of a branch that has all of them.
static Block *findCommonBlock(gpu::LaunchOp launch,
                              ArrayRef<PlacedBuffer> buffers) {
  Block *block = &launch.getBody().front();
  while (true) {
    llvm::SmallPtrSet<Block *, 2> inner;
    for (const PlacedBuffer &buffer : buffers)
      for (Operation *user : buffer.users) {
        Operation *parent = block->findAncestorOpInBlock(*user);
        inner.insert(
            isa<scf::IfOp>(parent)
                ? parent->getRegion(0).isAncestor(user->getParentRegion())
                      ? &parent->getRegion(0).front()
                      : &parent->getRegion(1).front()
                : block);
      }
    if (inner.size() != 1 || *inner.begin() == block)
      return block;
    block = *inner.begin();
  }
}

/// Each buffer at the lowest place that is free for as long as it is used.
static int64_t placeBuffers(MutableArrayRef<PlacedBuffer> buffers,
                            Block *block) {
  for (PlacedBuffer &buffer : buffers)
    for (Operation *user : buffer.users) {
      Operation *op = block->findAncestorOpInBlock(*user);
      if (!buffer.first || op->isBeforeInBlock(buffer.first))
        buffer.first = op;
      if (!buffer.last || buffer.last->isBeforeInBlock(op))
        buffer.last = op;
    }
  int64_t size = 0;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    MemRefType type = buffer.view.getType();
    int64_t bytes = llvm::alignTo(
        type.getNumElements() * type.getElementTypeBitWidth() / 8, 16);
    SmallVector<PlacedBuffer> beside;
    llvm::copy_if(
        buffers.take_front(i), std::back_inserter(beside),
        [&](const PlacedBuffer &other) { return other.isUsedBeside(buffer); });
    llvm::sort(beside, [](const PlacedBuffer &x, const PlacedBuffer &y) {
      return x.begin < y.begin;
    });
    for (const PlacedBuffer &other : beside)
      if (other.begin < buffer.begin + bytes)
        buffer.begin = std::max<int64_t>(
            buffer.begin, llvm::alignTo(other.end, buffer.alignment));
    buffer.end = buffer.begin + bytes;
    size = std::max(size, buffer.end);
  }
  return size;
}

/// Whether nothing was read or written in the block since threads waited for
/// each other. Operations on vectors have been converted.
template <typename Barrier>
static bool followsBarrier(Block &block, Block::iterator place) {
  while (place != block.begin()) {
    Operation *op = &*--place;
    if (isa<Barrier>(op))
      return true;
    bool isConverted = hasVectors(op) && !isa<nvgpu::LdMatrixOp>(op);
    if (!isConverted && !isPure(op))
      return false;
  }
  return false;
}

/// Whether all uses of buffers of warps are in front of a barrier of all, and
/// all of others behind it.
static bool areUsedBefore(ArrayRef<PlacedBuffer> buffers,
                          ArrayRef<PlacedBuffer> others, Block &body) {
  auto isKept = [](const PlacedBuffer &buffer) { return buffer.isKept; };
  if (llvm::any_of(buffers, isKept) || llvm::any_of(others, isKept))
    return false;
  auto find = [&](ArrayRef<PlacedBuffer> of, bool isLast) {
    Operation *found = nullptr;
    for (const PlacedBuffer &buffer : of)
      for (Operation *user : buffer.users) {
        Operation *op = body.findAncestorOpInBlock(*user);
        if (!found || found->isBeforeInBlock(op) == isLast)
          found = op;
      }
    return found;
  };
  Operation *first = find(others, /*isLast=*/false);
  return find(buffers, /*isLast=*/true)->isBeforeInBlock(first) &&
         followsBarrier<gpu::BarrierOp>(body, first->getIterator());
}

/// What all buffers begin at a multiple of.
static int64_t getAlignment(ArrayRef<PlacedBuffer> buffers) {
  int64_t alignment = 1;
  for (const PlacedBuffer &buffer : buffers)
    alignment = std::max(alignment, buffer.alignment);
  return alignment;
}

LogicalResult WorkgroupMemory::setSize() {
  /// What a workgroup may have at most, on sm_90.
  constexpr int64_t kMostBytes = 227 << 10;
  SmallVector<PlacedBuffer> ofWarps, ofAll;
  for (auto [view, owner, alignment, isKept] : buffers) {
    PlacedBuffer placed = {view, alignment, isKept, {}};
    findUsers(view, placed.users);
    if (!placed.users.empty())
      (owner == Owner::Warp ? ofWarps : ofAll).push_back(std::move(placed));
  }
  auto place = [&](MutableArrayRef<PlacedBuffer> placed) {
    return placed.empty()
               ? 0
               : placeBuffers(placed, findCommonBlock(launch, placed));
  };
  int64_t sizeOfWarp = llvm::alignTo(place(ofWarps), getAlignment(ofWarps)),
          size = place(ofAll), first = 0;
  if (!ofWarps.empty()) {
    int64_t all = getNumShares(launch) * sizeOfWarp;
    if (!ofAll.empty() &&
        !areUsedBefore(ofWarps, ofAll, launch.getBody().front()))
      first = llvm::alignTo(all, getAlignment(ofAll));
    size = std::max(first + size, all);
  }
  if (size == 0)
    return success();
  if (size > kMostBytes)
    return emitError(launch.getLoc())
           << "needs " << size << " bytes of workgroup memory, of which GPUs "
           << "have at most " << kMostBytes
           << ": heads of fewer elements need less";
  OpBuilder builder(launch);
  IndexBuilder b(launch.getLoc(), builder);
  for (PlacedBuffer &buffer : ofAll) {
    b.setInsertionPoint(buffer.view);
    buffer.view.getByteShiftMutable().assign(b.index(first + buffer.begin));
  }
  if (!ofWarps.empty()) {
    b.setInsertionPointAfterValue(base);
    Value begin = b.mul(emitShare(b, launch), sizeOfWarp);
    auto type = MemRefType::get(
        {sizeOfWarp}, b.getI8Type(), MemRefLayoutAttrInterface{},
        cast<MemRefType>(base.getType()).getMemorySpace());
    // Apart from where a buffer begins in it, which is a constant of addresses.
    Value own = memref::ViewOp::create(b, type, base, begin, ValueRange());
    for (PlacedBuffer &buffer : ofWarps) {
      b.setInsertionPoint(buffer.view);
      buffer.view.getSourceMutable().assign(own);
      buffer.view.getByteShiftMutable().assign(b.index(buffer.begin));
    }
  }
  b.setInsertionPoint(launch);
  launch.getDynamicSharedMemorySizeMutable().assign(
      arith::ConstantIntOp::create(b, b.getI32Type(), size));
  return success();
}

LaneValues::LaneValues(gpu::LaunchOp launch, OpBuilder &builder,
                       int64_t numThreads, int64_t warpRows, bool isTransposed)
    : b(launch.getLoc(), builder), numThreads(numThreads), warpRows(warpRows),
      laneRows(isTransposed ? 2 : warpRows / 8),
      numRows(numThreads / kLanesOfWarp * warpRows), isTransposed(isTransposed),
      memory(launch), numShares(::getNumShares(launch)) {
  b.setInsertionPointToStart(&launch.getBody().front());
  index = emitLaneIndex(b, launch, warpRows, isTransposed);
}

LaneValues::Threads LaneValues::getThreads() {
  if (inWarp || numShares == 1)
    return {index.thread, numThreads};
  return {b.add(b.mul(index.share, numThreads), index.thread),
          numThreads * numShares};
}

Value LaneValues::allocate(MemRefType type) {
  using enum WorkgroupMemory::Owner;
  return memory.allocate(type, inWarp ? Warp : Workgroup);
}

void LaneValues::emitBarrier() {
  if (!inWarp)
    emitBarrierOfAll();
  else if (!followsBarrier<NVVM::SyncWarpOp>(*b.getInsertionBlock(),
                                             b.getInsertionPoint()))
    NVVM::SyncWarpOp::create(
        b, arith::ConstantIntOp::create(b, b.getI32Type(), -1));
}

void LaneValues::emitBarrier(Value of) {
  if (memory.isOfWarp(of))
    emitBarrier();
  else
    emitBarrierOfAll();
}

void LaneValues::emitBarrierOfAll() {
  if (!followsBarrier<gpu::BarrierOp>(*b.getInsertionBlock(),
                                      b.getInsertionPoint()))
    gpu::BarrierOp::create(b);
}

std::optional<Layout> LaneValues::getLayout(VectorType type) const {
  ArrayRef<int64_t> shape = type.getShape();
  if (type.isScalable())
    return std::nullopt;
  if (shape == ArrayRef{numRows} || shape == ArrayRef<int64_t>{numRows, 1})
    return Layout::Rows;
  if (shape.size() != 2 || shape[1] % 8 != 0)
    return std::nullopt;
  if (shape[0] == numRows)
    return Layout::Fragment;
  if (shape[0] == 1)
    return Layout::Columns;
  return std::nullopt;
}

int64_t LaneValues::getNumElements(VectorType type) const {
  switch (*getLayout(type)) {
  case Layout::Rows:
    return laneRows;
  case Layout::Columns:
    return type.getDimSize(1) / (isTransposed ? 8 : 4);
  case Layout::Fragment:
    return getBlock(type.getDimSize(1) / 8);
  }
  llvm_unreachable("a layout");
}

bool LaneValues::isKnown(Value vector) const {
  SplatElementsAttr splat;
  return scalars.contains(vector) || shared.contains(vector) ||
         factors.contains(vector) || vector.getDefiningOp<vector::StepOp>() ||
         (matchPattern(vector, m_Constant(&splat)) &&
          getLayout(cast<VectorType>(vector.getType())));
}

SmallVector<Value> LaneValues::get(Value vector) {
  if (auto found = scalars.find(vector); found != scalars.end())
    return found->second;
  SplatElementsAttr splat;
  bool isConstant = matchPattern(vector, m_Constant(&splat));
  assert(isConstant && "expected a converted vector");
  (void)isConstant;
  Value scalar = arith::ConstantOp::create(
      b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  return SmallVector<Value>(getNumElements(cast<VectorType>(vector.getType())),
                            scalar);
}

bool LaneValues::isPassedInPairs(VectorType type) const {
  return getLayout(type) == Layout::Fragment &&
         (type.getElementType().isF16() || type.getElementType().isBF16());
}

SmallVector<Value> LaneValues::pair(ArrayRef<Value> elements) {
  auto type = VectorType::get({2}, elements.front().getType());
  SmallVector<Value> pairs;
  for (; !elements.empty(); elements = elements.drop_front(2)) {
    auto first = elements[0].getDefiningOp<vector::ExtractOp>(),
         second = elements[1].getDefiningOp<vector::ExtractOp>();
    bool isWhole = first && second && first.getSource() == second.getSource() &&
                   first.getSourceVectorType() == type &&
                   first.getStaticPosition() == ArrayRef<int64_t>{0} &&
                   second.getStaticPosition() == ArrayRef<int64_t>{1};
    pairs.push_back(isWhole ? Value(first.getSource())
                            : vector::FromElementsOp::create(
                                  b, type, elements.take_front(2)));
  }
  return pairs;
}

SmallVector<Value> LaneValues::flatten(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values) {
    if (isVector(value) && isPassedInPairs(cast<VectorType>(value.getType())))
      llvm::append_range(result, pair(get(value)));
    else if (isVector(value))
      llvm::append_range(result, get(value));
    else
      result.push_back(value);
  }
  return result;
}

SmallVector<Type> LaneValues::flattenTypes(TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types) {
    auto vector = dyn_cast<VectorType>(type);
    if (vector && isPassedInPairs(vector))
      result.append(getNumElements(vector) / 2,
                    VectorType::get({2}, vector.getElementType()));
    else if (vector)
      result.append(getNumElements(vector), vector.getElementType());
    else
      result.push_back(type);
  }
  return result;
}

SmallVector<Value> LaneValues::emitElements(ValueRange pairs) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> elements;
  for (Value pair : pairs) {
    b.setInsertionPointAfterValue(pair);
    for (int64_t i : {0, 1})
      elements.push_back(vector::ExtractOp::create(b, pair, i));
  }
  return elements;
}

void LaneValues::assign(ValueRange from, ValueRange to) {
  for (Value value : from) {
    auto vector = dyn_cast<VectorType>(value.getType());
    int64_t count = vector ? getNumElements(vector) : 1;
    if (vector && isPassedInPairs(vector)) {
      count /= 2;
      scalars[value] = emitElements(to.take_front(count));
    } else if (vector)
      scalars[value] = SmallVector<Value>(to.take_front(count));
    else
      value.replaceAllUsesWith(to.front());
    to = to.drop_front(count);
  }
}

SmallVector<Value> LaneValues::rows() {
  SmallVector<Value> result;
  for (int64_t row = 0; row < laneRows; ++row)
    result.push_back(b.add(index.firstRow, isTransposed ? row : 8 * row));
  return result;
}

SmallVector<Value> LaneValues::columns(int64_t count) {
  SmallVector<Value> result;
  for (int64_t first = 0; first < count; first += 8)
    for (int64_t e = 0; e < (isTransposed ? 1 : 2); ++e)
      result.push_back(b.add(index.firstColumn, first + e));
  return result;
}

SmallVector<Value> LaneValues::toFactor(ArrayRef<Value> elements) {
  return llvm::map_to_vector(pair(elements), [&](Value both) -> Value {
    return TransposeInWarpOp::create(b, both);
  });
}

SmallVector<Value> LaneValues::fromFactor(ArrayRef<Value> pairs) {
  SmallVector<Value> elements;
  for (Value pair : pairs) {
    Value both = TransposeInWarpOp::create(b, pair);
    for (int64_t e : {0, 1})
      elements.push_back(vector::ExtractOp::create(b, both, e));
  }
  return elements;
}
