//===- SharedOperands.cpp - Packed values for all tiles -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/SharedOperands.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

scf::ForallOp attn::findOutermostLoop(Block *block, Value value) {
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
static Value pack(IndexBuilder &b, Value value) {
  OpFoldResult keys = b.getIndexAttr(OnlineAttentionOp::kKeysPerPack);
  Value empty = linalg::PackOp::createDestinationTensor(
      b, b.getLoc(), value, keys, /*innerDimsPos=*/{2}, /*outerDimsPerm=*/{});
  Value zero = b.zero(getElementTypeOrSelf(value));
  return linalg::PackOp::create(b, value, empty, /*innerDimsPos=*/{2}, keys,
                                zero)
      .getResult();
}

namespace {

/// What a tile's operand is a head of.
struct Head {
  explicit Head(OpBuilder &b, Value operand)
      : tensor(operand), batch(b.getIndexAttr(0)), number(b.getIndexAttr(0)) {
    auto slice = operand.getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || !takesHead(slice))
      return;
    tensor = slice.getSource();
    batch = slice.getMixedOffsets()[0];
    number = slice.getMixedOffsets()[1];
  }

  /// The head of `converted`, without the dimensions of batch and heads.
  Value slice(IndexBuilder &b, Value converted) const {
    SmallVector<OpFoldResult> sizes = b.sizes(converted),
                              offsets = b.zeros(sizes.size());
    offsets[0] = batch;
    offsets[1] = number;
    sizes[0] = sizes[1] = b.getIndexAttr(1);
    return b.slice(converted, offsets, sizes, int64_t(sizes.size()) - 2);
  }

  Value tensor;
  OpFoldResult batch, number;
};

} // namespace

bool attn::hasOneIteration(scf::ForallOp loop, unsigned dim) {
  std::optional<APInt> count = constantTripCount(
      loop.getMixedLowerBound()[dim], loop.getMixedUpperBound()[dim],
      loop.getMixedStep()[dim], /*isSigned=*/true, scf::computeUbMinusLb);
  return count && count->isOne();
}

/// `convert(tensor)` where `tensor` is available to all tiles, once.
static Value
convertOnce(OpBuilder &b, Value tensor,
            llvm::DenseMap<std::pair<Value, Block *>, Value> &converted,
            function_ref<Value(Value)> convert) {
  scf::ForallOp loop = findOutermostLoop(b.getInsertionBlock(), tensor);
  Block *block = loop ? loop->getBlock() : b.getInsertionBlock();
  Value &result = converted[{tensor, block}];
  if (!result) {
    OpBuilder::InsertionGuard guard(b);
    if (loop)
      b.setInsertionPoint(loop);
    result = convert(tensor);
  }
  return result;
}

Value SharedOperands::getPacks(IndexBuilder &b, Value value) {
  Head head(b, value);
  Value packed = convertOnce(b, head.tensor, packs,
                             [&](Value all) { return pack(b, all); });
  return head.slice(b, packed);
}
