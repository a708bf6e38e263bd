//===- CapturedTiles.cpp - What a tile sees of captured buffers -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/AttnToVector/CapturedTiles.h"
#include "lib/CPU/AttnToVector/LaneBuilder.h"
#include "lib/CPU/HideRelation.h"
#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Blocks that are transposed in registers
//===----------------------------------------------------------------------===//

// As words of 32 bits: elements that are smaller are taken apart at the end.

/// Words of 32 bits in a part that is transposed at once.
static constexpr int64_t kQuarterWords = transposedBits / 32;

/// Whether blocks of this element type can be transposed by pieces of the
/// builder's width.
static bool canTransposeBlocks(LaneBuilder &b, Type elementType) {
  int64_t width = b.getWidth();
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return (width == 4 || width == 8 || width == 16) &&
         (bits == 8 || bits == 16 || bits == 32);
}

/// The number of columns of a block.
static int64_t getBlockColumns(Type elementType) {
  return transposedBits / elementType.getIntOrFloatBitWidth();
}

/// Element `part` of each word, widened to 32 bits. The first one is in the low
/// bits.
static Value takePart(LaneBuilder &b, Value words, Type elementType,
                      int64_t part) {
  VectorType vector = cast<VectorType>(words.getType());
  auto constant = [&](int64_t value) { return b.integer(vector, value); };
  auto shiftLeft = [&](Value value, int64_t amount) -> Value {
    return amount == 0 ? value
                       : b.create<arith::ShLIOp>(value, constant(amount));
  };
  VectorType floats = b.getPieceType(b.getF32Type());
  unsigned bits = elementType.getIntOrFloatBitWidth();
  if (bits == 8)
    return b.create<arith::AndIOp>(words, constant(int64_t(0xff) << 8 * part));
  if (elementType.isF32())
    return b.create<arith::BitcastOp>(floats, words);
  if (bits == 32)
    return words;
  if (elementType.isBF16()) {
    Value high =
        part == 0
            ? shiftLeft(words, 16)
            : b.create<arith::AndIOp>(words, constant(int64_t(0xffff0000)));
    return b.create<arith::BitcastOp>(floats, high);
  }
  Value low = part == 0 ? words : b.create<arith::ShRUIOp>(words, constant(16));
  Value half = b.create<arith::TruncIOp>(b.getPieceType(b.getI16Type()), low);
  if (!isa<FloatType>(elementType))
    return b.create<arith::ExtSIOp>(vector, half);
  half = b.create<arith::BitcastOp>(b.getPieceType(elementType), half);
  return b.create<arith::ExtFOp>(floats, half);
}

/// Loads `width` rows of a block and returns its columns, each as a piece of
/// elements widened to 32 bits. `load(row)` loads the 16 bytes of a row, as any
/// vector. Elements have 8, 16 or 32 bits; those
/// of 8 bits are only known to become zero if they are and nonzero if not.
static Pieces buildTransposedBlock(LaneBuilder &b, Type elementType,
                                   function_ref<Value(int64_t)> load) {
  int64_t bits = elementType.getIntOrFloatBitWidth();
  auto quarter = VectorType::get(kQuarterWords, b.getI32Type());
  Pieces result;
  for (Value words : loadTransposed(
           b, kQuarterWords, b.getWidth(), [&](int64_t row) -> Value {
             return b.create<vector::BitCastOp>(quarter, load(row));
           }))
    for (int64_t part = 0; part < 32 / bits; ++part)
      result.push_back(takePart(b, words, elementType, part));
  return result;
}

//===----------------------------------------------------------------------===//
// Captured buffers
//===----------------------------------------------------------------------===//

CapturedTiles::CapturedTiles(LaneBuilder &b, const ScoreTile &tile,
                             const RegionDependence &dependence,
                             ValueRange captures)
    : b(b), tile(tile), dependence(dependence) {
  const RegionArguments &arguments = dependence.getArguments();
  captured[arguments.batch] = tile.batch;
  captured[arguments.head] = tile.head;
  for (auto [argument, capture] : llvm::zip(arguments.captures, captures))
    captured[argument] = capture;
}

Value attn::viewAsBytes(LaneBuilder &b, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.getElementType().isInteger(1))
    return buffer;
  // Both types have the same descriptor, so that the cast disappears with them.
  auto bytes = MemRefType::get(type.getShape(), b.getI8Type(), type.getLayout(),
                               type.getMemorySpace());
  return b.create<UnrealizedConversionCastOp>(bytes, buffer).getResult(0);
}

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

Value CapturedTiles::evaluate(Value value, Value lane, Value row,
                              Scalars &known) {
  if (Value found = known.lookup(value))
    return found;
  const RegionArguments &arguments = dependence.getArguments();
  Value result;
  if (value == arguments.position) {
    result = b.addI(tile.position, lane);
  } else if (value == arguments.key) {
    result = row ? b.addI(tile.firstKey, row) : tile.firstKey;
  } else if (value == arguments.score) {
    result = b.create<memref::LoadOp>(tile.scores, ValueRange{row, lane});
    if (tile.scale)
      result = b.create<arith::MulFOp>(result, tile.scale);
  } else {
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(evaluate(operand, lane, row, known));
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    dropPromises(copy);
    result = copy->getResult(0);
  }
  known[value] = result;
  return result;
}

SmallVector<Value> CapturedTiles::evaluateIndices(memref::LoadOp load,
                                                  Value lane, Value row) {
  Scalars known = captured;
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(evaluate(index, lane, row, known));
  return indices;
}

