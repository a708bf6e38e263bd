//===- VectorizeContractions.cpp - Contractions in registers --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LinalgToVector/ContractionLoops.h"
#include "lib/Conversion/LinalgToVector/LinalgToVector.h"
#include "lib/Conversion/LinalgToVector/RowSlices.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_VECTORIZECONTRACTIONS
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether the body is c + a * b.
static bool multipliesAndAdds(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  if (!llvm::hasNItems(body.without_terminator(), 2))
    return false;
  auto product = dyn_cast<arith::MulFOp>(body.front());
  auto sum = dyn_cast<arith::AddFOp>(*std::next(body.begin()));
  if (!product || !sum ||
      body.getTerminator()->getOperands() != ValueRange(sum.getResult()))
    return false;
  auto are = [](Operation *op, Value x, Value y) {
    return (op->getOperand(0) == x && op->getOperand(1) == y) ||
           (op->getOperand(0) == y && op->getOperand(1) == x);
  };
  return are(product, body.getArgument(0), body.getArgument(1)) &&
         are(sum, body.getArgument(2), product);
}

static bool isContraction(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumLoops() == 3 &&
         op.getNumReductionLoops() == 1 &&
         (linalg::isaContractionOpInterface(op) ||
          (op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 &&
           multipliesAndAdds(op)));
}

/// Where a contraction has its operands' dimensions; a reason if it has none.
static StringRef matchOperands(linalg::LinalgOp op, Contraction &contraction) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto isMatrix = [](AffineMap map) {
    return map.isProjectedPermutation() && map.getNumResults() == 2;
  };
  if (!llvm::all_of(maps, isMatrix))
    return "does not contract two matrices to a matrix";
  unsigned m = maps[2].getDimPosition(0), n = maps[2].getDimPosition(1);
  unsigned k = 3 - m - n;
  if (op.getIteratorTypesArray()[k] != utils::IteratorType::reduction)
    return "does not contract two matrices to a matrix";
  unsigned b = maps[1].isFunctionOfDim(n) ? 1 : 0;
  if (maps[b].getDimPosition(0) != k || maps[b].getDimPosition(1) != n ||
      maps[1 - b].isFunctionOfDim(n))
    return "has no row of lanes in an operand and the result";
  contraction.a =
      cast<TypedValue<MemRefType>>(op.getDpsInputOperand(1 - b)->get());
  contraction.b = cast<TypedValue<MemRefType>>(op.getDpsInputOperand(b)->get());
  contraction.c = cast<TypedValue<MemRefType>>(op.getDpsInitOperand(0)->get());
  contraction.isATransposed = maps[1 - b].getDimPosition(0) == k;
  return "";
}

/// Matches a contraction; a reason if it has another form.
static StringRef match(linalg::LinalgOp op, const VectorRegisters &registers,
                       Contraction &contraction) {
  if (!multipliesAndAdds(op))
    return "is not a plain sum of products";
  if (StringRef reason = matchOperands(op, contraction); !reason.empty())
    return reason;
  MemRefType a = contraction.a.getType(), b = contraction.b.getType(),
             c = contraction.c.getType();
  Type type = c.getElementType();
  if ((!type.isF32() && !type.isF64()) || a.getElementType() != type ||
      b.getElementType() != type)
    return "is not all of f32 or all of f64";
  if (!isContiguousAlongRows(b) || !isContiguousAlongRows(c))
    return "has lanes that are not contiguous";
  if (c.getDimSize(0) == 0)
    return "is empty";
  int64_t lanes = c.getDimSize(1);
  if (ShapedType::isDynamic(lanes) || lanes == 0 ||
      lanes % registers.getWidth(type.getIntOrFloatBitWidth()) != 0)
    return "does not have a static number of lanes that fills vectors";
  return "";
}

/// Whether `op` neither reads nor writes memory that was there before.
static bool touchesNoMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return isMemoryEffectFree(op) ||
         (effects && effects.onlyHasEffect<MemoryEffects::Allocate>());
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

LogicalResult attn::vectorizeContraction(RewriterBase &rewriter,
                                         linalg::LinalgOp op,
                                         const VectorRegisters &registers) {
  if (!isContraction(op))
    return failure();
  Contraction contraction;
  if (StringRef reason = match(op, registers, contraction); !reason.empty())
    return op.emitRemark("not computed in vector registers: ") << reason;
  contraction.producer = findProducer(op, contraction.c);
  unsigned bits = contraction.getElementType().getIntOrFloatBitWidth();
  int64_t width = registers.getWidth(bits);
  RegisterBlock block = chooseRegisterBlock(
      contraction.getNumRows(), contraction.getNumLanes() / width,
      /*needsPointers=*/!contraction.isATransposed, registers.count);
  rewriter.setInsertionPoint(op);
  emitContractionLoops(rewriter, op.getLoc(), contraction, block, width);
  rewriter.eraseOp(op);
  if (contraction.producer)
    rewriter.eraseOp(contraction.producer);
  return success();
}

namespace {
struct VectorizeContractions
    : attn::impl::VectorizeContractionsBase<VectorizeContractions> {
  using VectorizeContractionsBase::VectorizeContractionsBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> contractions;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isContraction(op))
        contractions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : contractions)
      (void)vectorizeContraction(rewriter, op, {vectorBits, vectorRegisters});
  }
};
} // namespace
