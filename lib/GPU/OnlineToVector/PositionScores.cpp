//===- PositionScores.cpp - Scores of a tile, one by one ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/OnlineToVector/PositionScores.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::attn;

/// The score at row `i` and column `k` of a tile, of which `memory` holds that
/// before the regions.
static Value emitScore(ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                       Value memory, Value i, Value k) {
  Value p = arith::AddIOp::create(b, op.getPosition(), i);
  Value j = arith::AddIOp::create(b, op.getFirstKey(), k);
  return emitScoreAt(b, b.getLoc(),
                     {op.getScoreRegion(), op.getMaskRegion(),
                      op.getScoreCaptures(), op.getMaskCaptures()},
                     {op.getBatch(), op.getHead(), p, j},
                     [&](OpBuilder &inside) -> Value {
                       return memref::LoadOp::create(inside, b.getLoc(), memory,
                                                     ValueRange{i, k});
                     });
}

Value attn::emitPositionScores(OpBuilder &builder, OnlineAttentionOp op,
                               Value scores, Value numKeys, Value memory) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  auto type = cast<VectorType>(scores.getType());
  auto element = cast<FloatType>(type.getElementType());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  std::array inBounds = {true, true};
  vector::TransferWriteOp::create(b, scores, memory, ValueRange{zero, zero},
                                  inBounds);
  Value hidden = arith::ConstantOp::create(
      b, b.getFloatAttr(element, APFloat::getInf(element.getFloatSemantics(),
                                                 /*Negative=*/true)));
  auto loop = scf::ForallOp::create(
      b, getAsIndexOpFoldResult(b.getContext(), type.getShape()),
      /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getTerminator());
    Value i = loop.getInductionVars()[0], k = loop.getInductionVars()[1];
    auto isBelow = [&](Value index, Value count) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, count);
    };
    Value exists = arith::AndIOp::create(b, isBelow(i, op.getNumQueries()),
                                         isBelow(k, numKeys));
    auto score = scf::IfOp::create(b, element, exists,
                                   /*withElseRegion=*/true);
    b.setInsertionPointToStart(score.thenBlock());
    scf::YieldOp::create(b, emitScore(b, op, memory, i, k));
    b.setInsertionPointToStart(score.elseBlock());
    scf::YieldOp::create(b, hidden);
    b.setInsertionPointAfter(score);
    memref::StoreOp::create(b, score.getResult(0), memory, ValueRange{i, k});
  }
  Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  return vector::TransferReadOp::create(b, type, memory, ValueRange{zero, zero},
                                        padding, inBounds);
}
