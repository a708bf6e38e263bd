//===- RegionEvaluation.cpp - Score and mask regions as scalar code -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   op                        undefined if
//   tensor.extract,           an index is outside the tensor
//   memref.load
//   integer division          by zero, or the quotient does not fit
//   shift                     by the width or more
//   float to integer          the number does not fit
//   math.ipowi                zero to a negative power
//   ub.poison                 always
//   i1 and, or                the operands that decide it are
//   select                    the condition or the chosen operand is
//   every other               an operand is
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/RegionEvaluation.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

namespace {

bool isSignedDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
             arith::RemSIOp, index::DivSOp, index::CeilDivSOp,
             index::FloorDivSOp, index::RemSOp>(op);
}

bool isUnsignedDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, index::DivUOp,
             index::CeilDivUOp, index::RemUOp>(op);
}

bool isShift(Operation *op) {
  return isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, index::ShlOp,
             index::ShrSOp, index::ShrUOp>(op);
}

bool isFloatToInteger(Operation *op) {
  return isa<arith::FPToSIOp, arith::FPToUIOp>(op);
}

unsigned integerWidth(Type type) {
  return type.isIndex() ? IndexType::kInternalStorageBitWidth
                        : type.getIntOrFloatBitWidth();
}

class RegionEvaluator {
public:
  explicit RegionEvaluator(OpBuilder &builder) : b(builder) {}

  RegionValue evaluate(Region &region, ValueRange arguments) {
    Block &block = region.front();
    values.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator()) {
      loc = op.getLoc();
      evaluate(&op);
    }
    Value yielded = cast<YieldOp>(block.getTerminator()).getValue();
    return {values.lookup(yielded), undefined.lookup(yielded), tables};
  }

