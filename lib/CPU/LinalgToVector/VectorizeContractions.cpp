//===- VectorizeContractions.cpp - Contractions in registers --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "dialect/Shared/KnownSizes.h"
#include "lib/CPU/LinalgToVector/ContractionLoops.h"
#include "lib/CPU/LinalgToVector/DelayedStore.h"
#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"
#include "lib/CPU/LinalgToVector/TileBlocks.h"
#include "lib/CPU/Passes.h"
#include "lib/Memory/LaterIteration.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_VECTORIZECONTRACTIONS
#include "lib/CPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

int64_t attn::getMost(Value buffer, int64_t dim) {
  return getKnownMost(buffer, dim).value_or(0);
}

static bool isContraction(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumParallelLoops() != 2 ||
      op.getNumReductionLoops() == 0)
    return false;
  // A sum of matrices, times factors of their rows, is computed row by row.
  for (OpOperand *operand : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(operand).getNumResults() == op.getNumLoops())
      return false;
  return linalg::isaContractionOpInterface(op) ||
         (op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 &&
          multipliesAndAdds(op));
}

/// The operation that computes C elementwise, with nothing that touches memory
/// between it and `op`; or null.
static linalg::LinalgOp findProducer(linalg::LinalgOp op, Value c) {
  Operation *previous = op->getPrevNode();
  while (previous && touchesNoMemory(previous))
    previous = previous->getPrevNode();
  auto producer = dyn_cast_or_null<linalg::LinalgOp>(previous);
  if (!producer || producer.getNumDpsInits() != 1 ||
      producer.getDpsInitOperand(0)->get() != c ||
      producer.getNumLoops() != 2 || producer.getNumParallelLoops() != 2 ||
      !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0))
           .isIdentity() ||
      !whyNoRowSlices(producer).empty())
    return nullptr;
  return producer;
}

static void joinOperands(OpBuilder &builder, Location loc,
                         Contraction &contraction) {
  ImplicitLocOpBuilder b(loc, builder);
  contraction.a = joinPairs(b, contraction.a);
  contraction.b = joinPairs(b, contraction.b);
}

/// Sets what is fetched meanwhile.
static void findPrefetches(linalg::LinalgOp op, Contraction &contraction) {
  contraction.shares = PrefetchShares(op);
  if (PrefetchOp stream = contraction.shares.getStream()) {
    auto next = dyn_cast<TypedValue<MemRefType>>(stream.getSource());
    if (next &&
        next.getType().getShape() == contraction.b.getType().getShape()) {
      contraction.next = next;
      contraction.stream = contraction.b;
      contraction.bytesAhead = int64_t(*stream.getStream());
      contraction.lineBytes = getTarget(op).getLineBytes();
    }
  }
  contraction.mostRows = getMost(contraction.c, 0);
  contraction.mostSteps = 1;
  for (unsigned i = 0; i < contraction.getNumContracted(); ++i)
    contraction.mostSteps *= getMost(contraction.b, contraction.getDimOfB(i));
}

/// Whether the loop around multiplies others of A by the same B, and both
/// together are more than the first-level cache holds.
static bool readsAOnce(linalg::LinalgOp op, const Contraction &contraction) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || contraction.getNumLanes() > 2 * TileBlocks::kSize)
    return false;
  int64_t bytes = 0;
  for (MemRefType type : {contraction.a.getType(), contraction.b.getType()}) {
    if (!type.hasStaticShape())
      return false;
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  return bytes > getTarget(op).getL1Bytes() &&
         dependsOn(contraction.a, loop.getInductionVar()) &&
         !dependsOn(contraction.b, loop.getInductionVar());
}

/// Whether `op` fills a buffer with zeros.
static bool fillsWithZero(linalg::LinalgOp op) {
  auto fill = dyn_cast<linalg::FillOp>(op.getOperation());
  return fill && matchPattern(fill.value(), m_AnyZeroFloat());
}

/// Of a product that is one block of tiles, and one loop of steps.
static DelayedStore delayStoreOfTiles(OpBuilder &b, linalg::LinalgOp op,
                                      const Contraction &contraction) {
  constexpr int64_t size = 2 * TileBlocks::kSize;
  linalg::LinalgOp producer = contraction.producer;
  if (contraction.c.getType().getShape() != ArrayRef({size, size}) ||
      contraction.getNumContracted() != 2 ||
      contraction.getNumSteps(1) != TileBlocks::kSize ||
      (producer && !fillsWithZero(producer)))
    return {};
  return delayStore(b, op, producer, size, contraction.getNumSteps(0));
}

/// Where `choice` fills C with zeros or does something else with it: the fill;
/// or null.
static linalg::LinalgOp findZeros(scf::IfOp choice, Value c) {
  if (!choice || choice.getNumResults() != 0)
    return nullptr;
  linalg::LinalgOp zeros;
  for (Operation &op : choice.thenBlock()->without_terminator()) {
    if (touchesNoMemory(&op))
      continue;
    auto fill = dyn_cast<linalg::LinalgOp>(op);
    if (zeros || !fill || !fillsWithZero(fill) || fill.getDpsInits()[0] != c)
      return nullptr;
    zeros = fill;
  }
  return zeros;
}

