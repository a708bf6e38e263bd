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
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

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

/// Whether the op has a result for all operands, or for all others of the
/// constant one that it has.
bool alwaysHasResult(Operation *op) {
  if (isa<tensor::ExtractOp, memref::LoadOp>(op))
    return op->getNumOperands() == 1; // Rank 0.
  APInt second;
  bool isKnown = op->getNumOperands() == 2 &&
                 matchPattern(op->getOperand(1), m_ConstantInt(&second));
  if (isUnsignedDivision(op) || isSignedDivision(op))
    return isKnown && !second.isZero() && !second.isAllOnes();
  if (isShift(op))
    return isKnown && second.ult(integerWidth(op->getOperand(1).getType()));
  return !isa<math::IPowIOp, ub::PoisonOp>(op) && !isFloatToInteger(op);
}

class RegionEvaluator {
public:
  explicit RegionEvaluator(OpBuilder &builder)
      : b(UnknownLoc::get(builder.getContext()), builder) {}

  RegionValue evaluate(Region &region, ValueRange arguments) {
    Block &block = region.front();
    values.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator()) {
      b.setLoc(op.getLoc());
      evaluate(&op);
    }
    auto yield = cast<YieldOp>(block.getTerminator());
    Flag flag = undefined.lookup(yield.getValue());
    RegionValue result = {values.lookup(yield.getValue()), flag.isBad,
                          flag.reason, reasons, /*position=*/{}};
    for (Value index : yield.getPosition())
      result.position.push_back(values.lookup(index));
    return result;
  }

private:
  /// An i1 that is true if a value is undefined, and then why, as an index into
  /// `reasons`. Null if it never is.
  struct Flag {
    Value isBad, reason;
  };

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
      values.map(op->getResult(0), b.zero(type));
      undefined[op->getResult(0)] = addReason(b.boolean(true), "ub.poison");
      return;
    }
    Flag bad;
    for (Value operand : op->getOperands())
      bad = either(bad, undefined.lookup(operand));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(operand));
    if (Value own = undefinedCase(op)) {
      bad = either(bad, describeCase(op, own, operands));
      // 0 / 1, a shift by 0, 0 to the power 0 and 0.0 each give a result. So
      // does 0 / -1, which is what 1 means in i1.
      bool isDivision = isSignedDivision(op) || isUnsignedDivision(op);
      for (auto [index, operand] : llvm::enumerate(operands)) {
        TypedAttr safe = isDivision && index == 1
                             ? b.getOneAttr(operand.getType())
                             : b.getZeroAttr(operand.getType());
        operand = b.createOrFold<arith::SelectOp>(
            own, arith::ConstantOp::create(b, safe), operand);
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
      number = math::TruncOp::create(b, b.convert(number, b.getF64Type()));
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

  /// Why an operation of integers has no result.
  Flag describeCase(Operation *op, Value isBad, ArrayRef<Value> operands) {
    std::string name = ("'" + op->getName().getStringRef() + "'").str();
    if (isFloatToInteger(op)) {
      std::string type;
      llvm::raw_string_ostream(type) << op->getResult(0).getType();
      return addReason(isBad, name + " of a number that does not fit " + type);
    }
    StringRef text = isShift(op)              ? " of {0} by {1} bits"
                     : isa<math::IPowIOp>(op) ? " of {0} to the power {1}"
                                              : " of {0} by {1}";
    return addReason(isBad, name + text.str(), operands[0], operands[1]);
  }

  /// The place in the source is added to `text`.
  Flag addReason(Value isBad, std::string text, Value first = {},
                 Value second = {}) {
    if (auto place = b.getLoc()->findInstanceOf<FileLineColLoc>())
      text += " (line " + std::to_string(place.getLine()) + ")";
    Value reason = arith::ConstantIndexOp::create(b, reasons.size());
    reasons.push_back({std::move(text), toNumber(first), toNumber(second)});
    return {isBad, reason};
  }

  /// An integer or index as i64; 0 for none.
  Value toNumber(Value value) {
    Type i64 = b.getI64Type();
    if (!value)
      return arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    return b.convert(value, i64);
  }

  template <typename Load, typename Dim> void evaluateLoad(Load op) {
    Value source = values.lookup(op->getOperand(0));
    std::string table = "a tensor";
    if (StringAttr name = getArgumentName(source))
      table = "'" + name.str() + "'";
    SmallVector<Value> indices;
    Value inside;
    Flag bad, outside;
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      indices.push_back(values.lookup(index));
      bad = either(bad, undefined.lookup(index));
      Value size = b.createOrFold<Dim>(source, int64_t(dim));
      // Unsigned: a negative index is outside too.
      Value isInside = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                     indices.back(), size);
      inside = both(inside, isInside);
      outside = either(outside, addReason(negate(isInside),
                                          "index {0} in dimension " +
                                              std::to_string(dim) + " of " +
                                              table + ", of size {1}",
                                          indices.back(), size));
    }
    auto load = [&]() -> Value { return Load::create(b, source, indices); };
    if (!inside) // Rank 0.
      return define(op.getResult(), load(), bad);
    Value loaded = b.choose(inside, load, [&] { return b.zero(op.getType()); });
    define(op.getResult(), loaded, either(bad, outside));
  }

  void evaluateSelect(arith::SelectOp op) {
    Value condition = values.lookup(op.getCondition());
    Value result = b.createOrFold<arith::SelectOp>(
        condition, values.lookup(op.getTrueValue()),
        values.lookup(op.getFalseValue()));
    Flag ifTrue = undefined.lookup(op.getTrueValue());
    Flag ifFalse = undefined.lookup(op.getFalseValue());
    define(op.getResult(), result,
           either(undefined.lookup(op.getCondition()),
                  either(when(condition, ifTrue),
                         when(negate(condition), ifFalse))));
  }

  /// One operand of an `and` that is false for certain decides it, one operand
  /// of an `or` that is true.
  void evaluateLogic(Operation *op) {
    bool isAnd = isa<arith::AndIOp>(op);
    Value lhs = values.lookup(op->getOperand(0));
    Value rhs = values.lookup(op->getOperand(1));
    Flag badLhs = undefined.lookup(op->getOperand(0));
    Flag badRhs = undefined.lookup(op->getOperand(1));
    Value result = isAnd ? both(lhs, rhs) : either(lhs, rhs);
    // Where one is undefined, the other decides, if it is not undefined too.
    Value lhsIsOpen = isAnd ? lhs : negate(lhs);
    Value rhsIsOpen = isAnd ? rhs : negate(rhs);
    if (badLhs.isBad)
      lhsIsOpen = either(lhsIsOpen, badLhs.isBad);
    if (badRhs.isBad)
      rhsIsOpen = either(rhsIsOpen, badRhs.isBad);
    Flag bad = either(when(rhsIsOpen, badLhs), when(lhsIsOpen, badRhs));
    define(op->getResult(0), result, bad);
  }

  void define(Value original, Value value, Flag bad) {
    values.map(original, value);
    if (bad.isBad)
      undefined[original] = bad;
  }

  /// Either argument may be null, which is neutral.
  Value both(Value lhs, Value rhs) {
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return b.bitAnd(lhs, rhs);
  }
  Value either(Value lhs, Value rhs) {
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return b.bitOr(lhs, rhs);
  }
  /// The reason of the first, where both are undefined.
  Flag either(Flag first, Flag second) {
    if (!first.isBad || !second.isBad)
      return first.isBad ? first : second;
    return {either(first.isBad, second.isBad),
            b.createOrFold<arith::SelectOp>(first.isBad, first.reason,
                                            second.reason)};
  }
  Flag when(Value condition, Flag flag) {
    if (flag.isBad)
      flag.isBad = both(condition, flag.isBad);
    return flag;
  }
  Value negate(Value value) {
    return b.createOrFold<arith::XOrIOp>(value, b.boolean(true));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
    Value constant =
        arith::ConstantOp::create(b, b.getIntegerAttr(lhs.getType(), rhs));
    return b.createOrFold<arith::CmpIOp>(predicate, lhs, constant);
  }
  Value compare(arith::CmpFPredicate predicate, Value lhs, double rhs) {
    Value constant = b.real(lhs.getType(), rhs);
    return b.createOrFold<arith::CmpFOp>(predicate, lhs, constant);
  }

  IndexBuilder b;
  IRMapping values;
  /// By value of the original region; values that are always defined are
  /// absent.
  DenseMap<Value, Flag> undefined;
  SmallVector<UndefinedReason> reasons;
};

} // namespace