private:
  void evaluate(Operation *op) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return evaluateLoad<tensor::ExtractOp, tensor::DimOp>(extract);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return evaluateLoad<memref::LoadOp, memref::DimOp>(load);
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return evaluateSelect(select);
    if (isa<arith::AndIOp, arith::OrIOp>(op) &&
        op->getResult(0).getType().isInteger(1))
      return evaluateLogic(op);
    if (isa<ub::PoisonOp>(op)) {
      Type type = op->getResult(0).getType();
      values.map(op->getResult(0),
                 arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
      undefined[op->getResult(0)] = boolean(true);
      return;
    }
    Value bad;
    for (Value operand : op->getOperands())
      bad = either(bad, undefined.lookup(operand));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(operand));
    if (Value own = undefinedCase(op)) {
      bad = either(bad, own);
      // 0 / 1, a shift by 0, 0 to the power 0 and 0.0 each give a result. So
      // does 0 / -1, which is what 1 means in i1.
      bool isDivision = isSignedDivision(op) || isUnsignedDivision(op);
      for (auto [index, operand] : llvm::enumerate(operands)) {
        TypedAttr safe = isDivision && index == 1
                             ? b.getOneAttr(operand.getType())
                             : b.getZeroAttr(operand.getType());
        operand = b.createOrFold<arith::SelectOp>(
            loc, own, arith::ConstantOp::create(b, loc, safe), operand);
      }
    }
    Operation *copy = b.clone(*op, values);
    copy->setOperands(operands);
    dropPromises(copy);
    for (auto [original, result] :
         llvm::zip(op->getResults(), copy->getResults()))
      define(original, result, bad);
  }

  /// i1 that is true if the op has no result for its operands; null if it
  /// always has one.
  Value undefinedCase(Operation *op) {
    using arith::CmpIPredicate;
    auto operand = [&](unsigned index) {
      return values.lookup(op->getOperand(index));
    };
    if (isUnsignedDivision(op))
      return compare(CmpIPredicate::eq, operand(1), 0);
    if (isSignedDivision(op)) {
      unsigned width = integerWidth(operand(0).getType());
      Value smallest = compare(CmpIPredicate::eq, operand(0),
                               APInt::getSignedMinValue(width).getSExtValue());
      Value overflow =
          both(smallest, compare(CmpIPredicate::eq, operand(1), -1));
      return either(compare(CmpIPredicate::eq, operand(1), 0), overflow);
    }
    if (isShift(op))
      return compare(CmpIPredicate::uge, operand(1),
                     integerWidth(operand(1).getType()));
    if (isa<math::IPowIOp>(op))
      return both(compare(CmpIPredicate::eq, operand(0), 0),
                  compare(CmpIPredicate::slt, operand(1), 0));
    if (isFloatToInteger(op)) {
      // Compared in f64 after rounding toward zero, where all bounds are exact.
      Value number = operand(0);
      if (!number.getType().isF64())
        number = arith::ExtFOp::create(b, loc, b.getF64Type(), number);
      number = math::TruncOp::create(b, loc, number);
      unsigned width = integerWidth(op->getResult(0).getType());
      bool isSigned = isa<arith::FPToSIOp>(op);
      double limit = std::ldexp(1.0, int(isSigned ? width - 1 : width));
      Value low =
          compare(arith::CmpFPredicate::OGE, number, isSigned ? -limit : 0.0);
      Value high = compare(arith::CmpFPredicate::OLT, number, limit);
      return negate(both(low, high));
    }
    return nullptr;
  }

  template <typename Load, typename Dim> void evaluateLoad(Load op) {
    Value source = values.lookup(op->getOperand(0));
    SmallVector<Value> indices;
    Value inside, bad;
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      indices.push_back(values.lookup(index));
      bad = either(bad, undefined.lookup(index));
      Value size = b.createOrFold<Dim>(loc, source, int64_t(dim));
      // Unsigned: a negative index is outside too.
      inside = both(
          inside, b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                                indices.back(), size));
    }
    auto load = [&](OpBuilder &builder, Location loc) -> Value {
      return Load::create(builder, loc, source, indices);
    };
    if (!inside) // Rank 0.
      return define(op.getResult(), load(b, loc), bad);
    if (StringAttr name = getArgumentName(source))
      tables.insert(name);
    auto loaded = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &builder, Location loc) {
          scf::YieldOp::create(builder, loc, load(builder, loc));
        },
        [&](OpBuilder &builder, Location loc) {
          Value zero = arith::ConstantOp::create(
              builder, loc, builder.getZeroAttr(op.getType()));
          scf::YieldOp::create(builder, loc, zero);
        });
    define(op.getResult(), loaded.getResult(0), either(bad, negate(inside)));
  }

  void evaluateSelect(arith::SelectOp op) {
    Value condition = values.lookup(op.getCondition());
    Value result = b.createOrFold<arith::SelectOp>(
        loc, condition, values.lookup(op.getTrueValue()),
        values.lookup(op.getFalseValue()));
    Value ifTrue = undefined.lookup(op.getTrueValue());
    Value ifFalse = undefined.lookup(op.getFalseValue());
    Value chosen;
    if (ifTrue || ifFalse)
      chosen = b.createOrFold<arith::SelectOp>(
          loc, condition, ifTrue ? ifTrue : boolean(false),
          ifFalse ? ifFalse : boolean(false));
    define(op.getResult(), result,
           either(undefined.lookup(op.getCondition()), chosen));
  }

  /// One operand of an `and` that is false for certain decides it, one operand
  /// of an `or` that is true.
  void evaluateLogic(Operation *op) {
    bool isAnd = isa<arith::AndIOp>(op);
    Value lhs = values.lookup(op->getOperand(0));
    Value rhs = values.lookup(op->getOperand(1));
    Value badLhs = undefined.lookup(op->getOperand(0));
    Value badRhs = undefined.lookup(op->getOperand(1));
    Value result = isAnd ? both(lhs, rhs) : either(lhs, rhs);
    Value bad;
    if (badLhs && badRhs)
      bad = both(badLhs, badRhs);
    if (badLhs)
      bad = either(bad, both(badLhs, isAnd ? rhs : negate(rhs)));
    if (badRhs)
      bad = either(bad, both(badRhs, isAnd ? lhs : negate(lhs)));
    define(op->getResult(0), result, bad);
  }

  void define(Value original, Value value, Value bad) {
    values.map(original, value);
    if (bad)
      undefined[original] = bad;
  }

  Value boolean(bool value) {
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(value));
  }
  /// Either argument may be null, which is neutral.
  Value both(Value lhs, Value rhs) {
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return b.createOrFold<arith::AndIOp>(loc, lhs, rhs);
  }
  Value either(Value lhs, Value rhs) {
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return b.createOrFold<arith::OrIOp>(loc, lhs, rhs);
  }
  Value negate(Value value) {
    return b.createOrFold<arith::XOrIOp>(loc, value, boolean(true));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
    Value constant =
        arith::ConstantOp::create(b, loc, b.getIntegerAttr(lhs.getType(), rhs));
    return b.createOrFold<arith::CmpIOp>(loc, predicate, lhs, constant);
  }
  Value compare(arith::CmpFPredicate predicate, Value lhs, double rhs) {
    Value constant =
        arith::ConstantOp::create(b, loc, b.getFloatAttr(lhs.getType(), rhs));
    return b.createOrFold<arith::CmpFOp>(loc, predicate, lhs, constant);
  }

  OpBuilder &b;
  Location loc = UnknownLoc::get(b.getContext());
  IRMapping values;
  /// By value of the original region; values that are always defined are
  /// absent.
  DenseMap<Value, Value> undefined;
  llvm::SmallSetVector<StringAttr, 2> tables;
};

} // namespace

