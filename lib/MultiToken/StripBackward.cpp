//===- StripBackward.cpp - Parallel iterations of gradients ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripBackward.h"
#include "lib/Reference/StageCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

StripBackward::StripBackward(MultiTokenAttentionBackwardOp op,
                             MultiTokenAttentionOp attention, Region &slope,
                             OpBuilder &builder, int64_t mostRows)
    : StripLowering(attention, builder), gradients(op), slope(slope),
      unitHeads(std::lcm(heads, attention.getGroupSize())) {
  int64_t length =
      cast<ShapedType>(op.getOutputGradient().getType()).getDimSize(2);
  tileRows =
      ShapedType::isStatic(length) ? std::min(mostRows, length) : mostRows;
  int64_t multiple = tileRows < kRowMultiple ? 1 : kRowMultiple;
  weightRows = llvm::alignTo(tileRows + after.getQueryHalo(), multiple);
  scoreRows = llvm::alignTo(weightRows + before.getQueryHalo(), multiple);
  frontRows = scoreRows - weightRows;
  gradientRows = scoreRows + before.getQueryHalo();
  margin = llvm::alignTo(
      std::max<int64_t>({before.getKeyHalo(), after.getKeyHalo(), 1}), 16);
  firstColumn = margin;
  chunkBlocks = lead = leadBlocks = 0;
}

SmallVector<Value> StripBackward::emit() {
  prepare();
  valueBlocks = emitKeyBlocks(op.getValue());
  StageCode code(b, loc);
  transposedBefore = code.transpose(before);
  transposedAfter = code.transpose(after);
  numRows = dim(gradients.getOutputGradient(), 2);
  past = subtract(numQueries, numRows); // T2
  SmallVector<OpFoldResult> counts =
      fold({dim(op.getQuery(), 0), op.getNumQueryHeads() / unitHeads});
  auto forall = scf::ForallOp::create(b, loc, counts, createParts(),
                                      /*mapping=*/std::nullopt);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forall.getBody());
    emitIteration(forall);
  }
  SmallVector<Value> results;
  for (unsigned number = 0; number < gradients.getOuts().size(); ++number)
    results.push_back(emitGradient(number, forall.getResult(number)));
  Value isFinite =
      AllFiniteOp::create(b, loc, b.getI1Type(), forall.getResults().back());
  return emitUnlessFinite(isFinite, results);
}

SmallVector<Value> StripBackward::createParts() {
  SmallVector<Value> parts(gradients.getOuts());
  Value numBatches = dim(op.getQuery(), 0);
  for (unsigned number = 3; number < parts.size(); ++number) {
    // One for each batch entry, added up afterwards.
    SmallVector<Number> sizes = {numBatches};
    for (int64_t size : getDifferentiatedType(number).getShape())
      sizes.push_back(size);
    parts[number] = empty(fold(sizes), f32);
  }
  // Of each iteration, 0 if what it computed is finite.
  parts.push_back(empty({numBatches, op.getNumQueryHeads() / unitHeads}, f32));
  return parts;
}

Box StripBackward::getPart(unsigned number, Value batch, Value unit) {
  int64_t numUnits = op.getNumQueryHeads() / unitHeads;
  auto of = [&](int64_t count) {
    return Box{{batch, multiply(unit, count / numUnits)},
               {1, count / numUnits}};
  };
  if (number == gradients.getOuts().size())
    return of(numUnits);
  RankedTensorType type = getDifferentiatedType(number);
  bool hasBatches = number < 3;
  Box box = of(type.getDimSize(hasBatches ? 1 : 0));
  Value like = gradients.getDifferentiated()[number].first;
  for (int64_t dimension = hasBatches ? 2 : 1; dimension < type.getRank();
       ++dimension) {
    box.offsets.push_back(0);
    box.sizes.push_back(tensor::getMixedSize(b, loc, like, dimension));
  }
  return box;
}

