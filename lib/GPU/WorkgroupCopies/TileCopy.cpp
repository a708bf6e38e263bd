//===- TileCopy.cpp - A tile copied by a workgroup ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/Online/StoredElements.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

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

/// (stages, rows, columns), or (stages, panels, rows, columns of a panel).
static MemRefType getBufferType(WorkgroupThreads threads, int64_t stages,
                                VectorType tile) {
  int64_t rows = tile.getDimSize(0), columns = tile.getDimSize(1);
  SmallVector<int64_t> shape = {
      stages, rows, columns + kBytesBetweenRows / getElementBytes(tile)};
  if (threads.inWarpgroups)
    shape = {stages, columns / kElementsOfPanel, rows, kElementsOfPanel};
  auto space = gpu::AddressSpaceAttr::get(
      tile.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::get(shape, tile.getElementType(),
                         MemRefLayoutAttrInterface{}, space);
}

Value attn::allocateTiles(WorkgroupThreads threads, int64_t stages,
                          VectorType tile) {
  auto b = OpBuilder::atBlockBegin(&threads.launch.getBody().front());
  // Eight rows of panels, in which places of elements repeat themselves.
  constexpr int64_t kBytesOfPattern = 1024;
  return memref::AllocaOp::create(
      b, threads.launch.getLoc(), getBufferType(threads, stages, tile),
      threads.inWarpgroups ? b.getI64IntegerAttr(kBytesOfPattern)
                           : IntegerAttr());
}

int64_t attn::getTileBytes(WorkgroupThreads threads, VectorType tile) {
  return getBufferType(threads, /*stages=*/1, tile).getNumElements() *
         getElementBytes(tile);
}

Value attn::emitTileView(ImplicitLocOpBuilder &b, Value buffer, Value stage,
                         VectorType tile) {
  auto all = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> shape(tile.getShape());
  if (all.getRank() > 3)
    shape.assign(all.getShape().drop_front().begin(), all.getShape().end());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets(all.getRank(), zero),
      strides(all.getRank(), one), sizes = {one};
  offsets.front() = getAsOpFoldResult(stage);
  llvm::append_range(sizes, getAsIndexOpFoldResult(b.getContext(), shape));
  auto type = memref::SubViewOp::inferRankReducedResultType(shape, all, offsets,
                                                            sizes, strides);
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

bool attn::isConvertedTile(Value memory, ShapedType tile) {
  return getElementTypeOrSelf(memory) != tile.getElementType();
}

Value attn::emitIsAlignedFor(ImplicitLocOpBuilder &builder, Value memory,
                             ShapedType tile) {
  auto stored = cast<MemRefType>(memory.getType());
  return emitIsAligned(builder, memory,
                       kChunkBytes / getElementBytes(tile) *
                           getElementBytes(stored));
}

namespace {

class CopyEmitter {
public:
  CopyEmitter(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
              TileSource from, Value tile)
      : b(builder.getLoc(), builder),
        thread(b.sub(threads.launch.getThreadIds().x, threads.first)),
        numThreads(threads.number), source(from.rows), scales(from.scales),
        tile(tile), type(cast<MemRefType>(tile.getType())),
        inPanels(type.getRank() > 2),
        tileRows(type.getDimSize(inPanels ? 1 : 0)),
        tileColumns(inPanels ? type.getDimSize(0) * type.getDimSize(2)
                             : type.getDimSize(1)),
        isConverted(isConvertedTile(source, type)),
        elementBytes(getElementBytes(cast<MemRefType>(source.getType()))),
        chunkSize(kChunkBytes / getElementBytes(type)),
        chunks(tileColumns / chunkSize),
        neighbours(std::gcd(chooseNeighbours(), chunks & -chunks)),
        rowsAtOnce(numThreads / neighbours),
        numRows(b.createOrFold<memref::DimOp>(source, 0)),
        numColumns(cast<MemRefType>(source.getType()).getDimSize(1)),
        firstRow(emitFirstRow()), place(b.rem(thread, b.index(neighbours))) {}

  /// A row is copied by neighbours, as many as divide both it and the
  /// workgroup; each of them is in the same columns of every row. A loop goes
  /// through the rows.
  void emitLoop(Value isAligned) {
    if (!hasWholeChunks())
      isAligned = b.boolean(false);
    loopOverRows([&](Value row) {
      Value exists = b.isLess(row, numRows);
      Value scale = emitScale(row, exists);
      auto branch = scf::IfOp::create(b, isAligned, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      if (isConverted)
        emitConverted(row, exists, scale);
      else
        emitAsynchronous(row, exists);
      b.setInsertionPointToStart(branch.elseBlock());
      emitPlain(row, exists, scale);
    });
  }

  /// Rows of panels after which places of elements repeat themselves.
  static constexpr int64_t kRowsOfPattern = 8;

  /// Whether the elements that become a chunk are there all or none, as those
  /// that are converted have to be.
  bool hasWholeChunks() { return !isConverted || numColumns % chunkSize == 0; }

  Value emitIsWhole() {
    return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, numRows,
                                         b.index(tileRows));
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

  /// Of a whole tile of aligned rows.
  void emitRows(Value firstAddress) {
    if (isConverted)
      emitConvertedRows();
    else
      emitAsynchronousRows(firstAddress ? firstAddress
                                        : emitFirstAddress(source));
  }

private:
  /// As many as have a line of 128 bytes, or half as many where each thread has
  /// a row even so: then they have more of a row, in which they share
  /// addresses.
  int64_t chooseNeighbours() {
    constexpr int64_t kOfLine = 8, kOfHalf = 4;
    return !inPanels && numThreads <= kOfHalf * tileRows ? kOfHalf : kOfLine;
  }

  /// Of eight threads, which write at once, those of half a line have a row
  /// that is four rows behind that of the others: rows are an odd multiple of
  /// 16 bytes long, so that the two are in different banks.
  Value emitFirstRow() {
    Value row = b.div(thread, b.index(neighbours));
    if (inPanels || neighbours != 4)
      return row;
    Value eighth = b.rem(row, 8);
    Value inEight = b.add(b.div(eighth, b.index(2)), b.mul(b.rem(row, 2), 4));
    return b.add(b.sub(row, eighth), inEight);
  }

  /// Each address of a row is the one before and what is between two rows, of
  /// which registers hold one. Of memrefs it would be a product of the row and
  /// the stride, in 64 bits, or a register for each.
  void emitAsynchronousRows(Value from) {
    auto pointerTo = [&](Value address, int64_t bytes,
                         NVVM::NVVMMemorySpace space) -> Value {
      address = b.add(address, bytes);
      address = arith::IndexCastOp::create(b, b.getI64Type(), address);
      auto type = LLVM::LLVMPointerType::get(b.getContext(), unsigned(space));
      return LLVM::IntToPtrOp::create(b, type, address);
    };
    Value to = inPanels ? emitFirstAddressOfPanels() : emitFirstAddress(tile);
    auto parts = memref::ExtractStridedMetadataOp::create(b, source);
    Value distance = b.mul(parts.getStrides()[0], rowsAtOnce * elementBytes);
    auto [strides, offset] = type.getStridesAndOffset();
    int64_t tileDistance = strides[inPanels ? 1 : 0] * elementBytes;
    auto emitRow = [&](int64_t row) {
      for (int64_t chunk = 0; chunk < chunks; chunk += neighbours) {
        int64_t bytes = chunk * kChunkBytes;
        Value existing;
        if (!isWhole()) {
          Value column = b.add(b.mul(place, chunkSize), chunk * chunkSize);
          existing = arith::IndexCastOp::create(
              b, b.getI32Type(), b.mul(countInChunk(column), elementBytes));
        }
        int64_t ofTile = inPanels ? chunk * chunkSize / kElementsOfPanel *
                                        strides[0] * elementBytes
                                  : bytes;
        NVVM::CpAsyncOp::create(
            b,
            pointerTo(to, row * tileDistance + ofTile,
                      NVVM::NVVMMemorySpace::Shared),
            pointerTo(from, bytes, NVVM::NVVMMemorySpace::Global), kChunkBytes,
            NVVM::LoadCacheModifierKind::CG, existing);
      }
    };
    for (int64_t row = 0; row < tileRows; row += rowsAtOnce) {
      if (row > 0)
        from = b.add(from, distance);
      // In the last round, some threads may have no row left.
      if (row + rowsAtOnce <= tileRows)
        emitRow(row);
      else
        b.when(b.isLess(firstRow, tileRows - row), [&] { emitRow(row); });
    }
  }

  /// The address of the first byte that this thread writes in panels, of whose
  /// rows neighbours have one each. Rows of a thread are a multiple of eight
  /// apart.
  Value emitFirstAddressOfPanels() {
    auto parts = memref::ExtractStridedMetadataOp::create(b, tile);
    Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(b, tile);
    Value ofTile = b.add(pointer, b.mul(parts.getOffset(), elementBytes));
    Value ofThread =
        b.add(b.mul(firstRow, kElementsOfPanel * elementBytes),
              b.mul(emitChunkOfPanel(place, firstRow), kChunkBytes));
    return b.add(ofTile, ofThread);
  }

  /// Where `attn.read_panels` has a chunk of a row of a panel.
  Value emitChunkOfPanel(Value chunk, Value row) {
    return arith::XOrIOp::create(b, chunk, b.rem(row, kRowsOfPattern));
  }

  /// Where an element of a row is in the tile.
  SmallVector<Value> emitPlace(Value row, Value column) {
    if (!inPanels)
      return {row, column};
    Value ofPanel = b.rem(column, kElementsOfPanel);
    Value chunk = emitChunkOfPanel(b.div(ofPanel, chunkSize), row);
    return {b.div(column, kElementsOfPanel), row,
            b.add(b.mul(chunk, chunkSize), b.rem(ofPanel, chunkSize))};
  }

  void emitAsynchronous(Value row, Value exists) {
    Value first = b.mul(place, chunkSize);
    for (int64_t chunk = 0; chunk < chunks; chunk += neighbours) {
      Value column = b.add(first, chunk * chunkSize);
      // Of a row that is not there, nothing is read.
      Value elements = b.select(exists, countInChunk(column), 0);
      nvgpu::DeviceAsyncCopyOp::create(
          b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), tile,
          emitPlace(row, column), source, ValueRange{row, column},
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
  Value convert(Value element, Value scale) {
    if (!isConverted)
      return element;
    return emitElement(b, element, scale, type.getElementType());
  }

  /// A loop that nobody unrolls: unrolled, it would hold what it loads in
  /// registers, or be long code that seldom runs.
  void loopOverRows(function_ref<void(Value)> body) {
    OpBuilder::InsertionGuard guard(b);
    Value row = b.enterLoop(firstRow, tileRows, rowsAtOnce);
    auto isTrue = b.getBoolAttr(true);
    auto unroll = LLVM::LoopUnrollAttr::get(b.getContext(), isTrue, {}, {}, {},
                                            {}, {}, {});
    row.getParentBlock()->getParentOp()->setAttr(
        "llvm.loop_annotation",
        LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, {}, unroll, {},
                                      {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
    body(row);
  }

  void emitConvertedRows() {
    loopOverRows([&](Value row) {
      Value exists = b.boolean(true);
      emitConverted(row, exists, emitScale(row, exists));
    });
  }

  void emitConverted(Value row, Value exists, Value scale) {
    auto stored = VectorType::get(chunkSize, getElementTypeOrSelf(source)),
         copied = VectorType::get(chunkSize, type.getElementType());
    Value first = b.mul(place, chunkSize);
    for (int64_t chunk = 0; chunk < chunks; chunk += neighbours) {
      Value column = b.add(first, chunk * chunkSize);
      Value isThere = exists;
      if (!isWhole())
        isThere = b.bitAnd(exists, b.isLess(column, numColumns));
      auto store = [&](Value elements) {
        vector::StoreOp::create(b, elements, tile, emitPlace(row, column),
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
        numbers.push_back(
            convert(vector::ExtractOp::create(b, loaded, i), scale));
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
  void emitPlain(Value row, Value exists, Value scale) {
    b.loop(place, tileColumns, neighbours, [&](Value column) {
      Value isThere = exists;
      if (!isWhole())
        isThere = b.bitAnd(exists, b.isLess(column, numColumns));
      Value element = b.choose(
          isThere,
          [&]() -> Value {
            return convert(
                memref::LoadOp::create(b, source, ValueRange{row, column}),
                scale);
          },
          [&] { return b.zero(type.getElementType()); });
      memref::StoreOp::create(b, element, tile, emitPlace(row, column));
    });
  }

  /// Whether rows of the source are those of the tile.
  bool isWhole() { return numColumns == tileColumns; }

  IndexBuilder b;
  Value thread;
  int64_t numThreads;
  Value source, scales, tile;
  MemRefType type; ///< Of the tile.
  bool inPanels;
  int64_t tileRows, tileColumns;
  bool isConverted;
  int64_t elementBytes; ///< Of the source.
  int64_t chunkSize;    ///< Elements.
  int64_t chunks;       ///< Of a row.
  int64_t neighbours;   ///< Threads that share a row.
  int64_t rowsAtOnce;   ///< Of all threads.
  Value numRows;        ///< Of the source.
  int64_t numColumns;
  Value firstRow, place; ///< Of this thread; its place is in the row.
};

} // namespace

void attn::emitTileCopy(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                        TileSource source, Value tile, Value isAligned) {
  CopyEmitter(b, threads, source, tile).emitLoop(isAligned);
}

Value attn::emitFirstAddress(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                             TileSource source, Value tile) {
  return CopyEmitter(b, threads, source, tile).emitFirstAddress(source.rows);
}

Value attn::emitIsWholeTile(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                            TileSource source, Value tile) {
  CopyEmitter copy(b, threads, source, tile);
  if (!copy.hasWholeChunks())
    return arith::ConstantOp::create(b, b.getBoolAttr(false));
  return copy.emitIsWhole();
}

void attn::emitWholeTileCopy(ImplicitLocOpBuilder &b, WorkgroupThreads threads,
                             TileSource source, Value tile,
                             Value firstAddress) {
  CopyEmitter(b, threads, source, tile).emitRows(firstAddress);
}

void attn::readTile(vector::TransferReadOp read, Value tile) {
  OpBuilder builder(read);
  IndexBuilder b(read.getLoc(), builder);
  ConvertedRows rows(read);
  VectorType type = rows.getType();
  if (cast<MemRefType>(tile.getType()).getRank() > 2)
    return rows.replaceWith(ReadPanelsOp::create(b, type, tile));
  bool hasAllRows =
      cast<MemRefType>(tile.getType()).getDimSize(0) >= type.getDimSize(0);
  rows.replaceWith(vector::TransferReadOp::create(
      b, type, tile, ValueRange{b.index(0), b.index(0)},
      b.zero(type.getElementType()), std::array{hasAllRows, true}));
}
