//===- ProjectionOperands.cpp - Rows and columns of a projection ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/OnlineInPairs.h"
#include "lib/Plan/Plan.h"
#include "lib/Projection/ProjectionTiles.h"

using namespace mlir;
using namespace mlir::attn;

OpFoldResult ProjectionTiles::apply(AffineExpr expr,
                                    ArrayRef<OpFoldResult> operands) {
  return affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), AffineMap::get(operands.size(), 0, expr), operands);
}

OpFoldResult ProjectionTiles::minimum(ArrayRef<AffineExpr> exprs,
                                      ArrayRef<OpFoldResult> operands) {
  return affine::makeComposedFoldedAffineMin(
      b, b.getLoc(), AffineMap::get(operands.size(), 0, exprs, b.getContext()),
      operands);
}

/// The number is split where bf16 ends, and so is the rest: 24 bits are three
/// parts of 8. What has no rest is split in halves, so that all parts have its
/// sign, and are 0, infinite or NaN if and only if it is. An infinite weight
/// would else meet a part of 0, and an infinite number's rest be NaN.
Value ProjectionTiles::emitPart(Value number, int64_t part) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value mask = arith::ConstantOp::create(
      b, b.getIntegerAttr(i32, APInt(32, 0xffff0000)));
  Value half = b.real(f32, 0.5);
  Value rest = b.convert(number, f32);
  for (int64_t i = 0; i + 1 < numParts; ++i) {
    Value bits = arith::BitcastOp::create(b, i32, rest);
    Value upper = arith::BitcastOp::create(b, f32, b.bitAnd(bits, mask));
    Value isWhole = b.isEqualF(rest, upper), halved = b.mulF(rest, half);
    if (i == part) {
      rest = b.select(isWhole, halved, upper);
      break;
    }
    rest = b.select(isWhole, halved, b.subF(rest, upper));
  }
  return b.convert(rest, multiplied);
}

