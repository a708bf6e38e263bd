//===- NamedMasksAndScores.cpp - The named masks and scores ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/NamedMasksAndScores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

Value indexConstant(RegionBuilder at, int64_t value) {
  return arith::ConstantIndexOp::create(at.builder, at.loc, value);
}

Value compare(RegionBuilder at, arith::CmpIPredicate predicate, Value lhs,
              Value rhs) {
  return arith::CmpIOp::create(at.builder, at.loc, predicate, lhs, rhs);
}

Value load(RegionBuilder at, Value source, ValueRange indices) {
  if (isa<MemRefType>(source.getType()))
    return memref::LoadOp::create(at.builder, at.loc, source, indices);
  return tensor::ExtractOp::create(at.builder, at.loc, source, indices);
}

/// Loads `source[indices]` broadcast to the indices: the last dimensions of
/// both are matched, and dimensions of static size 1 are read at 0.
Value loadBroadcast(RegionBuilder at, Value source, ArrayRef<Value> indices) {
  auto type = cast<ShapedType>(source.getType());
  SmallVector<Value> used;
  for (auto [dim, index] :
       llvm::enumerate(indices.take_back(size_t(type.getRank()))))
    used.push_back(type.getDimSize(int64_t(dim)) == 1 ? indexConstant(at, 0)
                                                      : index);
  return load(at, source, used);
}

/// Converts a float between widths; f16 and bf16 meet in f32.
Value toFloat(RegionBuilder at, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(at.builder, at.loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(at.builder, at.loc, type, value);
  return value;
}

} // namespace

Value mlir::attn::buildIndex(RegionBuilder at, Value integer,
                             ValueRange element) {
  if (!element.empty())
    integer = load(at, integer, element);
  if (integer.getType().isIndex())
    return integer;
  return arith::IndexCastOp::create(at.builder, at.loc,
                                    at.builder.getIndexType(), integer);
}

Value mlir::attn::buildSoftcap(RegionBuilder at, Value s, Value cap) {
  bool isCaptured = isa<BlockArgument>(cap);
  cap = toFloat(at, cap, s.getType());
  Value ratio = arith::DivFOp::create(at.builder, at.loc, s, cap);
  auto bounded = math::TanhOp::create(at.builder, at.loc, ratio);
  if (isCaptured)
    bounded->setAttr(kCapMark, at.builder.getUnitAttr());
  return arith::MulFOp::create(at.builder, at.loc, cap, bounded);
}

SmallVector<BlockArgument> mlir::attn::findCapturedCaps(Region &score) {
  SmallVector<BlockArgument> caps;
  if (score.empty())
    return caps;
  for (auto tanh : score.front().getOps<math::TanhOp>()) {
    auto ratio = tanh.getOperand().getDefiningOp<arith::DivFOp>();
    if (!ratio || !tanh->hasAttr(kCapMark))
      continue;
    Value divisor = ratio.getRhs(), source = divisor;
    while (
        isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(source.getDefiningOp()))
      source = source.getDefiningOp()->getOperand(0);
    auto cap = dyn_cast<BlockArgument>(source);
    // The first argument is the score.
    if (cap && cap.getArgNumber() != 0 && !llvm::is_contained(caps, cap))
      caps.push_back(cap);
  }
  return caps;
}

Value mlir::attn::buildAlibi(RegionBuilder at, Value s, const Position &pos,
                             Value slopes) {
  Value slope = toFloat(at, load(at, slopes, pos.h), s.getType());
  Value difference = arith::SubIOp::create(at.builder, at.loc, pos.p, pos.j);
  Value distance = math::AbsIOp::create(at.builder, at.loc, difference);
  Value integer = arith::IndexCastOp::create(at.builder, at.loc,
                                             at.builder.getI64Type(), distance);
  Value real =
      arith::SIToFPOp::create(at.builder, at.loc, s.getType(), integer);
  Value penalty = arith::MulFOp::create(at.builder, at.loc, slope, real);
  return arith::SubFOp::create(at.builder, at.loc, s, penalty);
}

Value mlir::attn::buildBias(RegionBuilder at, Value s, const Position &pos,
                            Value bias) {
  Value term = loadBroadcast(at, bias, {pos.b, pos.h, pos.p, pos.j});
  return arith::AddFOp::create(at.builder, at.loc, s,
                               toFloat(at, term, s.getType()));
}

Value mlir::attn::buildCausal(RegionBuilder at, const Position &pos) {
  return compare(at, arith::CmpIPredicate::sle, pos.j, pos.p);
}

Value mlir::attn::buildSlidingWindow(RegionBuilder at, const Position &pos,
                                     int64_t left, int64_t right) {
  Value keep;
  auto addBound = [&](Value bound) {
    keep =
        keep ? arith::AndIOp::create(at.builder, at.loc, keep, bound) : bound;
  };
  if (left >= 0) {
    Value first = arith::SubIOp::create(at.builder, at.loc, pos.p,
                                        indexConstant(at, left));
    addBound(compare(at, arith::CmpIPredicate::sle, first, pos.j));
  }
  if (right >= 0) {
    Value last = arith::AddIOp::create(at.builder, at.loc, pos.p,
                                       indexConstant(at, right));
    addBound(compare(at, arith::CmpIPredicate::sle, pos.j, last));
  }
  if (keep)
    return keep;
  return arith::ConstantOp::create(at.builder, at.loc,
                                   at.builder.getBoolAttr(true));
}

Value mlir::attn::buildPrefixLM(RegionBuilder at, const Position &pos,
                                Value lengths) {
  Value length = buildIndex(at, lengths, pos.b);
  Value prefix = compare(at, arith::CmpIPredicate::slt, pos.j, length);
  return arith::OrIOp::create(at.builder, at.loc, prefix, buildCausal(at, pos));
}

Value mlir::attn::buildKeyPadding(RegionBuilder at, const Position &pos,
                                  Value padding) {
  if (cast<ShapedType>(padding.getType()).getElementType().isInteger(1))
    return load(at, padding, {pos.b, pos.j});
  Value length = buildIndex(at, padding, pos.b);
  return compare(at, arith::CmpIPredicate::slt, pos.j, length);
}

Value mlir::attn::buildDocument(RegionBuilder at, const Position &pos,
                                Value queryDocument, Value keyDocument) {
  return compare(at, arith::CmpIPredicate::eq,
                 load(at, queryDocument, {pos.b, pos.p}),
                 load(at, keyDocument, {pos.b, pos.j}));
}

Value mlir::attn::buildBoolean(RegionBuilder at, const Position &pos,
                               Value mask) {
  return loadBroadcast(at, mask, {pos.b, pos.h, pos.p, pos.j});
}
