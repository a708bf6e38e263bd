//===- RegionAnalysis.cpp - Score and mask regions over a tile ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Integers are intervals (IntegerInterval.cpp has the rules). An i1 is three
// sets of keys, where it can be true (T), false (F) or undefined (U):
//
//   a and b          T = Ta & Tb      F = Fa | Fb
//                    U = (Ua & (Tb | Ub)) | (Ub & Ta)
//   a or b           the same with T and F exchanged
//   a xor b          T = (Ta & Fb) | (Fa & Tb)     F = (Ta & Tb) | (Fa & Fb)
//   select c, a, b   T = (Tc & Ta) | (Fc & Tb)     F, U likewise, and U has Uc;
//                    of integers, both where c lets them be chosen
//   x < y            RegionComparison.cpp, of floats FloatComparison.cpp
//   load             the element, if every index is one number, else what
//                    TableRanges.h knows; U where an index can be outside
//   integers         RegionIntegers.cpp
//   floats           FloatInterval.cpp, in masks
//   other            anything; U where an operand is undefined
//
// The intervals of `p` and
// `j` are independent, so that a comparison in which each occurs once, as it
// does in nearly every mask, is decided exactly.
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/RegionAnalysis.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/RuntimeChecks.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// A fact of a value of which nothing is known but its type.
RegionFact RegionAnalysis::makeAny(Type type) {
  RegionFact fact;
  if (type.isInteger(1))
    fact.canBeTrue = fact.canBeFalse = sets.all();
  else if (type.isIntOrIndex())
    fact.range = IntegerInterval::ofWidth(getIntegerWidth(type));
  return fact;
}

/// A fact of a scalar outside the region.
RegionFact RegionAnalysis::readScalar(Value scalar) {
  RegionFact fact = makeAny(scalar.getType());
  if (scalar.getType().isInteger(1)) {
    SymbolicFlag flag = n.read(scalar);
    fact.canBeTrue = sets.when(flag);
    fact.canBeFalse = sets.when(n.negate(flag));
  } else if (scalar.getType().isIntOrIndex()) {
    fact.range = n.read(scalar, fact.range.low.least, fact.range.high.greatest);
  } else if (isMask && isa<FloatType>(scalar.getType())) {
    fact.real = floats.point(scalar);
  }
  return fact;
}

RegionFact RegionAnalysis::getFact(Value value) {
  auto found = facts.find(value);
  return found == facts.end() ? makeAny(value.getType()) : found->second;
}

/// The interval of an integer; an i1 is read as 0 and -1.
IntegerInterval RegionAnalysis::getRange(Value value) {
  RegionFact fact = getFact(value);
  if (!value.getType().isInteger(1))
    return fact.range;
  return {n.select(sets.isNotEmpty(fact.canBeTrue), SymbolicNumber(-1),
                   SymbolicNumber(0)),
          n.select(sets.isNotEmpty(fact.canBeFalse), SymbolicNumber(0),
                   SymbolicNumber(-1))};
}