/// Replaces C[m,n] += A[m,k...] * B[k...,n] on buffers, with a static number of
/// contiguous n, by loops that keep a block of C in registers, as well as the
/// elementwise operation before it that C comes from, if there is one that fits
/// there. What `attn.prefetch`es before it fetch with `spread` or `stream`,
/// they fetch. Fails, having changed nothing and remarked why, on contractions
/// of another form; without a remark on other operations.
static LogicalResult vectorizeContraction(RewriterBase &rewriter,
                                          linalg::LinalgOp op,
                                          const ContractionTarget &target) {
  if (!isContraction(op))
    return failure();
  if (multipliesAndAdds(op) && succeeded(vectorizeDots(rewriter, op, target)))
    return success();
  Contraction contraction;
  if (StringRef reason = matchContraction(op, target, contraction);
      !reason.empty())
    return op.emitRemark("not computed in vector registers: ") << reason;
  contraction.producer = findProducer(op, contraction.c);
  findPrefetches(op, contraction);
  linalg::LinalgOp zeros;
  if (target.tiles && contraction.hasTiles()) {
    contraction.readsAOnce = readsAOnce(op, contraction);
    auto choice = dyn_cast_or_null<scf::IfOp>(contraction.shares.getPrevious());
    // Rows that fill no tile are added to what is in memory.
    if (int64_t rows = contraction.getNumRows(); !contraction.producer &&
                                                 !ShapedType::isDynamic(rows) &&
                                                 rows % TileBlocks::kSize == 0)
      zeros = findZeros(choice, contraction.c);
    if (zeros)
      contraction.isZero = choice.getCondition();
    contraction.store = delayStoreOfTiles(rewriter, op, contraction);
  } else if (!contraction.shares.empty() &&
             (contraction.mostRows == 0 || contraction.mostSteps == 0 ||
              contraction.shares.getNumLines() == 0)) {
    // Steps in vectors are too short for loops over what they fetch.
    contraction.shares = {};
  }
  rewriter.setInsertionPoint(op);
  if (contraction.hasPairs() && !hasKnownPairs(contraction.b)) {
    // Only the caller of a kernel knows how an argument lies.
    auto [holds, known] = assumePairs(rewriter, contraction.b);
    auto either = scf::IfOp::create(rewriter, op.getLoc(), holds,
                                    /*withElseRegion=*/true);
    contraction.b = known;
    // Other loops than those in registers have zeros of their own.
    if (contraction.producer && fillsWithZero(contraction.producer))
      rewriter.moveOpBefore(contraction.producer, either.elseYield());
    else
      contraction.producer = nullptr;
    OpBuilder::InsertionGuard guard(rewriter);
    // Before anything else writes C.
    IndexBuilder b(op.getLoc(), rewriter);
    b.setInsertionPointToStart(either.elseBlock());
    contraction.store.emitInsteadOfSteps(b);
    rewriter.setInsertionPoint(either.elseYield());
    rewriter.moveOpBefore(op, either.elseYield());
    if (failed(linalg::linalgOpToLoops(rewriter, op)))
      return op.emitError("is not computed by loops");
    rewriter.setInsertionPoint(either.thenYield());
    joinOperands(rewriter, op.getLoc(), contraction);
    emitContractionLoops(rewriter, op.getLoc(), contraction, target);
    contraction.shares.erase();
    rewriter.eraseOp(op);
    return success();
  }
  if (contraction.hasPairs()) {
    joinOperands(rewriter, op.getLoc(), contraction);
    // Tiles are not computed with otherwise.
    if (target.tiles && contraction.hasTiles() && contraction.producer &&
        !fillsWithZero(contraction.producer))
      contraction.producer = nullptr;
  }
  emitContractionLoops(rewriter, op.getLoc(), contraction, target);
  contraction.shares.erase();
  rewriter.eraseOp(op);
  if (contraction.producer)
    rewriter.eraseOp(contraction.producer);
  if (zeros)
    rewriter.eraseOp(zeros);
  return success();
}

namespace {
struct VectorizeContractions
    : attn::impl::VectorizeContractionsBase<VectorizeContractions> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    TargetAttr machine = getTarget(getOperation());
    ContractionTarget target = {{unsigned(machine.getVectorBits()),
                                 unsigned(machine.getVectorRegisters())},
                                machine.hasPairs(),
                                machine.getBf16Tiles(),
                                machine.getI8Dot()};
    SmallVector<linalg::LinalgOp> ops, contractions, kernelGradients;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isContraction(op))
        ops.push_back(op);
      else if (isKernelGradient(op))
        kernelGradients.push_back(op);
    });
    for (linalg::LinalgOp op : kernelGradients)
      (void)vectorizeKernelGradient(rewriter, op, target.registers);
    for (linalg::LinalgOp op : ops)
      if (failed(vectorizeConvolution(rewriter, op, target.registers)))
        contractions.push_back(op);
    for (linalg::LinalgOp op : contractions)
      (void)vectorizeContraction(rewriter, op, target);
    if (target.tiles)
      delaySums(rewriter, getOperation());
  }
};
} // namespace
