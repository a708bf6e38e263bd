//===- StripBackward.cpp - Parallel iterations of gradients ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripBackward.h"
#include "lib/Plan/Redo.h"
#include "lib/Reference/StageCode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

StripBackward::StripBackward(MultiTokenAttentionBackwardOp op,
                             MultiTokenAttentionOp attention, Region &slope,
                             OpBuilder &builder, PlanAttr plan)
    : StripLowering(attention, builder), gradients(op), slope(slope),
      unitHeads(std::lcm(heads, attention.getGroupSize())) {
  setTile(plan);
  frontRows = scoreRows - weightRows;
  gradientRows = scoreRows + before.getQueryHalo();
  firstColumn = margin;
  chunkBlocks = lead = leadBlocks = 0;
}

SmallVector<Value> StripBackward::emit() {
  prepare();
  valueBlocks = emitKeyBlocks(op.getValue());
  StageCode code(getLoc(), *this);
  transposedBefore = code.transpose(before);
  transposedAfter = code.transpose(after);
  numRows = dim(gradients.getOutputGradient(), 2);
  past = sub(numQueries, numRows); // T2
  SmallVector<OpFoldResult> counts =
      fold({dim(op.getQuery(), 0), op.getNumQueryHeads() / unitHeads});
  SmallVector<Value> parts = createParts();
  scf::ForallOp forall;
  {
    OpBuilder::InsertionGuard guard(*this);
    forall = enterForall(counts, parts);
    emitIteration(forall);
  }
  SmallVector<Value> results;
  for (unsigned number = 0; number < gradients.getOuts().size(); ++number)
    results.push_back(emitGradient(number, forall.getResult(number)));
  Value isFinite =
      AllFiniteOp::create(*this, getI1Type(), forall.getResults().back());
  return emitUnlessFinite(*this, gradients, isFinite, results);
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
    return Box{{batch, mul(unit, count / numUnits)}, {1, count / numUnits}};
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
    box.sizes.push_back(size(like, dimension));
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
    Value own = extract(part, boxes.back(), unsigned(type.getRank()) - 1);
    if (type.getElementType() != f32)
      own = emptyLike(own, f32);
    sums.push_back(fill(own, 0.0));
  }
  Value firstHead = mul(unit, unitHeads);
  auto emitGroup = [&](Value group, ValueRange carried) {
    Value c = mul(group, heads);
    auto emitRows = [&](Value number, ValueRange carried) {
      Value row = mul(number, tileRows);
      Value head = add(firstHead, c);
      return emitTile(createTile(batch, head, add(past, row)), c, row, carried);
    };
    Value numTiles = ceilDiv(numRows, tileRows);
    return loop(0, numTiles, carried, emitRows);
  };
  sums = loop(0, unitHeads / heads, sums, emitGroup);

  Value isFinite;
  for (Value sum : ArrayRef(sums).take_front(3)) {
    Value is = AllFiniteOp::create(*this, getI1Type(), sum);
    isFinite = isFinite ? bitAnd(isFinite, is) : is;
  }
  Value flags =
      fill(empty({1, 1}, f32), select(isFinite, real(0.0), real(kInfinity)));
  for (auto [number, sum] : llvm::enumerate(sums))
    insertInParallel(forall,
                     convertElements(sum, getElementTypeOrSelf(parts[number])),
                     parts[number], boxes[number]);
  insertInParallel(forall, flags, parts.back(), boxes.back());
}

Value StripBackward::emitGradient(unsigned number, Value parts) {
  if (number < 3)
    return parts;
  Value out = gradients.getOuts()[number];
  AffineMap all = getMultiDimIdentityMap(
      unsigned(cast<RankedTensorType>(parts.getType()).getRank()));
  Value sums =
      generic(parts, TensorCode::emitSums(out, f32), {all, all.dropResult(0)},
              [&](ValueRange x) { return addF(x[1], x[0]); });
  return convertElements(sums, getElementTypeOrSelf(out));
}
