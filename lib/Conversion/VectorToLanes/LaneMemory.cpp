//===- LaneMemory.cpp - Memory of a workgroup for its lanes ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/VectorToLanes/LaneMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Elements of a copy, 16 bytes.
static int64_t getChunk(Type element) {
  return 128 / element.getIntOrFloatBitWidth();
}

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

static Attribute getWorkgroupSpace(MLIRContext *context) {
  return gpu::AddressSpaceAttr::get(
      context, gpu::GPUDialect::getWorkgroupAddressSpace());
}

Value WorkgroupMemory::allocate(ArrayRef<int64_t> shape, int64_t stride,
                                Type element) {
  OpBuilder builder(launch);
  builder.setInsertionPointToStart(&launch.getBody().front());
  ImplicitLocOpBuilder b(launch.getLoc(), builder);
  Attribute space = getWorkgroupSpace(b.getContext());
  if (!base)
    base = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                           MemRefLayoutAttrInterface{}, space));
  b.setInsertionPointAfterValue(base);
  Value offset = arith::ConstantIndexOp::create(b, size);
  auto whole = MemRefType::get({shape[0], stride}, element,
                               MemRefLayoutAttrInterface{}, space);
  Value memory = memref::ViewOp::create(b, whole, base, offset, ValueRange{});
  size += llvm::alignTo(shape[0] * stride * element.getIntOrFloatBitWidth() / 8,
                        16);
  if (stride == shape[1])
    return memory;
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return memref::SubViewOp::create(
      b, memory, ArrayRef{zero, zero},
      ArrayRef<OpFoldResult>{b.getIndexAttr(shape[0]),
                             b.getIndexAttr(shape[1])},
      ArrayRef{one, one});
}

void WorkgroupMemory::setSize() {
  if (size == 0)
    return;
  OpBuilder b(launch);
  launch.getDynamicSharedMemorySizeMutable().assign(
      arith::ConstantIntOp::create(b, launch.getLoc(), b.getI32Type(), size));
}

void attn::emitSharedCopy(ImplicitLocOpBuilder &b, const LaneIndex &index,
                          int64_t numThreads, Value source, Value shared) {
  auto type = cast<MemRefType>(shared.getType());
  int64_t chunkSize = getChunk(type.getElementType());
  auto chunk = VectorType::get({chunkSize}, type.getElementType());
  int64_t chunksOfRow = type.getDimSize(1) / chunkSize;
  int64_t chunks = type.getDimSize(0) * chunksOfRow;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  Value numRows = b.createOrFold<memref::DimOp>(source, 0);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(chunk));
  auto copy = [&](int64_t first) {
    Value number = arith::AddIOp::create(b, index.thread, constant(first));
    Value row = arith::DivUIOp::create(b, number, constant(chunksOfRow));
    Value column = arith::MulIOp::create(
        b, arith::RemUIOp::create(b, number, constant(chunksOfRow)),
        constant(chunkSize));
    Value exists =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, numRows);
    auto read = scf::IfOp::create(
        b, exists,
        [&](OpBuilder &b, Location loc) {
          Value elements = vector::LoadOp::create(b, loc, chunk, source,
                                                  ValueRange{row, column});
          scf::YieldOp::create(b, loc, elements);
        },
        [&](OpBuilder &b, Location loc) {
          scf::YieldOp::create(b, loc, none);
        });
    vector::StoreOp::create(b, read.getResult(0), shared,
                            ValueRange{row, column});
  };
  int64_t first = 0;
  for (; first + numThreads <= chunks; first += numThreads)
    copy(first);
  if (first == chunks)
    return;
  Value has = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index.thread,
                                    constant(chunks - first));
  auto rest = scf::IfOp::create(b, has, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rest.thenBlock());
  copy(first);
}