/// A fact of an operation's result before its value is looked at.
RegionFact RegionAnalysis::combineOperands(Operation *op) {
  RegionFact fact;
  if (op->getNumResults() > 0)
    fact = makeAny(op->getResult(0).getType());
  for (Value operand : op->getOperands()) {
    RegionFact other = getFact(operand);
    fact.undefined = sets.unite(fact.undefined, other.undefined);
    fact.dependsOnKey |= other.dependsOnKey;
  }
  return fact;
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

void RegionAnalysis::analyze(Region &region,
                             std::array<IntegerInterval, 4> positions,
                             ValueRange captures) {
  movements.emplace(region);
  Block &block = region.front();
  isMask = block.getTerminator()->getOperand(0).getType().isInteger(1);
  auto arguments = block.getArguments();
  for (auto [argument, capture] :
       llvm::zip_equal(arguments.take_back(captures.size()), captures)) {
    captured[argument] = capture;
    facts[argument] = readScalar(capture);
  }
  auto indices = arguments.drop_back(captures.size()).take_back(4);
  for (auto [argument, range] : llvm::zip_equal(indices, positions))
    facts[argument].range = range;
  key = indices.back();
  facts[key].dependsOnKey = true;

  for (Operation &op : block.without_terminator())
    evaluate(&op);
  yielded = getFact(block.getTerminator()->getOperand(0));
}

void RegionAnalysis::evaluate(Operation *op) {
  if (std::optional<TableLoad> load = TableLoad::match(op))
    return evaluateLoad(op, *load);

  KeySet undefined = findUndefined(op);
  addUndefined(op, undefined);
  RegionFact fact = combineOperands(op);
  fact.undefined = sets.unite(fact.undefined, undefined);
  for (Value result : op->getResults()) {
    RegionFact any = makeAny(result.getType());
    any.undefined = fact.undefined;
    any.dependsOnKey = fact.dependsOnKey;
    facts[result] = any;
  }
  if (op->getNumResults() != 1)
    return;
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant))) {
    RegionFact &known = facts[op->getResult(0)];
    known.range = SymbolicNumber(constant.getSExtValue());
    known.canBeTrue = sets.when(constant.isOne());
    known.canBeFalse = sets.when(constant.isZero());
    return;
  }
  if (isa<arith::SelectOp>(op))
    return evaluateSelect(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return evaluateCompare(op, compare.getPredicate());
  if (auto compare = dyn_cast<index::CmpOp>(op))
    return evaluateCompare(
        op, *arith::symbolizeCmpIPredicate(
                index::stringifyIndexCmpPredicate(compare.getPred())));
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return evaluateCompare(compare);
  if (op->getResult(0).getType().isInteger(1))
    return evaluateLogic(op);
  if (op->getResult(0).getType().isIntOrIndex())
    evaluateInteger(op);
  else if (isMask && isa<FloatType>(op->getResult(0).getType()))
    evaluateFloat(op);
}

void RegionAnalysis::evaluateFloat(Operation *op) {
  FloatInterval &real = facts[op->getResult(0)].real;
  FloatAttr constant;
  if (matchPattern(op, m_Constant(&constant))) {
    real = floats.point(
        arith::ConstantOp::create(n.getBuilder(), n.getLoc(), constant));
    return;
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Value integer = op->getOperand(0);
    IntegerInterval range = getRange(integer);
    if (!integer.getType().isInteger(1) &&
        (isa<arith::SIToFPOp>(op) || range.low.least >= 0))
      real = floats.convert(op->getResult(0).getType(), range);
    return;
  }
  SmallVector<FloatInterval> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getFact(operand).real);
  real = floats.evaluate(op, operands);
}

void RegionAnalysis::addUndefined(Operation *op, const KeySet &keys) {
  undefinedOperations = sets.unite(undefinedOperations, keys);
  if (!unproven && sets.isAll(keys))
    unproven = op;
}

/// Whether nothing is known of an i1.
bool RegionAnalysis::isUnknown(Value condition) {
  RegionFact fact = getFact(condition);
  return condition.getType().isInteger(1) && sets.isAll(fact.canBeTrue) &&
         sets.isAll(fact.canBeFalse);
}

SmallVector<Operation *> RegionAnalysis::findUnknownConditions(Region &region) {
  SmallVector<Operation *> unknown;
  for (Operation &op : region.front().without_terminator())
    if (op.getNumResults() == 1 && isUnknown(op.getResult(0)) &&
        llvm::none_of(op.getOperands(),
                      [&](Value operand) { return isUnknown(operand); }))
      unknown.push_back(&op);
  return unknown;
}

//===----------------------------------------------------------------------===//
// Loads and choices
//===----------------------------------------------------------------------===//

/// `source[indices]`, or a zero if `isInside` is false.
static Value createGuardedLoad(IndexBuilder b, Value source, ValueRange indices,
                               Value isInside) {
  auto load = [&]() -> Value {
    if (isa<MemRefType>(source.getType()))
      return memref::LoadOp::create(b, source, indices);
    return b.createOrFold<tensor::ExtractOp>(source, indices);
  };
  if (!isInside)
    return load();
  return b.choose(isInside, load,
                  [&] { return b.zero(getElementTypeOrSelf(source)); });
}

