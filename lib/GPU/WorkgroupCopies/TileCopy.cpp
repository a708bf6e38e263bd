//===- TileCopy.cpp - A tile copied by a workgroup ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

static int64_t getElementBytes(ShapedType type) {
  return type.getElementTypeBitWidth() / 8;
}

static MemRefType getBufferType(int64_t stages, VectorType tile) {
  auto space = gpu::AddressSpaceAttr::get(
      tile.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::get(
      {stages, tile.getDimSize(0),
       tile.getDimSize(1) + kChunkBytes / getElementBytes(tile)},
      tile.getElementType(), MemRefLayoutAttrInterface{}, space);
}

Value attn::allocateTiles(WorkgroupThreads threads, int64_t stages,
                          VectorType tile) {
  auto b = OpBuilder::atBlockBegin(&threads.launch.getBody().front());
  return memref::AllocaOp::create(b, threads.launch.getLoc(),
                                  getBufferType(stages, tile));
}

int64_t attn::getTileBytes(int64_t stages, VectorType tile) {
  return getBufferType(stages, tile).getNumElements() * getElementBytes(tile);
}

Value attn::emitTileView(ImplicitLocOpBuilder &b, Value buffer, Value stage,
                         VectorType tile) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {getAsOpFoldResult(stage), zero, zero};
  SmallVector<OpFoldResult> sizes = {one, b.getIndexAttr(tile.getDimSize(0)),
                                     b.getIndexAttr(tile.getDimSize(1))};
  SmallVector<OpFoldResult> strides(3, one);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      tile.getShape(), cast<MemRefType>(buffer.getType()), offsets, sizes,
      strides);
  return memref::SubViewOp::create(b, type, buffer, offsets, sizes, strides);
}

Value attn::emitIsAligned(ImplicitLocOpBuilder &builder, Value memory,
                          int64_t alignment) {
  IndexBuilder b(builder.getLoc(), builder);
  auto type = cast<MemRefType>(memory.getType());
  int64_t elementBytes = getElementBytes(type);
  auto parts = memref::ExtractStridedMetadataOp::create(b, memory);
  Value bytes = b.mul(parts.getOffset(), elementBytes);
  for (auto [size, stride] :
       llvm::zip_equal(type.getShape().drop_back(),
                       ValueRange(parts.getStrides()).drop_back()))
    if (size != 1)
      bytes = b.bitOr(bytes, b.mul(stride, elementBytes));
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  bytes = b.bitOr(pointer, bytes);
  return b.isEqual(b.bitAnd(bytes, b.index(alignment - 1)), 0);
}

namespace {

class CopyEmitter {
public:
  CopyEmitter(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
              Value source, Value tile)
      : b(builder.getLoc(), builder), thread(threads.launch.getThreadIds().x),
        numThreads(threads.number), source(source), tile(tile),
        type(cast<MemRefType>(tile.getType())),
        elementBytes(getElementBytes(type)),
        chunkSize(kChunkBytes / elementBytes),
        chunks(type.getDimSize(1) / chunkSize),
        neighbours(
            std::gcd(std::min<int64_t>(8, numThreads), chunks & -chunks)),
        rowsAtOnce(numThreads / neighbours),
        numRows(b.createOrFold<memref::DimOp>(source, 0)),
        numColumns(cast<MemRefType>(source.getType()).getDimSize(1)),
        firstRow(b.div(thread, b.index(neighbours))),
        place(b.rem(thread, b.index(neighbours))) {}

  /// A row is copied by neighbours, as many as divide both it and the
  /// workgroup, up to a line of 128 bytes; each of them is in the same columns
  /// of every row. A loop goes through the rows.
  void emitLoop(Value isAligned) {
    b.loop(firstRow, type.getDimSize(0), rowsAtOnce, [&](Value row) {
      Value exists = b.isLess(row, numRows);
      auto branch = scf::IfOp::create(b, isAligned, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      emitAsynchronous(row, exists);
      b.setInsertionPointToStart(branch.elseBlock());
      emitPlain(row, exists);
    });
  }

  /// Whether all rows of the tile can be copied without a question which of
  /// them this thread has.
  bool isEven() { return type.getDimSize(0) % rowsAtOnce == 0; }

  Value emitIsWhole() {
    return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, numRows,
                                         b.index(type.getDimSize(0)));
  }

  /// The address of the first byte that this thread copies, in `memory`.
  Value emitFirstAddress(Value memory) {
    auto parts = memref::ExtractStridedMetadataOp::create(b, memory);
    Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
    // What a loop changes is one term: the other one is computed before it.
    Value ofTile = b.add(pointer, b.mul(parts.getOffset(), elementBytes));
    Value rowBytes = b.mul(parts.getStrides()[0], elementBytes);
    Value ofThread =
        b.add(b.mul(firstRow, rowBytes), b.mul(place, kChunkBytes));
    return b.add(ofTile, ofThread);
  }