Value ProjectionTiles::convertElements(Value source, Value destination,
                                       ArrayRef<AffineExpr> from,
                                       std::optional<int64_t> part) {
  auto type = cast<RankedTensorType>(destination.getType());
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  return b.generic(
      source, destination,
      {AffineMap::get(type.getRank(), 0, from, b.getContext()), identity},
      [&](ValueRange e) {
        return part ? emitPart(e[0], *part)
                    : b.convert(e[0], type.getElementType());
      });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

OpFoldResult ProjectionTiles::getLength() {
  int64_t dim = op.getInputType().getRank() - 2;
  return b.size(op.getInput(), dim);
}

OpFoldResult ProjectionTiles::getNumRows() {
  AffineExpr batch, length;
  bindDims(b.getContext(), batch, length);
  OpFoldResult sizes[] = {b.size(op.getInput(), 0), getLength()};
  if (isOneBatch)
    return sizes[1];
  if (auto batches = getConstantIntValue(sizes[0]))
    return apply(length * *batches, sizes);
  if (auto rows = getConstantIntValue(sizes[1]))
    return apply(batch * *rows, sizes);
  return arith::MulIOp::create(b, cast<Value>(sizes[0]), cast<Value>(sizes[1]))
      .getResult();
}

Value ProjectionTiles::forRows(
    OpFoldResult count, Value initial,
    function_ref<Value(Value i, OpFoldResult batch, OpFoldResult row, Value)>
        body,
    OpFoldResult first) {
  return b.loop(0, count, 1, initial, [&](Value i, Value carried) {
    Value row = arith::AddIOp::create(b, i, b.index(first));
    Value length = b.index(getLength());
    Value batch = arith::DivUIOp::create(b, row, length);
    row = arith::RemUIOp::create(b, row, length);
    return body(i, batch, row, carried);
  });
}

Value ProjectionTiles::gatherBlock(OpFoldResult batch, OpFoldResult row,
                                   OpFoldResult count, OpFoldResult to,
                                   Value rows) {
  ShapedType type = op.getInputType();
  OpFoldResult zero = index(0), one = index(1);
  SmallVector<AffineExpr> same = {b.getAffineDimExpr(0), b.getAffineDimExpr(1)};
  auto copy = [&](ArrayRef<OpFoldResult> at, ArrayRef<OpFoldResult> sizes,
                  OpFoldResult column, Value rows) {
    OpFoldResult box[] = {count, sizes.back()}, corner[] = {to, column};
    Value from = b.slice(op.getInput(), at, sizes, box);
    Value copied = convertElements(from, b.slice(rows, corner, box, box), same);
    return b.insert(copied, rows, corner, box);
  };
  if (type.getRank() == 3)
    return copy({batch, row, zero}, {one, count, index(numFeatures)}, zero,
                rows);
  int64_t size = type.getDimSize(3);
  return b.loop(0, type.getDimSize(1), 1, rows, [&](Value head, Value rows) {
    OpFoldResult column = apply(b.getAffineDimExpr(0) * size, {head});
    return copy({batch, head, row, zero}, {one, one, count, index(size)},
                column, rows);
  });
}

Value ProjectionTiles::gatherRows(OpFoldResult first, OpFoldResult count,
                                  int64_t capacity) {
  Value rows =
      b.empty({capacity, numFeatures},
              numParts > 1 ? op.getInputType().getElementType() : multiplied);
  if (isOneBatch)
    return gatherBlock(index(0), first, count, index(0), rows);
  return forRows(
      count, rows,
      [&](Value i, OpFoldResult batch, OpFoldResult row, Value rows) {
        return gatherBlock(batch, row, index(1), i, rows);
      },
      first);
}

Value ProjectionTiles::getRows(OpFoldResult first, OpFoldResult count,
                               int64_t capacity) {
  OpFoldResult zero = index(0), one = index(1), k = index(numFeatures);
  OpFoldResult box[] = {count, k};
  ShapedType type = op.getInputType();
  if (isOneBatch && type.getRank() == 3 &&
      (type.getElementType() == multiplied || numParts > 1))
    return b.slice(op.getInput(), {zero, first, zero}, {one, count, k}, box);
  return b.slice(gatherRows(first, count, capacity), {zero, zero}, box, box);
}

Value ProjectionTiles::getFewRows(int64_t capacity) {
  OpFoldResult zero = index(0), box[] = {numRows, index(numFeatures)};
  Value whole = getRows(zero, numRows, capacity);
  Type f32 = b.getF32Type();
  if (numParts == 1 ||
      cast<ShapedType>(whole.getType()).getElementType() == f32)
    return whole;
  Value converted =
      b.slice(b.empty({capacity, numFeatures}, f32), {zero, zero}, box, box);
  return convertElements(whole, converted,
                         {b.getAffineDimExpr(0), b.getAffineDimExpr(1)});
}

bool ProjectionTiles::packsInTiles() {
  if (plan.getPacks() != Packs::Kept)
    return false;
  linalg::GenericOp followed = epilogue ? epilogue->op : nullptr;
  Value written = followed ? followed.getDpsInits()[0] : op.getOuts().front();
  bool canKeep = canKeepPacks(op, written, [&](ProjectionOp other) {
    return llvm::any_of(
        others, [&](ProjectionTiles &joined) { return joined.op == other; });
  });
  if (!canKeep)
    op.emitRemark(
        "packs its rows before its tiles, because the result replaces "
        "them, or a projection that is not computed in the same tiles "
        "reads them as well");
  return canKeep;
}

SmallVector<OpFoldResult> ProjectionTiles::getPackSizes(OpFoldResult count) {
  OpFoldResult size = index(getRowsPerPack());
  if (!inPairs)
    return {count, index(numFeatures), size};
  return {count, index(numFeatures / kFeaturesPerTile), index(numParts), size,
          index(kFeaturesPerTile)};
}

Value ProjectionTiles::packRows() {
  int64_t size = getRowsPerPack();
  OpFoldResult count = apply(b.getAffineDimExpr(0).ceilDiv(size), {numRows});
  SmallVector<OpFoldResult> sizes = getPackSizes(count);
  Value packs = b.empty(sizes, multiplied);
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp loop = b.enterForall(count, packs);
  Value number = loop.getInductionVars()[0];
  Value all = loop.getRegionIterArgs()[0];
  SmallVector<OpFoldResult> at(sizes.size(), index(0));
  at[0] = number;
  sizes[0] = index(1);
  Value packed =
      emitPack(number, b.slice(all, at, sizes, ArrayRef(sizes).drop_front()));
  b.insertInParallel(loop, packed, all, at, sizes);
  return loop.getResult(0);
}

Value ProjectionTiles::keepPacksOfTile(OpFoldResult tile) {
  int64_t perTile = getPacksPerTile();
  AffineExpr i, n;
  bindDims(b.getContext(), i, n);
  OpFoldResult first = apply(i * perTile, {tile}),
               count = minimum({b.getAffineConstantExpr(perTile),
                                n.ceilDiv(getRowsPerPack()) - i * perTile},
                               {tile, numRows});
  SmallVector<OpFoldResult> sizes = getPackSizes(index(perTile));
  Type index = b.getIndexType();
  auto kept = KeptPacksOp::create(
      b,
      TypeRange{
          RankedTensorType::get(decomposeMixedValues(sizes).first, multiplied),
          index, index, index},
      b.index(first), b.index(count), /*of=*/ValueRange(),
      /*most=*/Value());
  sizes[0] = b.getIndexAttr(1);
  auto pack = [&](Value number, ValueRange packs) -> SmallVector<Value> {
    SmallVector<OpFoldResult> at(sizes.size(), b.getIndexAttr(0));
    at[0] = apply(i - n * perTile, {number, tile});
    Value to = b.slice(packs[0], at, sizes, ArrayRef(sizes).drop_front());
    return {b.insert(emitPack(number, to), packs[0], at, sizes)};
  };
  return b.loop(kept.getFrom(), kept.getTo(), 1, kept.getPacks(), pack)[0];
}

Value ProjectionTiles::emitPack(Value number, Value to) {
  int64_t size = getRowsPerPack();
  OpFoldResult zero = index(0), one = index(1);
  AffineExpr i, n;
  bindDims(b.getContext(), i, n);
  OpFoldResult first = apply(i * size, {number});
  OpFoldResult numRowsOfPack =
      minimum({b.getAffineConstantExpr(size), n - i * size}, {number, numRows});
  if (!inPairs) {
    Value rows = gatherRows(first, numRowsOfPack, size);
    return b.transpose(rows, to, {1, 0});
  }
  AffineExpr t, m, c;
  bindDims(b.getContext(), t, m, c);
  Value tiles =
      expandDim(b, getRows(first, numRowsOfPack, size), 1, kFeaturesPerTile);
  SmallVector<OpFoldResult> all = getPackSizes(one);
  all.erase(all.begin());
  for (int64_t part = 0; part < numParts; ++part) {
    SmallVector<OpFoldResult> corner(all.size(), zero), onePart(all);
    corner[1] = index(part);
    onePart[1] = one;
    onePart[2] = numRowsOfPack;
    SmallVector<OpFoldResult> kept(onePart);
    kept.erase(kept.begin() + 1);
    Value partOfPack =
        convertElements(tiles, b.slice(to, corner, onePart, kept), {m, t, c},
                        numParts > 1 ? std::optional(part) : std::nullopt);
    to = b.insert(partOfPack, to, corner, onePart);
  }
  return to;
}
