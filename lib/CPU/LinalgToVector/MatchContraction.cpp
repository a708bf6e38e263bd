//===- MatchContraction.cpp - Operands of a contraction -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/ContractionLoops.h"

#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::multipliesAndAdds(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  auto isPlain = [](Operation &nested) {
    return isa<arith::ExtFOp, arith::SIToFPOp, arith::MulFOp, arith::AddFOp,
               arith::ExtSIOp, arith::MulIOp, arith::AddIOp>(nested);
  };
  auto is = [](Value result, BlockArgument argument) {
    Operation *conversion = result.getDefiningOp();
    if (isa_and_nonnull<arith::ExtFOp, arith::SIToFPOp, arith::ExtSIOp>(
            conversion))
      result = conversion->getOperand(0);
    return result == argument;
  };
  Operation *sum = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum) ||
      !llvm::all_of(body.without_terminator(), isPlain))
    return false;
  bool isSecond = sum->getOperand(0) == body.getArgument(2);
  Operation *product = sum->getOperand(isSecond ? 1 : 0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ||
      (!isSecond && sum->getOperand(1) != body.getArgument(2)))
    return false;
  auto are = [&](Value x, Value y) {
    return is(x, body.getArgument(0)) && is(y, body.getArgument(1));
  };
  return are(product->getOperand(0), product->getOperand(1)) ||
         are(product->getOperand(1), product->getOperand(0));
}

/// Whether an operand ends with the loop over a pair, which is contiguous, and
/// side by side with the loop before it as far as its type says.
static bool endsWithPair(MemRefType type, AffineMap map, unsigned pair) {
  SmallVector<int64_t> strides;
  int64_t offset;
  unsigned rank = type.getRank();
  return rank >= 2 && type.getDimSize(rank - 1) == 2 &&
         map.getDimPosition(rank - 1) == pair &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[rank - 1] == 1 &&
         (strides[rank - 2] == 2 || ShapedType::isDynamic(strides[rank - 2]));
}

bool attn::hasKnownPairs(TypedValue<MemRefType> buffer) {
  auto [strides, offset] = buffer.getType().getStridesAndOffset();
  return strides.end()[-2] == 2;
}

std::pair<Value, TypedValue<MemRefType>>
attn::assumePairs(OpBuilder &b, TypedValue<MemRefType> buffer) {
  Location loc = buffer.getLoc();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, buffer);
  MemRefType type = buffer.getType();
  auto rank = static_cast<unsigned>(type.getRank());
  Value two = arith::ConstantIndexOp::create(b, loc, 2);
  Value holds = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                      metadata.getStrides()[rank - 2], two);
  SmallVector<OpFoldResult> strides = metadata.getConstifiedMixedStrides();
  strides[rank - 2] = b.getIndexAttr(2);
  SmallVector<int64_t> staticStrides;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(strides, dynamic, staticStrides);
  auto [typeStrides, offset] = type.getStridesAndOffset();
  auto known = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(b.getContext(), offset, staticStrides));
  Value view = memref::ReinterpretCastOp::create(
      b, loc, known, metadata.getBaseBuffer(),
      metadata.getConstifiedMixedOffset(), metadata.getConstifiedMixedSizes(),
      strides);
  return {holds, cast<TypedValue<MemRefType>>(view)};
}

