//===- CheckForGPU.cpp - What is not lowered for GPUs ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/GPU/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKFORGPU
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static LogicalResult check(AttentionOp op) {
  if (op->getNumResults() == 0)
    return op.emitOpError("is lowered for a GPU on tensors only, got memrefs");
  if (op.getElementType().isF64())
    return op.emitOpError(
        "is lowered for a GPU in f32, f16 and bf16 only, got f64");
  // Weights in f16 are multiplied by at most 2^15.
  double kept =
      op.hasDropout() ? 1 - op.getDropoutRate()->convertToDouble() : 1.0;
  if (op.getElementType().isF16() && kept < 0x1p-15)
    return op.emitOpError("is lowered for a GPU in f16 with dropout of a rate "
                          "of at most 1 - 2^-15 only, got ")
           << op.getDropoutRateAttr();
  bool hasSinkPerRow =
      op.getSink() &&
      cast<RankedTensorType>(op.getSink().getType()).getRank() == 2;
  if (hasSinkPerRow && (op.isRagged() || op.getQueryType().isDynamicDim(2)))
    return op.emitOpError("is lowered for a GPU with a 'sink' of each row only "
                          "where all sequences have a number of queries that "
                          "is known while compiling");
  return success();
}

static LogicalResult check(MergeOp op) {
  if (op->getNumResults() == 0)
    return op.emitOpError("is lowered for a GPU on tensors only, got memrefs");
  if (getElementTypeOrSelf(op.getLse1()).isF64())
    return op.emitOpError(
        "is lowered for a GPU in f32, f16 and bf16 only, got f64");
  return success();
}

static LogicalResult check(RopeOp op) {
  if (op->getNumResults() == 0)
    return op.emitOpError("is lowered for a GPU on tensors only, got memrefs");
  if (op.getInputType().getElementType().isF64())
    return op.emitOpError(
        "is lowered for a GPU in f32, f16 and bf16 only, got f64");
  return success();
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// Attention reads keys and values where they lie.
static LogicalResult checkUse(CacheReadOp read, OpOperand &use) {
  auto op = dyn_cast<AttentionOp>(use.getOwner());
  if (!op || (use.get() != op.getKey() && use.get() != op.getValue())) {
    auto error =
        read.emitOpError("is lowered for a GPU as the key and the value of an "
                         "'attn.attention' only");
    error.attachNote(use.getOwner()->getLoc()) << "another use is here";
    return error;
  }
  if (op.getCumulativeKey())
    return op.emitOpError("is not lowered for a GPU with packed keys and "
                          "values in a cache");
  auto key = op.getKey().getDefiningOp<CacheReadOp>(),
       value = op.getValue().getDefiningOp<CacheReadOp>();
  if (!key || !value)
    return op.emitOpError("is lowered for a GPU with keys and values that are "
                          "both in caches, or neither");
  Type ofKeys = key.getCacheType().getElementType(),
       ofValues = value.getCacheType().getElementType();
  if (ofKeys != ofValues)
    return op.emitOpError("is lowered for a GPU with caches of one element "
                          "type only, got keys of ")
           << ofKeys << " and values of " << ofValues;
  return success();
}

/// Blocks of keys never leave a page, nor wrap around a ring.
static LogicalResult checkRows(CacheReadOp read) {
  constexpr int64_t kLeastBlock = 8;
  if (!read.getRing() && !read.getTable())
    return success();
  int64_t rows = read.getCacheType().getDimSize(2);
  if (!ShapedType::isDynamic(rows) && rows > 0 && rows % kLeastBlock == 0)
    return success();
  auto error =
      read.emitOpError("is lowered for a GPU for ")
      << (read.getRing() ? "rings of a capacity" : "pages of a number of rows")
      << " that is known while compiling and a multiple of " << kLeastBlock
      << ", got ";
  if (ShapedType::isDynamic(rows))
    return error << "a dynamic size";
  return error << rows;
}

static LogicalResult check(CacheAppendOp op) {
  if (op->getNumResults() == 0)
    return op.emitOpError("is lowered for a GPU on tensors only, got memrefs");
  if (op.getCacheType().getElementType().isF64() ||
      getElementTypeOrSelf(op.getRows()).isF64())
    return op.emitOpError(
        "is lowered for a GPU in f32, f16, bf16 and i8 only, got f64");
  if (op.getSequences())
    return op.emitOpError("is not lowered for a GPU with packed rows");
  return success();
}

static LogicalResult check(CacheReadOp read) {
  for (OpOperand &use : read->getUses()) {
    if (isa<tensor::DimOp>(use.getOwner()))
      continue;
    if (failed(checkUse(read, use)) || failed(checkRows(read)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Other operations
//===----------------------------------------------------------------------===//

/// The name of what was written: attn-decompose-aggregates says of which
/// operation a part is.
static StringRef getWrittenName(Operation *op) {
  auto parts = dyn_cast<FusedLocWith<StringAttr>>(op->getLoc());
  return parts ? parts.getMetadata().getValue() : op->getName().getStringRef();
}

static LogicalResult check(linalg::LinalgOp op) {
  bool isElementwise =
      op.getNumParallelLoops() == op.getNumLoops() &&
      llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
        return map.isProjectedPermutation(/*allowZeroInResults=*/false);
      });
  if (isElementwise)
    return success();
  return emitError(op.getLoc())
         << "'" << getWrittenName(op)
         << "' op is not lowered for a GPU: beside attention, only operations "
            "element by element are";
}

static LogicalResult checkOfDialect(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return check(attention);
  if (auto merge = dyn_cast<MergeOp>(op))
    return check(merge);
  if (auto read = dyn_cast<CacheReadOp>(op))
    return check(read);
  if (auto append = dyn_cast<CacheAppendOp>(op))
    return check(append);
  if (auto rope = dyn_cast<RopeOp>(op))
    return check(rope);
  if (isa<ProjectionOp>(op)) // The first that a layer has become.
    return op->emitOpError("is not lowered for a GPU, and neither is an "
                           "'attn.multi_head_attention', which has some");
  // A table with its ranges is the table in memory, and what checks report is
  // asserted too.
  if (isa<AttnDialect>(op->getDialect()) &&
      !isa<WithBlockRangeOp, ReportOp>(op))
    return op->emitOpError("is not lowered for a GPU");
  return success();
}

static LogicalResult checkOther(Operation *op) {
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    return check(linalg);
  if (isa<tensor::FromElementsOp, tensor::InsertOp>(op))
    return op->emitOpError("is not lowered for a GPU: the host cannot write "
                           "elements of tensors, which are in its memory");
  return success();
}

/// Checks what is beside parallel loops and regions of elements.
static LogicalResult checkAll(Operation *root,
                              LogicalResult (*check)(Operation *)) {
  auto result = root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->getDialect() || isa<scf::ForallOp>(op))
      return WalkResult::skip();
    if (failed(check(op)))
      return WalkResult::interrupt();
    bool isOfElements = isa<linalg::LinalgOp, AttentionOp>(op);
    return isOfElements ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct CheckForGPU : attn::impl::CheckForGPUBase<CheckForGPU> {
  void runOnOperation() override {
    // Checks at run time, which are other operations, come before what they are
    // of.
    if (failed(checkAll(getOperation(), checkOfDialect)) ||
        failed(checkAll(getOperation(), checkOther)))
      signalPassFailure();
  }
};
} // namespace
