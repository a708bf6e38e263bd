//===- TileBlocks.cpp - Blocks of a product in AMX tiles ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/TileBlocks.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

TileBlocks::TileBlocks(IndexBuilder &b, const Contraction &contraction,
                       const PrefetchShares &ofContraction)
    : b(b), contraction(contraction), shares(ofContraction) {
  if (shares.empty())
    return;
  auto blockOf = [](int64_t size) {
    return int64_t(llvm::divideCeil(size, 2 * kSize));
  };
  if (shares.getNumLines() > 0 && contraction.mostRows > 0 &&
      contraction.mostSteps > 0) {
    shares.cut(b, b.index(blockOf(contraction.mostRows) *
                          blockOf(contraction.getNumLanes()) *
                          contraction.mostSteps / kSize));
    return;
  }
  Value count = getBlock(b.createOrFold<memref::DimOp>(contraction.c, 0));
  count = b.mul(count, getBlock(b.index(contraction.getNumLanes())));
  for (unsigned depth = 0; depth < contraction.getNumContracted(); ++depth)
    count = b.mul(count, getNumSteps(depth));
  shares.cut(b, count);
}

Value TileBlocks::getBlock(Value index) { return b.ceilDiv(index, 2 * kSize); }

Value TileBlocks::getNumSteps(unsigned depth) {
  Value size = b.createOrFold<memref::DimOp>(contraction.b,
                                             contraction.getDimOfB(depth));
  return depth + 1 == contraction.getNumContracted() ? b.div(size, kSize)
                                                     : size;
}

void TileBlocks::emitShare(Value row, Value column, ValueRange k) {
  if (shares.empty())
    return;
  Value number =
      b.mul(getBlock(row), getBlock(b.index(contraction.getNumLanes())));
  number = b.add(number, getBlock(column));
  for (auto [depth, step] : llvm::enumerate(k)) {
    if (depth + 1 == k.size())
      step = b.div(step, kSize);
    number = b.add(b.mul(number, getNumSteps(depth)), step);
  }
  shares.emit(b, number);
}

Value TileBlocks::load(TypedValue<MemRefType> from, ValueRange indices) {
  Type element = from.getType().getElementType();
  int64_t columns = element.isBF16() ? 2 * kSize : kSize;
  return amx::TileLoadOp::create(
      b, amx::TileType::get({kSize, columns}, element), from, indices);
}

/// amx.tile_load has no hint.
Value TileBlocks::loadOnce(TypedValue<MemRefType> from, ValueRange indices) {
  MemRefType type = from.getType();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Type i16 = b.getI16Type(), i64 = b.getI64Type();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, from);
  Value element = metadata.getOffset();
  for (auto [index, stride] :
       llvm::zip_equal(indices, metadata.getConstifiedMixedStrides()))
    element = b.add(element, b.mul(index, b.index(stride)));
  Value address = arith::AddIOp::create(
      b, memref::ExtractAlignedPointerAsIndexOp::create(b, from),
      b.mul(element, bytes));
  Value pointer = LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()),
      Value(arith::IndexCastOp::create(b, i64, address)));
  Value pitch = b.mul(b.index(metadata.getConstifiedMixedStrides().end()[-2]),
                      b.index(bytes));
  Value operands[] = {
      arith::ConstantOp::create(b, b.getIntegerAttr(i16, kSize)),
      arith::ConstantOp::create(b, b.getIntegerAttr(i16, 64)), pointer,
      arith::IndexCastOp::create(b, i64, pitch)};
  Value tile = LLVM::CallIntrinsicOp::create(
                   b, LLVM::LLVMX86AMXType::get(b.getContext()),
                   b.getStringAttr("llvm.x86.tileloaddt164.internal"), operands)
                   ->getResult(0);
  auto tileType = amx::TileType::get({kSize, 2 * kSize}, type.getElementType());
  return UnrealizedConversionCastOp::create(b, tileType, tile).getResult(0);
}

void TileBlocks::emit(Value row, Value column, int64_t rowTiles,
                      int64_t columnTiles) {
  SmallVector<Value> rows, columns, acc;
  for (int64_t i = 0; i < rowTiles; ++i)
    rows.push_back(b.add(row, i * kSize));
  for (int64_t i = 0; i < columnTiles; ++i)
    columns.push_back(b.add(column, i * kSize));
  acc = emitStart(rows, columns);
  emitSteps(rows, columns, {}, acc);
  for (auto [i, tile] : llvm::enumerate(acc))
    amx::TileStoreOp::create(
        b, contraction.c,
        ValueRange{rows[i / columns.size()], columns[i % columns.size()]},
        tile);
}

/// What products are added to.
SmallVector<Value> TileBlocks::emitStart(ValueRange rows, ValueRange columns) {
  auto type = amx::TileType::get({kSize, kSize}, contraction.getElementType());
  auto emit = [&](bool isZero) {
    SmallVector<Value> tiles;
    for (Value i : rows)
      for (Value j : columns)
        tiles.push_back(isZero ? Value(amx::TileZeroOp::create(b, type))
                               : load(contraction.c, {i, j}));
    return tiles;
  };
  if (!contraction.isZero)
    return emit(bool(contraction.producer));
  return b.choose(
      contraction.isZero, [&] { return emit(/*isZero=*/true); },
      [&] { return emit(/*isZero=*/false); });
}

void TileBlocks::emitSteps(ValueRange rows, ValueRange columns,
                           ValueRange outer, SmallVector<Value> &acc) {
  unsigned depth = outer.size();
  int64_t size = contraction.getNumSteps(depth);
  if (depth + 1 == contraction.getNumContracted()) {
    for (int64_t first = 0; first + kSize <= size; first += kSize) {
      SmallVector<Value> k(outer);
      k.push_back(b.index(first));
      emitStep(rows, columns, k, acc);
    }
    return;
  }
  Value end = b.createOrFold<memref::DimOp>(contraction.b,
                                            contraction.getDimOfB(depth));
  emitLoop(b, b.index(0), end, 1, acc, [&](Value i) {
    SmallVector<Value> k(outer);
    k.push_back(i);
    emitSteps(rows, columns, k, acc);
  });
}

void TileBlocks::emitStep(ValueRange rows, ValueRange columns, ValueRange k,
                          SmallVector<Value> &acc) {
  auto twice = [&](Value value) { return b.mul(value, 2); };
  SmallVector<Value> kOfA(k);
  kOfA.back() = twice(k.back());
  contraction.store.emitStep(b, k.front());
  emitShare(rows.front(), columns.front(), k);
  auto loadRow = [&](Value row) {
    SmallVector<Value> at = getIndices(contraction.mapOfA, row, Value(), kOfA);
    return contraction.readsAOnce ? loadOnce(contraction.a, at)
                                  : load(contraction.a, at);
  };
  SmallVector<Value> tilesOfA, tilesOfB;
  kOfA.emplace_back();
  for (int64_t term = contraction.getNumTerms() - 1; term >= 0; --term) {
    kOfA.back() = b.index(term);
    tilesOfA = llvm::map_to_vector(rows, loadRow);
    // Once for all terms.
    if (tilesOfB.empty())
      for (Value column : columns)
        tilesOfB.push_back(
            load(contraction.b,
                 getIndices(contraction.mapOfB, Value(), twice(column), k)));
    for (auto [i, sum] : llvm::enumerate(acc))
      sum = amx::TileMulFOp::create(b, sum.getType(),
                                    tilesOfA[i / tilesOfB.size()],
                                    tilesOfB[i % tilesOfB.size()], sum);
  }
}