void RegionAnalysis::evaluateLoad(Operation *op, const TableLoad &load) {
  Value result = op->getResult(0);
  RegionFact fact = combineOperands(op);
  Value table =
      captured.contains(load.table) ? captured.lookup(load.table) : load.table;
  OpBuilder &b = n.getBuilder();
  SymbolicFlag isInside = true;
  bool isOneElement = true;
  SmallVector<Value> element;
  SmallVector<IntegerInterval> ranges;
  for (auto [dim, index] : llvm::enumerate(load.indices)) {
    SymbolicNumber size = n.read(createDim(b, n.getLoc(), table, int64_t(dim)),
                                 0, SymbolicNumber::kMax);
    Operand position = getOperand(index);
    Operand bound(Value(), size);
    KeySet outside =
        sets.unite(canBeLess(position, 0), canBeAtMost(bound, position));
    fact.undefined = sets.unite(fact.undefined, outside);
    addUndefined(op, outside);
    ranges.push_back(position.range);

    isOneElement &= position.range.isPoint();
    if (!isOneElement)
      continue;
    const SymbolicNumber &point = position.range.low;
    isInside =
        n.both(isInside, n.both(n.isAtMost(0, point), n.isLess(point, size)));
    element.push_back(n.toIndex(point));
  }
  bool isKnown = isOneElement && !isInside.isFalse() &&
                 (result.getType().isIntOrIndex() ||
                  (isMask && isa<FloatType>(result.getType())));
  if (isKnown) {
    RegionFact loaded = readScalar(createGuardedLoad(
        {n.getLoc(), b}, table, element, isInside.getValue()));
    loaded.undefined = fact.undefined;
    fact = loaded;
  } else if (!isOneElement) {
    if (auto range = emitTableRange(n, *movements, load, table, ranges))
      narrow(fact, *range);
  }
  facts[result] = fact;
}

/// Adds what is known of a loaded value.
void RegionAnalysis::narrow(RegionFact &fact, const TableRange &range) {
  if (isa<FloatType>(range.low.getType())) {
    fact.real = floats.between(range.low, range.high, range.isKnown);
    return;
  }
  if (range.low.getType().isInteger(1)) {
    SymbolicFlag unknown = n.negate(range.isKnown);
    SymbolicFlag anyTrue = n.read(range.high);
    SymbolicFlag anyFalse = n.negate(n.read(range.low));
    fact.canBeTrue = sets.when(n.either(unknown, anyTrue));
    fact.canBeFalse = sets.when(n.either(unknown, anyFalse));
    return;
  }
  int64_t least = fact.range.low.least, greatest = fact.range.high.greatest;
  IntegerInterval loaded(n.read(range.low, least, greatest),
                         n.read(range.high, least, greatest));
  fact.range = intervals.select(range.isKnown, loaded, fact.range);
}

/// The operations from `root` on that make `value` of it, in order; none if
/// there are many.
static SmallVector<Operation *> findBetween(Value root, Value value) {
  constexpr size_t kMost = 16;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return op != root.getDefiningOp() && slice.size() <= kMost;
  };
  if (failed(getBackwardSlice(value, &slice, options)) || slice.size() > kMost)
    return {};
  SmallVector<Operation *> between;
  SmallPtrSet<Value, 16> made = {root};
  for (Operation *op : slice)
    if (llvm::any_of(op->getOperands(),
                     [&](Value operand) { return made.contains(operand); })) {
      between.push_back(op);
      made.insert_range(op->getResults());
    }
  return between;
}

/// The interval of what a select yields where its condition is true, or false:
/// of `select i < 16, i, f(i)`, that of `f(i)` from 16 on.
IntegerInterval RegionAnalysis::getChosenRange(Operation *select, bool isTrue) {
  Value chosen = select->getOperand(isTrue ? 1 : 2);
  IntegerInterval range = getRange(chosen);
  auto compare = select->getOperand(0).getDefiningOp<arith::CmpIOp>();
  if (!compare || !getFact(chosen).dependsOnKey)
    return range;
  CmpIPredicate predicate = compare.getPredicate();
  if (!isTrue)
    predicate = arith::invertPredicate(predicate);
  // That `low < high`, or `low <= high`.
  Value low = compare.getLhs(), high = compare.getRhs();
  if (predicate == CmpIPredicate::sgt || predicate == CmpIPredicate::sge)
    std::swap(low, high);
  else if (predicate != CmpIPredicate::slt && predicate != CmpIPredicate::sle)
    return range;
  int64_t distance =
      predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sgt;
  APInt constant;
  bool isHigh = matchPattern(low, m_ConstantInt(&constant));
  if (!isHigh && !matchPattern(high, m_ConstantInt(&constant)))
    return range;
  Value root = isHigh ? high : low;
  int64_t limit = constant.getSExtValue();
  IntegerInterval part = getRange(root);
  if (isHigh ? limit >= part.high.greatest : limit <= part.low.least)
    return range; // Never so.
  if (isHigh)
    part.low = n.max(part.low, limit + distance);
  else
    part.high = n.min(part.high, limit - distance);
  if (chosen == root)
    return part;

  SmallVector<Operation *> between = findBetween(root, chosen);
  if (between.empty() || llvm::any_of(between, TableLoad::match))
    return range;
  SmallVector<std::pair<Value, RegionFact>, 0> before = {{root, getFact(root)}};
  for (Operation *op : between)
    for (Value result : op->getResults())
      before.emplace_back(result, getFact(result));
  KeySet undefinedBefore = undefinedOperations;
  Operation *unprovenBefore = unproven;
  facts[root].range = part;
  for (Operation *op : between)
    evaluate(op);
  part = getRange(chosen);
  for (const auto &[value, fact] : before)
    facts[value] = fact;
  undefinedOperations = undefinedBefore;
  unproven = unprovenBefore;
  return part;
}

