//===- Reciprocal.cpp - Divisions by one number as products ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/Reciprocal.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::hasSmoothUses(Value value) {
  SmallVector<Value> left = {value};
  DenseSet<Value> seen;
  while (!left.empty())
    for (OpOperand &use : left.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user))
        continue;
      bool isSmooth =
          isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
              arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
              arith::MinNumFOp, math::AbsFOp, math::FmaOp, math::ExpOp,
              math::Exp2Op, math::TanhOp>(user) ||
          (isa<arith::DivFOp>(user) && use.getOperandNumber() == 0) ||
          (isa<arith::SelectOp>(user) && use.getOperandNumber() > 0);
      if (!isSmooth)
        return false;
      if (seen.insert(user->getResult(0)).second)
        left.push_back(user->getResult(0));
    }
  return true;
}

Reciprocal attn::emitReciprocal(ImplicitLocOpBuilder &b, Value divisor) {
  constexpr double kLimit = 0x1p64;
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  };
  Value magnitude = b.createOrFold<math::AbsFOp>(divisor);
  Value isLarge = b.createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OGT,
                                                magnitude, number(kLimit));
  Value isSmall = b.createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OLT,
                                                magnitude, number(1 / kLimit));
  Value power =
      b.createOrFold<arith::SelectOp>(isLarge, number(1 / kLimit), number(1));
  power = b.createOrFold<arith::SelectOp>(isSmall, number(kLimit), power);
  Value product = b.createOrFold<arith::MulFOp>(divisor, power);
  return {b.createOrFold<arith::DivFOp>(number(1), product), power};
}
