//===- TileCopy.cpp - A tile copied by a workgroup ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/Online/StoredElements.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// Bytes of one copy.
static constexpr int64_t kChunkBytes = 16;

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

namespace {

class CopyEmitter {
public:
  CopyEmitter(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
              TileSource from, Value tile)
      : b(builder.getLoc(), builder), thread(threads.launch.getThreadIds().x),
        numThreads(threads.number), source(from.rows), scales(from.scales),
        tile(tile), type(cast<MemRefType>(tile.getType())),
        storedType(getElementTypeOrSelf(source)),
        isConverted(storedType != type.getElementType()),
        elementBytes(getElementBytes(cast<MemRefType>(source.getType()))),
        chunkSize(kChunkBytes / getElementBytes(type)),
        chunks(type.getDimSize(1) / chunkSize),
        numRows(b.createOrFold<memref::DimOp>(source, 0)),
        numColumns(cast<MemRefType>(source.getType()).getDimSize(1)) {}

  /// A row is copied by neighbours, as many as divide both it and the
  /// workgroup, up to a line of 128 bytes; each of them is in the same columns
  /// of every row. A loop goes through the rows: unrolled, it would hold their
  /// addresses in registers for as long as what is around it runs.
  void emit() {
    Value isAligned = emitIsAligned();
    int64_t neighbours =
        std::gcd(std::min<int64_t>(8, numThreads), chunks & -chunks);
    Value width = b.index(neighbours);
    Value firstRow = b.div(thread, width);
    Value place = b.rem(thread, width);
    b.loop(firstRow, type.getDimSize(0), numThreads / neighbours,
           [&](Value row) {
             Value exists = b.isLess(row, numRows);
             scale = emitScale(row, exists);
             auto branch =
                 scf::IfOp::create(b, isAligned, /*withElseRegion=*/true);
             OpBuilder::InsertionGuard guard(b);
             b.setInsertionPointToStart(branch.thenBlock());
             if (isConverted)
               emitConverted(row, exists, place, neighbours);
             else
               emitAsynchronous(row, exists, place, neighbours);
             b.setInsertionPointToStart(branch.elseBlock());
             emitPlain(row, exists, place, width);
           });
  }

private:
  /// Whether each row begins at a multiple of 16 bytes, because the pointer,
  /// the stride and the offset are such multiples. Only the last one depends on
  /// the tile, so that the pointer takes no registers beside the address. Of
  /// rows of another type, the same of the bytes that become 16, which have to
  /// be there all or none.
  Value emitIsAligned() {
    if (isConverted && numColumns % chunkSize != 0)
      return b.boolean(false);
    auto parts = memref::ExtractStridedMetadataOp::create(b, source);
    Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(b, source);
    Value stride = b.mul(parts.getStrides()[0], elementBytes);
    return b.bitAnd(
        emitIsMultiple(b.bitOr(pointer, stride), chunkSize * elementBytes),
        emitIsMultiple(parts.getOffset(), chunkSize));
  }

  /// Of a power of two.
  Value emitIsMultiple(Value number, int64_t of) {
    Value rest = b.bitAnd(number, b.index(of - 1));
    return b.isEqual(rest, 0);
  }

  void emitAsynchronous(Value row, Value exists, Value place,
                        int64_t neighbours) {
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

  /// What elements of a row are multiplied by; null if they are floats.
  Value emitScale(Value row, Value exists) {
    if (!scales)
      return {};
    return b.choose(
        exists,
        [&]() -> Value { return memref::LoadOp::create(b, scales, row); },
        [&] { return b.zero(b.getF32Type()); });
  }

  /// A stored element as one of the tile.
  Value convert(Value element) {
    if (!isConverted)
      return element;
    return emitElement(b, b.getLoc(), element, scale, type.getElementType());
  }

  void emitConverted(Value row, Value exists, Value place, int64_t neighbours) {
    auto stored = VectorType::get(chunkSize, storedType),
         copied = VectorType::get(chunkSize, type.getElementType());
    Value first = b.mul(place, chunkSize);
    for (int64_t chunk = 0; chunk < chunks; chunk += neighbours) {
      Value column = b.add(first, chunk * chunkSize);
      Value isThere = exists;
      if (!isWhole())
        isThere = b.bitAnd(exists, b.isLess(column, numColumns));
      auto store = [&](Value elements) {
        vector::StoreOp::create(b, elements, tile, ValueRange{row, column},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(kChunkBytes));
      };
      auto branch = scf::IfOp::create(b, isThere, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value loaded = vector::LoadOp::create(
          b, stored, source, ValueRange{row, column},
          /*nontemporal=*/false, llvm::MaybeAlign(chunkSize * elementBytes));
      SmallVector<Value> numbers;
      for (int64_t i = 0; i < chunkSize; ++i)
        numbers.push_back(convert(vector::ExtractOp::create(b, loaded, i)));
      store(vector::FromElementsOp::create(b, copied, numbers));
      b.setInsertionPointToStart(branch.elseBlock());
      store(arith::ConstantOp::create(b, b.getZeroAttr(copied)));
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
  void emitPlain(Value row, Value exists, Value place, Value neighbours) {
    b.loop(place, type.getDimSize(1), neighbours, [&](Value column) {
      Value isThere = exists;
      if (!isWhole())
        isThere = b.bitAnd(exists, b.isLess(column, numColumns));
      Value element = b.choose(
          isThere,
          [&]() -> Value {
            return convert(
                memref::LoadOp::create(b, source, ValueRange{row, column}));
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
  Value source, scales, tile;
  MemRefType type; ///< Of the tile.
  Type storedType; ///< Of the source's elements.
  bool isConverted;
  int64_t elementBytes; ///< Of the source.
  int64_t chunkSize;    ///< Elements.
  int64_t chunks;       ///< Of a row.
  Value numRows;        ///< Of the source.
  Value scale;          ///< Of the row that is being copied, or null.
  int64_t numColumns;
};

} // namespace

void attn::emitTileCopy(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                        TileSource source, Value tile) {
  CopyEmitter(b, threads, source, tile).emit();
}

void attn::readTile(vector::TransferReadOp read, Value tile) {
  OpBuilder builder(read);
  IndexBuilder b(read.getLoc(), builder);
  ConvertedRows rows(read);
  VectorType type = rows.getType();
  rows.replaceWith(vector::TransferReadOp::create(
      b, type, tile, ValueRange{b.index(0), b.index(0)},
      b.zero(type.getElementType()), std::array{true, true}));
}