/// Where a contraction has its operands' dimensions; a reason if it has none.
/// In pairs, operands still have the dimension of pairs, and maps do not.
static StringRef matchOperands(linalg::LinalgOp op, Contraction &contraction) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto isMatrix = [](AffineMap map) {
    return map.isProjectedPermutation() && map.getNumResults() >= 2;
  };
  if (!llvm::all_of(maps, isMatrix) || maps[2].getNumResults() != 2)
    return "does not contract two matrices to a matrix";
  unsigned m = maps[2].getDimPosition(0), n = maps[2].getDimPosition(1);
  for (unsigned loop : {m, n})
    if (op.getIteratorTypesArray()[loop] != utils::IteratorType::parallel)
      return "does not contract two matrices to a matrix";
  unsigned b = maps[1].isFunctionOfDim(n) ? 1 : 0;
  contraction.a =
      cast<TypedValue<MemRefType>>(op.getDpsInputOperand(1 - b)->get());
  contraction.b = cast<TypedValue<MemRefType>>(op.getDpsInputOperand(b)->get());
  contraction.c = cast<TypedValue<MemRefType>>(op.getDpsInitOperand(0)->get());
  AffineMap mapOfA = maps[1 - b], mapOfB = maps[b];
  unsigned last = mapOfB.getDimPosition(mapOfB.getNumResults() - 1);
  bool hasPairs = last != n && last != m &&
                  endsWithPair(contraction.a.getType(), mapOfA, last) &&
                  hasKnownPairs(contraction.a) &&
                  endsWithPair(contraction.b.getType(), mapOfB, last) &&
                  contraction.b.getType().getElementType().isBF16();
  Type typeOfA = contraction.a.getType().getElementType();
  contraction.inPairs = hasPairs && typeOfA.isBF16();
  contraction.widensPairs = hasPairs && typeOfA.isF32();
  if (contraction.hasPairs()) {
    mapOfA = mapOfA.dropResult(mapOfA.getNumResults() - 1);
    mapOfB = mapOfB.dropResult(mapOfB.getNumResults() - 1);
  }
  // Loops in the order of m, n, B's others, which A has too, and A's own.
  SmallVector<AffineExpr> order(maps[0].getNumDims());
  unsigned numLoops = 0;
  auto place = [&](unsigned loop) {
    order[loop] = getAffineDimExpr(numLoops++, op.getContext());
  };
  place(m);
  place(n);
  for (AffineExpr expr : mapOfB.getResults().drop_back())
    place(cast<AffineDimExpr>(expr).getPosition());
  // Of static size, so that its steps are not a loop.
  for (auto [expr, size] :
       llvm::zip(mapOfA.getResults(), contraction.a.getType().getShape()))
    if (unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        !order[loop] && contraction.inPairs && ShapedType::isStatic(size))
      place(loop);
  if (mapOfB.getDimPosition(mapOfB.getNumResults() - 1) != n ||
      mapOfB.isFunctionOfDim(m) || mapOfA.isFunctionOfDim(n) ||
      mapOfA.getNumResults() + 1 != numLoops ||
      mapOfA.getNumResults() > mapOfB.getNumResults() + 1 ||
      numLoops + contraction.hasPairs() != op.getNumLoops() ||
      llvm::any_of(mapOfA.getResults(), [&](AffineExpr expr) {
        return !order[cast<AffineDimExpr>(expr).getPosition()];
      }))
    return "has no row of lanes in an operand and the result";
  contraction.mapOfA = mapOfA.replaceDimsAndSymbols(order, {}, numLoops, 0);
  contraction.mapOfB = mapOfB.replaceDimsAndSymbols(order, {}, numLoops, 0);
  return "";
}

/// Why the elements are not those that the target multiplies; empty if they
/// are.
static StringRef whyNotMultiplied(const Contraction &contraction,
                                  const ContractionTarget &target) {
  MemRefType a = contraction.a.getType(), b = contraction.b.getType();
  Type type = contraction.getElementType();
  if (!contraction.inPairs) {
    Type typeOfB = b.getElementType();
    if (!(type.isF32() || type.isF64()) || a.getElementType() != type ||
        !(typeOfB == type || isNarrow(typeOfB)))
      return "is not all of f32 or all of f64";
  } else if (!type.isF32() || !target.dot || target.registers.bits != 512) {
    return "is in pairs, which the target does not multiply";
  }
  // A's pairs are contiguous along the innermost contracted dimension, or row
  // by row.
  AffineMap map = contraction.mapOfA;
  return !contraction.hasPairs() || contraction.hasPairsOfRows() ||
                 map.getResults().back() ==
                     getAffineDimExpr(1 + contraction.getNumContracted(),
                                      map.getContext())
             ? ""
             : "has pairs that do not follow each other";
}

StringRef attn::matchContraction(linalg::LinalgOp op,
                                 const ContractionTarget &target,
                                 Contraction &contraction) {
  if (!multipliesAndAdds(op))
    return "is not a plain sum of products";
  if (StringRef reason = matchOperands(op, contraction); !reason.empty())
    return reason;
  if (StringRef reason = whyNotMultiplied(contraction, target); !reason.empty())
    return reason;
  MemRefType b = contraction.b.getType(), c = contraction.c.getType();
  if (!isContiguousAlongRows(b) || !isContiguousAlongRows(c))
    return "has lanes that are not contiguous";
  if (c.getDimSize(0) == 0)
    return "is empty";
  int64_t lanes = c.getDimSize(1);
  unsigned bits = contraction.getElementType().getIntOrFloatBitWidth();
  int64_t width = target.registers.getWidth(bits);
  // A part of a vector fills registers of 128 bits.
  bool hasRest = lanes > width && lanes % (128 / int64_t(bits)) == 0 &&
                 !contraction.hasPairs();
  if (ShapedType::isDynamic(lanes) || lanes == 0 ||
      (lanes % width != 0 && !hasRest))
    return "does not have a static number of lanes that fills vectors";
  return "";
}
