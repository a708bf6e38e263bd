//===- CheckForGPU.cpp - What is not lowered for GPUs ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/GPU/ForallToGPU/HostCode.h"
#include "lib/GPU/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKFORGPU
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether `op` is on tensors of `elements`, none of which are of f64.
static LogicalResult checkTypes(Operation *op, ArrayRef<Type> elements,
                                StringRef supported = "f32, f16 and bf16") {
  if (op->getNumResults() == 0)
    return op->emitOpError("is lowered for a GPU on tensors only, got memrefs");
  if (llvm::any_of(elements, llvm::IsaPred<Float64Type>))
    return op->emitOpError("is lowered for a GPU in ")
           << supported << " only, got f64";
  return success();
}

static LogicalResult check(AttentionOp op) {
  if (failed(checkTypes(op, op.getElementType())))
    return failure();
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

static LogicalResult check(MultiTokenAttentionOp op) {
  return checkTypes(op, op.getElementType());
}

static LogicalResult check(MergeOp op) {
  return checkTypes(op, getElementTypeOrSelf(op.getLse1()));
}

static LogicalResult check(BlockRangeOp op) {
  return checkTypes(op, /*elements=*/{}); // Any.
}

static LogicalResult check(RopeOp op) {
  return checkTypes(op, op.getInputType().getElementType());
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
  return checkTypes(
      op,
      {op.getCacheType().getElementType(), getElementTypeOrSelf(op.getRows())},
      "f32, f16, bf16, i8 and floats of 8 bits");
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
  if (isElementwise(op))
    return success();
  return emitError(op.getLoc())
         << "'" << getWrittenName(op)
         << "' op is not lowered for a GPU: beside attention, only operations "
            "element by element are";
}

static LogicalResult checkOfDialect(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AttentionOp, MultiTokenAttentionOp, MergeOp, CacheReadOp,
            CacheAppendOp, RopeOp, BlockRangeOp>(
          [](auto known) { return check(known); })
      .Case([](ProjectionOp first) { // That a layer has become.
        return first.emitOpError("is not lowered for a GPU, and neither is an "
                                 "'attn.multi_head_attention', which has some");
      })
      // A table with its ranges is the table in memory, and what checks report
      // is asserted too.
      .Case<WithBlockRangeOp, ReportOp>([](auto) { return success(); })
      .Default([](Operation *other) -> LogicalResult {
        if (isa<AttnDialect>(other->getDialect()))
          return other->emitOpError("is not lowered for a GPU");
        return success();
      });
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
    bool isOfElements =
        isa<linalg::LinalgOp, AttentionOp, MultiTokenAttentionOp>(op);
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