bool mlir::attn::mayBeUndefined(Region &region) {
  return !llvm::all_of(region.front(),
                       [](Operation &op) { return alwaysHasResult(&op); });
}

RegionValue mlir::attn::evaluateRegion(OpBuilder &builder, Region &region,
                                       ValueRange arguments) {
  return RegionEvaluator(builder).evaluate(region, arguments);
}

Value mlir::attn::reportUndefined(OpBuilder &builder, Location loc,
                                  const RegionValue &region,
                                  ValueRange position, StringRef name,
                                  StringRef opName) {
  if (!region.undefined)
    return region.value;
  Value first = region.reasons.front().first;
  Value second = region.reasons.front().second;
  SmallVector<StringRef> texts;
  for (auto [number, reason] : llvm::enumerate(region.reasons)) {
    texts.push_back(reason.text);
    if (number == 0)
      continue;
    Value isThis = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, region.reason,
        arith::ConstantIndexOp::create(builder, loc, number));
    first =
        builder.createOrFold<arith::SelectOp>(loc, isThis, reason.first, first);
    second = builder.createOrFold<arith::SelectOp>(loc, isThis, reason.second,
                                                   second);
  }
  ReportOp::create(
      builder, loc, region.undefined,
      builder.getStringAttr("'" + opName + "' op '" + name + "' region"),
      ValueRange{first, second}, region.reason, builder.getStrArrayAttr(texts),
      region.position.empty() ? position : ValueRange(region.position));
  return region.value;
}

Value mlir::attn::emitScoreAt(OpBuilder &builder, Location loc,
                              const ScoreRegions &regions, ValueRange position,
                              function_ref<Value(OpBuilder &)> emitProduct,
                              StringRef opName) {
  auto emitKept = [&](OpBuilder &b) -> Value {
    Value score = emitProduct(b);
    if (regions.score.empty())
      return score;
    SmallVector<Value> arguments = {score};
    llvm::append_range(arguments, position);
    llvm::append_range(arguments, regions.scoreCaptures);
    return reportUndefined(b, loc, evaluateRegion(b, regions.score, arguments),
                           position, "score", opName);
  };
  if (regions.mask.empty())
    return emitKept(builder);
  SmallVector<Value> arguments(position);
  llvm::append_range(arguments, regions.maskCaptures);
  Value keep = reportUndefined(builder, loc,
                               evaluateRegion(builder, regions.mask, arguments),
                               position, "mask", opName);
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