/// An element as it is kept in vectors.
Value CapturedTiles::loadElement(memref::LoadOp load, Value lane, Value row) {
  Value source = captured.lookup(load.getMemRef());
  Value element =
      b.create<memref::LoadOp>(source, evaluateIndices(load, lane, row));
  if (element.getType().isInteger(1))
    return b.create<arith::ExtUIOp>(b.getI8Type(), element);
  if (element.getType().isIndex())
    return b.create<arith::IndexCastOp>(b.getI64Type(), element);
  return element;
}

Value CapturedTiles::widen(Value element) {
  Type type = getElementTypeOrSelf(element.getType());
  if (type.getIntOrFloatBitWidth() == 32)
    return element;
  Type wide = isa<FloatType>(type) ? Type(b.getF32Type()) : b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(element.getType()))
    wide = vector.clone(wide);
  if (isa<FloatType>(type))
    return b.create<arith::ExtFOp>(wide, element);
  return b.create<arith::ExtSIOp>(wide, element);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static Type getStoredType(LaneBuilder &b, Type type) {
  if (type.isInteger(1))
    return b.getI8Type();
  return type.isIndex() ? Type(b.getI64Type()) : type;
}

Value CapturedTiles::buildPerLane(memref::LoadOp load) {
  Type type = getStoredType(b, load.getType());
  Value buffer = b.allocate(MemRefType::get({b.getNumLanes()}, type));
  b.loop(0, tile.numQueries, 1, [&](Value lane) {
    b.create<memref::StoreOp>(loadElement(load, lane, nullptr), buffer, lane);
  });
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(type));
  b.loop(tile.numQueries, b.getNumLanes(), 1,
         [&](Value lane) { b.create<memref::StoreOp>(zero, buffer, lane); });
  return buffer;
}

void CapturedTiles::clearOtherLanes(Value buffer) {
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(type));
  b.loop(tile.numQueries, b.getNumLanes(), 1, [&](Value lane) {
    b.loop(0, tile.numKeys, 1, [&](Value row) {
      b.create<memref::StoreOp>(zero, buffer, ValueRange{row, lane});
    });
  });
}

void CapturedTiles::copyElements(memref::LoadOp load, Value buffer,
                                 Value firstRow, Value endRow, Value firstLane,
                                 Value endLane, bool widened) {
  b.loop(firstLane, endLane, 1, [&](Value lane) {
    b.loop(firstRow, endRow, 1, [&](Value row) {
      Value element = loadElement(load, lane, row);
      b.create<memref::StoreOp>(widened ? widen(element) : element, buffer,
                                ValueRange{row, lane});
    });
  });
}

static MemRefType getTileType(LaneBuilder &b, Value scores, Type type) {
  auto scoresType = cast<MemRefType>(scores.getType());
  return MemRefType::get(scoresType.getShape(), type);
}

Value CapturedTiles::buildPerElement(memref::LoadOp load) {
  Type type = getStoredType(b, load.getType());
  Value buffer = b.allocate(getTileType(b, tile.scores, type));
  copyElements(load, buffer, b.index(0), tile.numKeys, b.index(0),
               tile.numQueries, /*widened=*/false);
  clearOtherLanes(buffer);
  return buffer;
}

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

void CapturedTiles::transposeBlock(Value source, Value buffer,
                                   ValueRange origin, unsigned laneDim,
                                   Value row, Value lane) {
  Type elementType = cast<MemRefType>(source.getType()).getElementType();
  auto vector =
      VectorType::get(128 / elementType.getIntOrFloatBitWidth(), elementType);
  SmallVector<Value> first(origin);
  first[laneDim] = b.addI(first[laneDim], lane);
  first.back() = b.addI(first.back(), row);
  auto load = [&](int64_t offset) -> Value {
    SmallVector<Value> indices(first);
    Value moved = b.addI(indices[laneDim], offset);
    indices[laneDim] = hideRelation(b, moved);
    return b.create<vector::LoadOp>(vector, source, indices);
  };
  for (auto [i, column] :
       llvm::enumerate(buildTransposedBlock(b, elementType, load))) {
    Value target = b.addI(row, int64_t(i));
    b.create<vector::StoreOp>(column, buffer, ValueRange{target, lane});
  }
}

Value CapturedTiles::buildTransposed(memref::LoadOp load) {
  Value source = viewAsBytes(b, captured.lookup(load.getMemRef()));
  Type elementType = cast<MemRefType>(source.getType()).getElementType();
  Type wideType =
      isa<FloatType>(elementType) ? Type(b.getF32Type()) : b.getI32Type();
  Value buffer = b.allocate(getTileType(b, tile.scores, wideType));
  clearOtherLanes(buffer);
  Value zero = b.index(0);
  if (!canTransposeBlocks(b, elementType)) {
    copyElements(load, buffer, zero, tile.numKeys, zero, tile.numQueries,
                 /*widened=*/true);
    return buffer;
  }

  // Blocks that exist as a whole, and what is left below and beside them.
  SmallVector<Value> origin = evaluateIndices(load, zero, nullptr);
  unsigned laneDim = 0;
  while (!dependence.onLane(load.getIndices()[laneDim]))
    ++laneDim;
  auto roundDown = [&](Value count, int64_t step) {
    Value rest = b.remUI(count, step);
    return b.subI(count, rest);
  };
  int64_t columns = getBlockColumns(elementType);
  Value fullLanes = roundDown(tile.numQueries, b.getWidth());
  Value fullRows = roundDown(tile.numKeys, columns);
  b.loop(zero, fullLanes, b.getWidth(), [&](Value lane) {
    b.loop(zero, fullRows, columns, [&](Value row) {
      transposeBlock(source, buffer, origin, laneDim, row, lane);
    });
  });
  copyElements(load, buffer, fullRows, tile.numKeys, zero, fullLanes,
               /*widened=*/true);
  copyElements(load, buffer, zero, tile.numKeys, fullLanes, tile.numQueries,
               /*widened=*/true);
  return buffer;
}