void StripBackward::emitIteration(scf::ForallOp forall) {
  Value batch = forall.getInductionVar(0), unit = forall.getInductionVar(1);
  SmallVector<Value> parts(forall.getRegionIterArgs()), sums;
  SmallVector<Box> boxes;
  for (auto [number, part] : llvm::enumerate(parts)) {
    boxes.push_back(getPart(unsigned(number), batch, unit));
    if (number + 1 == parts.size())
      break;
    auto type = cast<RankedTensorType>(part.getType());
    Value own = slice(part, boxes.back(), unsigned(type.getRank()) - 1);
    if (type.getElementType() != f32)
      own = emptyLike(own, f32);
    sums.push_back(fill(own, 0.0));
  }
  Value firstHead = multiply(unit, unitHeads);
  auto emitGroup = [&](Value group, ValueRange carried) {
    Value c = multiply(group, heads);
    auto emitRows = [&](Value number, ValueRange carried) {
      Value row = multiply(number, tileRows);
      Tile tile;
      tile.batch = batch;
      tile.numHeads = heads;
      tile.firstHead = add(firstHead, c);
      tile.first = subtract(add(past, row), scoreRows - tileRows);
      tile.position = add(op.createFirstPosition(b, batch, numQueries, numKeys),
                          tile.first);
      emitKeys(tile);
      emitQueries(tile);
      return emitTile(tile, c, row, carried);
    };
    Value numTiles =
        arith::CeilDivUIOp::create(b, loc, numRows, index(tileRows));
    return loop(zero, numTiles, carried, emitRows);
  };
  sums = loop(zero, index(unitHeads / heads), sums, emitGroup);

  Value isFinite;
  for (Value sum : ArrayRef(sums).take_front(3)) {
    Value is = AllFiniteOp::create(b, loc, b.getI1Type(), sum);
    isFinite = isFinite ? arith::AndIOp::create(b, loc, isFinite, is) : is;
  }
  Value flag = select(isFinite, real(f32, 0.0), real(f32, kInfinity));
  Value flags =
      linalg::FillOp::create(b, loc, flag, empty({1, 1}, f32)).getResult(0);
  for (auto [number, sum] : llvm::enumerate(sums))
    insertInParallel(
        forall,
        convertElements(
            sum, cast<FloatType>(cast<RankedTensorType>(parts[number].getType())
                                     .getElementType())),
        parts[number], boxes[number]);
  insertInParallel(forall, flags, parts.back(), boxes.back());
}

Value StripBackward::emitGradient(unsigned number, Value parts) {
  if (number < 3)
    return parts;
  Value out = gradients.getOuts()[number];
  auto type = cast<RankedTensorType>(out.getType());
  Value sums = type.getElementType() == f32 ? out : emptyLike(out, f32);
  SmallVector<AffineExpr> all, kept;
  for (unsigned dim = 0; dim <= type.getRank(); ++dim)
    all.push_back(b.getAffineDimExpr(dim));
  kept.append(all.begin() + 1, all.end());
  sums = createGeneric(b, loc, parts, fill(sums, 0.0), {all, kept},
                       [&](ValueRange x) { return addF(x[1], x[0]); });
  return convertElements(sums, cast<FloatType>(type.getElementType()));
}

/// The gradients as they are, or computed once more by an op without a plan,
/// which the reference lowering is for (B4).
SmallVector<Value> StripBackward::emitUnlessFinite(Value isFinite,
                                                   ValueRange results) {
  auto ifOp = scf::IfOp::create(b, loc, TypeRange(results), isFinite,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, loc, results);
  b.setInsertionPointToStart(ifOp.elseBlock());
  auto exact = cast<MultiTokenAttentionBackwardOp>(b.clone(*gradients));
  exact->removeAttr(PlanAttr::kName);
  exact.getOutsMutable().assign(results);
  scf::YieldOp::create(b, loc, exact.getResults());
  return ifOp.getResults();
}
