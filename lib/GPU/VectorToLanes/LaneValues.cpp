//===- LaneValues.cpp - Scalars of a lane for vectors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/LaneValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Emits the index of this lane at the start of a launch.
static LaneIndex emitLaneIndex(ImplicitLocOpBuilder &b, gpu::LaunchOp launch) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  LaneIndex result;
  result.thread = launch.getThreadIds().x;
  Value lanes = index(kLanesOfWarp), four = index(4);
  result.lane = arith::RemUIOp::create(b, result.thread, lanes);
  Value warp = arith::DivUIOp::create(b, result.thread, lanes);
  Value group = arith::DivUIOp::create(b, result.lane, four);
  Value place = arith::RemUIOp::create(b, result.lane, four);
  result.firstRow = arith::AddIOp::create(
      b, arith::MulIOp::create(b, warp, index(kRowsOfWarp)), group);
  result.firstColumn = arith::MulIOp::create(b, place, index(2));
  result.isLeader =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place, index(0));
  return result;
}

Value WorkgroupMemory::allocate(MemRefType type) {
  OpBuilder builder(launch);
  builder.setInsertionPointToStart(&launch.getBody().front());
  ImplicitLocOpBuilder b(launch.getLoc(), builder);
  if (!base)
    base = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                           MemRefLayoutAttrInterface{}, type.getMemorySpace()));
  b.setInsertionPointAfterValue(base);
  Value offset = arith::ConstantIndexOp::create(b, size);
  size += llvm::alignTo(type.getNumElements() *
                            type.getElementType().getIntOrFloatBitWidth() / 8,
                        16);
  return memref::ViewOp::create(b, type, base, offset, ValueRange{});
}

LogicalResult WorkgroupMemory::setSize() {
  /// What a workgroup may have at most, on sm_90.
  constexpr int64_t kMostBytes = 227 << 10;
  if (size == 0)
    return success();
  if (size > kMostBytes)
    return emitError(launch.getLoc())
           << "needs " << size << " bytes of workgroup memory, of which GPUs "
           << "have at most " << kMostBytes
           << ": heads of fewer elements need less";
  OpBuilder b(launch);
  launch.getDynamicSharedMemorySizeMutable().assign(
      arith::ConstantIntOp::create(b, launch.getLoc(), b.getI32Type(), size));
  return success();
}

LaneValues::LaneValues(gpu::LaunchOp launch, OpBuilder &builder,
                       int64_t numThreads)
    : b(launch.getLoc(), builder), numThreads(numThreads),
      numRows(numThreads / kLanesOfWarp * kRowsOfWarp), memory(launch) {
  b.setInsertionPointToStart(&launch.getBody().front());
  index = emitLaneIndex(b, launch);
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
    return 2;
  case Layout::Columns:
    return type.getDimSize(1) / 4;
  case Layout::Fragment:
    return type.getDimSize(1) / 2;
  }
  llvm_unreachable("a layout");
}

bool LaneValues::isKnown(Value vector) const {
  SplatElementsAttr splat;
  return scalars.contains(vector) || shared.contains(vector) ||
         vector.getDefiningOp<vector::StepOp>() ||
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

SmallVector<Value> LaneValues::flatten(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values) {
    if (isVector(value))
      llvm::append_range(result, get(value));
    else
      result.push_back(value);
  }
  return result;
}

SmallVector<Type> LaneValues::flattenTypes(TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types) {
    if (auto vector = dyn_cast<VectorType>(type))
      result.append(getNumElements(vector), vector.getElementType());
    else
      result.push_back(type);
  }
  return result;
}

void LaneValues::assign(ValueRange from, ValueRange to) {
  for (Value value : from) {
    auto vector = dyn_cast<VectorType>(value.getType());
    int64_t count = vector ? getNumElements(vector) : 1;
    if (vector)
      scalars[value] = SmallVector<Value>(to.take_front(count));
    else
      value.replaceAllUsesWith(to.front());
    to = to.drop_front(count);
  }
}

SmallVector<Value> LaneValues::columns(int64_t count) {
  SmallVector<Value> result;
  for (int64_t first = 0; first < count; first += 8)
    for (int64_t e = 0; e < 2; ++e)
      result.push_back(
          arith::AddIOp::create(b, index.firstColumn, constant(first + e)));
  return result;
}