  /// Each address of a row is the one before and what is between two rows, of
  /// which registers hold one. Of memrefs it would be a product of the row and
  /// the stride, in 64 bits, or a register for each.
  void emitRows(Value from) {
    auto pointerTo = [&](Value address, int64_t bytes,
                         NVVM::NVVMMemorySpace space) -> Value {
      address = b.add(address, bytes);
      address = arith::IndexCastOp::create(b, b.getI64Type(), address);
      auto type = LLVM::LLVMPointerType::get(b.getContext(), unsigned(space));
      return LLVM::IntToPtrOp::create(b, type, address);
    };
    Value to = emitFirstAddress(tile);
    auto parts = memref::ExtractStridedMetadataOp::create(b, source);
    Value distance = b.mul(parts.getStrides()[0], rowsAtOnce * elementBytes);
    auto [strides, offset] = type.getStridesAndOffset();
    int64_t tileDistance = strides[0] * elementBytes;
    for (int64_t row = 0; row < type.getDimSize(0); row += rowsAtOnce) {
      if (row > 0)
        from = b.add(from, distance);
      for (int64_t chunk = 0; chunk < chunks; chunk += neighbours) {
        int64_t bytes = chunk * kChunkBytes;
        Value existing;
        if (!isWhole()) {
          Value column = b.add(b.mul(place, chunkSize), chunk * chunkSize);
          existing = arith::IndexCastOp::create(
              b, b.getI32Type(), b.mul(countInChunk(column), elementBytes));
        }
        NVVM::CpAsyncOp::create(
            b,
            pointerTo(to, row * tileDistance + bytes,
                      NVVM::NVVMMemorySpace::Shared),
            pointerTo(from, bytes, NVVM::NVVMMemorySpace::Global), kChunkBytes,
            NVVM::LoadCacheModifierKind::CG, existing);
      }
    }
  }

private:
  void emitAsynchronous(Value row, Value exists) {
    Value first = b.mul(place, chunkSize);
    for (int64_t chunk = 0; chunk < chunks; chunk += neighbours) {
      Value column = b.add(first, chunk * chunkSize);
      // Of a row that is not there, nothing is read.
      Value elements = b.select(exists, countInChunk(column), 0);
      nvgpu::DeviceAsyncCopyOp::create(
          b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), tile,
          ValueRange{row, column}, source, ValueRange{row, column},
          b.getIndexAttr(chunkSize), elements, /*bypassL1=*/b.getUnitAttr());
    }
  }

  /// How many elements of a row there are from `column` on, up to a chunk.
  Value countInChunk(Value column) {
    if (isWhole())
      return b.index(chunkSize);
    Value left = b.sub(numColumns, column);
    left = b.max(left, 0);
    return b.min(left, chunkSize);
  }

  /// Element by element, since this is rare.
  void emitPlain(Value row, Value exists) {
    b.loop(place, type.getDimSize(1), neighbours, [&](Value column) {
      Value isThere = exists;
      if (!isWhole())
        isThere = b.bitAnd(exists, b.isLess(column, numColumns));
      Value element = b.choose(
          isThere,
          [&]() -> Value {
            return memref::LoadOp::create(b, source, ValueRange{row, column});
          },
          [&] { return b.zero(type.getElementType()); });
      memref::StoreOp::create(b, element, tile, ValueRange{row, column});
    });
  }

  /// Whether rows of the source are those of the tile.
  bool isWhole() { return numColumns == type.getDimSize(1); }

  IndexBuilder b;
  Value thread;
  int64_t numThreads;
  Value source, tile;
  MemRefType type; ///< Of the tile.
  int64_t elementBytes;
  int64_t chunkSize;  ///< Elements.
  int64_t chunks;     ///< Of a row.
  int64_t neighbours; ///< Threads that share a row.
  int64_t rowsAtOnce; ///< Of all threads.
  Value numRows;      ///< Of the source.
  int64_t numColumns;
  Value firstRow, place; ///< Of this thread; its place is in the row.
};

} // namespace

void attn::emitTileCopy(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                        Value source, Value tile, Value isAligned) {
  CopyEmitter(b, threads, source, tile).emitLoop(isAligned);
}

Value attn::emitFirstAddress(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                             Value source, Value tile) {
  return CopyEmitter(b, threads, source, tile).emitFirstAddress(source);
}

Value attn::emitIsWholeTile(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                            Value source, Value tile) {
  CopyEmitter copy(b, threads, source, tile);
  if (!copy.isEven())
    return arith::ConstantOp::create(b, b.getBoolAttr(false));
  return copy.emitIsWhole();
}

void attn::emitWholeTileCopy(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                             Value source, Value tile, Value firstAddress) {
  CopyEmitter(b, threads, source, tile).emitRows(firstAddress);
}

void attn::readTile(vector::TransferReadOp read, Value tile) {
  OpBuilder b(read);
  Value zero = arith::ConstantIndexOp::create(b, read.getLoc(), 0);
  auto own = vector::TransferReadOp::create(
      b, read.getLoc(), read.getVectorType(), tile, ValueRange{zero, zero},
      read.getPadding(), std::array{true, true});
  read.replaceAllUsesWith(own.getResult());
  read.erase();
}