RegionValue mlir::attn::evaluateRegion(OpBuilder &builder, Region &region,
                                       ValueRange arguments) {
  return RegionEvaluator(builder).evaluate(region, arguments);
}

Value mlir::attn::assertDefined(OpBuilder &builder, Location loc,
                                const RegionValue &region, StringRef name,
                                StringRef opName) {
  if (!region.undefined)
    return region.value;
  std::string tables;
  for (StringAttr table : region.tables)
    tables += (tables.empty() ? " ('" : " or '") + table.str() + "'";
  if (!tables.empty())
    tables += ")";
  Value isTrue =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value defined = arith::XOrIOp::create(builder, loc, region.undefined, isTrue);
  cf::AssertOp::create(
      builder, loc, defined,
      ("'" + opName + "' op '" + name +
       "' region: the value depends on a load outside its tensor" + tables +
       ", or on an integer operation without a result")
          .str());
  return region.value;
}

Value mlir::attn::emitScoreAt(OpBuilder &builder, Location loc,
                              const ScoreRegions &regions, ValueRange position,
                              function_ref<Value(OpBuilder &)> emitProduct) {
  auto emitKept = [&](OpBuilder &b) -> Value {
    Value score = emitProduct(b);
    if (regions.score.empty())
      return score;
    SmallVector<Value> arguments = {score};
    llvm::append_range(arguments, position);
    llvm::append_range(arguments, regions.scoreCaptures);
    return assertDefined(b, loc, evaluateRegion(b, regions.score, arguments),
                         "score");
  };
  if (regions.mask.empty())
    return emitKept(builder);
  SmallVector<Value> arguments(position);
  llvm::append_range(arguments, regions.maskCaptures);
  Value keep = assertDefined(
      builder, loc, evaluateRegion(builder, regions.mask, arguments), "mask");
  FloatType type;
  auto score = scf::IfOp::create(
      builder, loc, keep,
      [&](OpBuilder &b, Location loc) {
        Value kept = emitKept(b);
        type = cast<FloatType>(kept.getType());
        scf::YieldOp::create(b, loc, kept);
      },
      [&](OpBuilder &b, Location loc) {
        Value hidden = arith::ConstantOp::create(
            b, loc,
            b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(),
                                                 /*Negative=*/true)));
        scf::YieldOp::create(b, loc, hidden);
      });
  return score.getResult(0);
}

void mlir::attn::dropPromises(Operation *op) {
  MLIRContext *context = op->getContext();
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  if (fast && fast.getFastMathFlagsAttr())
    op->setAttr(
        fast.getFastMathAttrName(),
        arith::FastMathFlagsAttr::get(context, arith::FastMathFlags::none));
  if (auto overflow = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    op->setAttr(overflow.getIntegerOverflowAttrName(),
                arith::IntegerOverflowFlagsAttr::get(
                    context, arith::IntegerOverflowFlags::none));
  op->removeAttr("isExact");
}