void RegionAnalysis::evaluateSelect(Operation *op) {
  RegionFact condition = getFact(op->getOperand(0));
  RegionFact ifTrue = getFact(op->getOperand(1));
  RegionFact ifFalse = getFact(op->getOperand(2));
  auto choose = [&](const KeySet &ofTrue, const KeySet &ofFalse) {
    return sets.unite(sets.intersect(condition.canBeTrue, ofTrue),
                      sets.intersect(condition.canBeFalse, ofFalse));
  };
  RegionFact &fact = facts[op->getResult(0)];
  fact.undefined = sets.unite(condition.undefined,
                              choose(ifTrue.undefined, ifFalse.undefined));
  Type type = op->getResult(0).getType();
  if (type.isInteger(1)) {
    fact.canBeTrue = choose(ifTrue.canBeTrue, ifFalse.canBeTrue);
    fact.canBeFalse = choose(ifTrue.canBeFalse, ifFalse.canBeFalse);
  } else if (type.isIntOrIndex()) {
    IntegerInterval ofTrue = getChosenRange(op, /*isTrue=*/true),
                    ofFalse = getChosenRange(op, /*isTrue=*/false);
    fact.range = intervals.select(
        sets.isEmpty(condition.canBeFalse), ofTrue,
        intervals.select(sets.isEmpty(condition.canBeTrue), ofFalse,
                         intervals.hull(ofTrue, ofFalse)));
  } else if (isMask) {
    fact.real = floats.hull(ifTrue.real, ifFalse.real);
  }
  // A bound is traced back where one of both is never chosen.
  fact.isExact = condition.canBeTrue.isNone() != condition.canBeFalse.isNone();
}

//===----------------------------------------------------------------------===//
// Results of type i1
//===----------------------------------------------------------------------===//

void RegionAnalysis::evaluateLogic(Operation *op) {
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return;
  RegionFact a = getFact(op->getOperand(0)), b = getFact(op->getOperand(1));
  RegionFact &fact = facts[op->getResult(0)];
  auto both = [&](const KeySet &x, const KeySet &y) {
    return sets.intersect(x, y);
  };
  auto either = [&](const KeySet &x, const KeySet &y) {
    return sets.unite(x, y);
  };
  if (isa<arith::XOrIOp>(op)) {
    fact.canBeTrue = either(both(a.canBeTrue, b.canBeFalse),
                            both(a.canBeFalse, b.canBeTrue));
    fact.canBeFalse = either(both(a.canBeTrue, b.canBeTrue),
                             both(a.canBeFalse, b.canBeFalse));
    return;
  }
  // What does not decide the result: true for an `and`, false for an `or`.
  KeySet RegionFact::*neutral =
      isa<arith::AndIOp>(op) ? &RegionFact::canBeTrue : &RegionFact::canBeFalse;
  KeySet RegionFact::*deciding =
      isa<arith::AndIOp>(op) ? &RegionFact::canBeFalse : &RegionFact::canBeTrue;
  fact.*neutral = both(a.*neutral, b.*neutral);
  fact.*deciding = either(a.*deciding, b.*deciding);
  fact.undefined = either(both(a.undefined, either(b.*neutral, b.undefined)),
                          both(b.undefined, a.*neutral));
}
