//===- LaneMemory.cpp - Memory of a workgroup for its lanes ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/LaneMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

LaneIndex attn::emitLaneIndex(ImplicitLocOpBuilder &b, gpu::LaunchOp launch) {
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
