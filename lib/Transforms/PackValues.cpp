//===- PackValues.cpp - Values as instructions on pairs want them ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/PackValues.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

/// The outermost parallel loop around `block` that `value` comes from outside
/// of; or null.
static scf::ForallOp findOutermostLoop(Block *block, Value value) {
  scf::ForallOp outermost;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    if (auto loop = dyn_cast<scf::ForallOp>(op);
        loop && loop.isDefinedOutsideOfLoop(value))
      outermost = loop;
  return outermost;
}

/// Whether `slice` takes one batch entry and head, whole.
static bool takesHead(tensor::ExtractSliceOp slice) {
  if (slice.getSourceType().getRank() != 4 || slice.getType().getRank() != 4)
    return false;
  for (unsigned dim = 0; dim < 4; ++dim) {
    if (!isOneInteger(slice.getMixedStrides()[dim]))
      return false;
    if (dim < 2)
      continue;
    if (!isZeroInteger(slice.getMixedOffsets()[dim]))
      return false;
    FailureOr<bool> isWhole = ValueBoundsConstraintSet::areEqual(
        slice.getMixedSizes()[dim], {slice.getSource(), dim});
    if (failed(isWhole) || !*isWhole)
      return false;
  }
  return true;
}

/// Packs a tensor `(B, Hkv, Skv, Dv)`.
static Value pack(OpBuilder &b, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType()).getElementType();
  OpFoldResult keys = b.getIndexAttr(OnlineAttentionOp::kKeysPerPack);
  Value empty = linalg::PackOp::createDestinationTensor(
      b, loc, value, keys, /*innerDimsPos=*/{2}, /*outerDimsPerm=*/{});
  Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0.0));
  return linalg::PackOp::create(b, loc, value, empty, /*innerDimsPos=*/{2},
                                keys, zero)
      .getResult();
}

Value ValuePacks::get(OpBuilder &b, Location loc, Value value) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  Value root = value;
  OpFoldResult batch = zero, head = zero;
  if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
      slice && takesHead(slice)) {
    root = slice.getSource();
    batch = slice.getMixedOffsets()[0];
    head = slice.getMixedOffsets()[1];
  }
  scf::ForallOp loop = findOutermostLoop(b.getInsertionBlock(), root);
  Block *block = loop ? loop->getBlock() : b.getInsertionBlock();
  Value &packed = packs[{root, block}];
  if (!packed) {
    OpBuilder::InsertionGuard guard(b);
    if (loop)
      b.setInsertionPoint(loop);
    packed = pack(b, loc, root);
  }
  auto type = cast<RankedTensorType>(packed.getType());
  SmallVector<OpFoldResult> offsets = {batch, head, zero, zero, zero};
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, packed);
  sizes[0] = sizes[1] = one;
  SmallVector<OpFoldResult> strides(5, one);
  return tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get(type.getShape().drop_front(2),
                            type.getElementType()),
      packed, offsets, sizes, strides);
}
