//===- RegionDependence.cpp - What the values of a region vary with -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/RegionDependence.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

RegionArguments::RegionArguments(Region &region, bool isScore)
    : captures(region.getArguments().drop_front(
          isScore ? AttentionOp::kNumScoreArguments
                  : AttentionOp::kNumMaskArguments)) {
  unsigned first = isScore ? 1 : 0;
  if (isScore)
    score = region.getArgument(0);
  batch = region.getArgument(first);
  head = region.getArgument(first + 1);
  position = region.getArgument(first + 2);
  key = region.getArgument(first + 3);
}

/// The constant that an op divides the key by, if it is at least 2, or else 0.
/// Keys are not negative.
static int64_t getKeyDivisor(Operation &op, Value key) {
  if (!isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op) ||
      op.getOperand(0) != key)
    return 0;
  APInt divisor;
  if (!matchPattern(op.getOperand(1), m_ConstantInt(&divisor)))
    return 0;
  return divisor.sgt(1) ? divisor.getSExtValue() : 0;
}

SmallVector<int64_t> attn::getKeyDivisors(Region &region, bool isScore) {
  SmallVector<int64_t> divisors;
  if (region.empty())
    return divisors;
  Value key = RegionArguments(region, isScore).key;
  for (Operation &op : region.front())
    if (int64_t divisor = getKeyDivisor(op, key);
        divisor && !llvm::is_contained(divisors, divisor))
      divisors.push_back(divisor);
  return divisors;
}

RegionDependence::RegionDependence(Region &region, bool isScore,
                                   bool sameQuotients)
    : arguments(region, isScore), sameQuotients(sameQuotients) {
  if (isScore) {
    lanes.insert(arguments.score);
    rows.insert(arguments.score);
  }
  lanes.insert(arguments.position);
  rows.insert(arguments.key);
  for (Operation &op : region.front()) {
    bool isSame = sameQuotients && getKeyDivisor(op, arguments.key);
    for (Value result : op.getResults()) {
      if (llvm::any_of(op.getOperands(), [&](Value v) { return onLane(v); }))
        lanes.insert(result);
      if (!isSame &&
          llvm::any_of(op.getOperands(), [&](Value v) { return onRow(v); }))
        rows.insert(result);
    }
    if (op.getNumResults() != 1)
      continue;
    if (std::optional<Linear> computed = computeLinear(op))
      linear[op.getResult(0)] = *computed;
    auto comparison = dyn_cast<arith::CmpIOp>(op);
    if (isDistance(op.getResult(0)) || isOfDistances(op) ||
        (comparison && isComparedByDistance(comparison)))
      distances.insert(op.getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

bool RegionDependence::isDistance(Value value) const {
  std::optional<Linear> found = getLinear(value);
  return found && found->position != 0 && found->position + found->key == 0;
}

bool RegionDependence::isOfDistances(Operation &op) const {
  auto load = dyn_cast<memref::LoadOp>(op);
  if (op.getNumRegions() > 0 || (!load && !isPure(&op)))
    return false;
  bool any = false;
  for (Value operand : op.getOperands()) {
    if (!onLane(operand) && !onRow(operand))
      continue;
    if (!onDistance(operand))
      return false;
    any = true;
  }
  if (!any || !load)
    return any;
  LoadForm form = getForm(load);
  return form == LoadForm::Contiguous || form == LoadForm::Gather;
}

/// The largest magnitude of a number that is a sum of a few positions, keys and
/// constants; infinity of others.
static double getReach(Value value, const RegionArguments &arguments,
                       int depth = 4) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  // More than a sequence has, and rows before the first key.
  constexpr double kKeys = 0x1p60;
  if (value == arguments.key)
    return kKeys;
  if (value == arguments.position)
    return kKeys + double(AttentionOp::kMaxOffset);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return std::abs(constant.signedRoundToDouble());
  Operation *op = value.getDefiningOp();
  if (depth == 0)
    return kUnknown;
  if (isa_and_nonnull<arith::IndexCastOp>(op))
    return getReach(op->getOperand(0), arguments, depth - 1);
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, index::AddOp,
                       index::SubOp>(op))
    return kUnknown;
  double reach = 0;
  for (Value operand : op->getOperands())
    reach += getReach(operand, arguments, depth - 1);
  return reach;
}

static bool isUnsigned(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  return predicate == ult || predicate == ule || predicate == ugt ||
         predicate == uge;
}

/// Whether what decides is the difference of both sides, and that a distance,
/// as of `j <= p`.
bool RegionDependence::isComparedByDistance(arith::CmpIOp op) const {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  std::optional<Linear> left = getLinear(lhs), right = getLinear(rhs);
  if (!left || !right || isUnsigned(op.getPredicate()))
    return false;
  // The same along a diagonal as long as neither wraps.
  if (getReach(lhs, arguments) >= 0x1p63 || getReach(rhs, arguments) >= 0x1p63)
    return false;
  uint64_t position = left->position - right->position;
  return position != 0 && position + (left->key - right->key) == 0;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

std::optional<RegionDependence::Linear>
RegionDependence::getLinear(Value value) const {
  if (value == arguments.position)
    return Linear{1, 0};
  if (value == arguments.key)
    return Linear{0, 1};
  if (!onLane(value) && !onRow(value))
    return Linear{0, 0};
  auto found = linear.find(value);
  return found == linear.end() ? std::nullopt : std::optional(found->second);
}

std::optional<RegionDependence::Linear>
RegionDependence::computeLinear(Operation &op) const {
  Type type = op.getResult(0).getType();
  if (isa<arith::IndexCastOp>(op) &&
      (op.getOperand(0).getType().isInteger(64) || type.isInteger(64)))
    return getLinear(op.getOperand(0));
  bool isAdd = isa<arith::AddIOp, index::AddOp>(op);
  bool isSub = isa<arith::SubIOp, index::SubOp>(op);
  if ((!isAdd && !isSub) || !(type.isIndex() || type.isInteger(64)))
    return std::nullopt;
  std::optional<Linear> lhs = getLinear(op.getOperand(0));
  std::optional<Linear> rhs = getLinear(op.getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  uint64_t sign = isAdd ? 1 : -1;
  return Linear{lhs->position + sign * rhs->position,
                lhs->key + sign * rhs->key};
}

LoadForm RegionDependence::getForm(memref::LoadOp load) const {
  if (!onRow(load.getResult()))
    return LoadForm::PerLane;
  MemRefType type = load.getMemRefType();
  if (!type.isLastDimUnitStride())
    return LoadForm::PerElement;
  Type element = type.getElementType();
  Value last = load.getIndices().back();
  OperandRange others = load.getIndices().drop_back();
  bool sameOthers =
      llvm::none_of(others, [&](Value index) { return onLane(index); });
  bool isWord = element.isF32() || element.isInteger(32);
  std::optional<Linear> ofLast = getLinear(last);
  if (ofLast && ofLast->position == 1 && sameOthers && isWord)
    return LoadForm::Contiguous;

  if (ofLast && ofLast->position == 0 && ofLast->key == 1) {
    unsigned varying = 0;
    bool matches =
        isWord || element.isF16() || element.isBF16() || element.isInteger(1);
    for (Value index : others) {
      std::optional<Linear> other = getLinear(index);
      matches &= other && other->key == 0 &&
                 (other->position == 0 || other->position == 1);
      varying += other && other->position == 1;
    }
    if (matches && varying == 1)
      return LoadForm::Transposed;
  }
  return isWord ? LoadForm::Gather : LoadForm::PerElement;
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

static bool hasVectors(Type type) {
  return type.isIndex() || type.isInteger(1) || type.isInteger(8) ||
         type.isInteger(16) || type.isInteger(32) || type.isInteger(64) ||
         type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

bool attn::isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp>(op);
}

/// Functions with vector forms for f32, which are emitted later.
static bool isExpanded(Operation *op) {
  return isa<arith::RemFOp, math::AcosOp, math::AcoshOp, math::AsinOp,
             math::AsinhOp, math::AtanOp, math::Atan2Op, math::AtanhOp,
             math::CbrtOp, math::CosOp, math::CoshOp, math::ErfOp, math::ErfcOp,
             math::ExpOp, math::Exp2Op, math::ExpM1Op, math::FPowIOp,
             math::LogOp, math::Log10Op, math::Log1pOp, math::Log2Op,
             math::PowFOp, math::SinOp, math::SinhOp, math::TanOp,
             math::TanhOp>(op);
}

static StringRef findObstacle(Operation *op) {
  constexpr StringRef kNone, kUnknown = "it has no vector form";
  auto usesType = [&](function_ref<bool(Type)> matches) {
    return llvm::any_of(op->getOperandTypes(), matches) ||
           llvm::any_of(op->getResultTypes(), matches);
  };
  if (op->getNumResults() != 1 || !hasVectors(op->getResult(0).getType()))
    return kUnknown;
  if (isa<memref::LoadOp>(op))
    return kNone;
  if (!llvm::all_of(op->getOperandTypes(), hasVectors))
    return kUnknown;
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SelectOp>(op))
    return kNone;
  if (usesType([](Type type) { return type.isF16() || type.isBF16(); }))
    return "there is no vector arithmetic on f16 and bf16";
  if (isExpanded(op))
    return op->getResult(0).getType().isF32()
               ? kNone
               : "it has a vector form for f32 only";
  bool known =
      isDivision(op) ||
      isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp,
          arith::OrIOp, arith::XOrIOp, arith::ShLIOp, arith::ShRSIOp,
          arith::ShRUIOp, arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp,
          arith::MaxUIOp, arith::CmpIOp, arith::CmpFOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
          arith::FPToSIOp, arith::FPToUIOp, arith::IndexCastOp,
          arith::IndexCastUIOp, arith::BitcastOp, arith::AddFOp, arith::SubFOp,
          arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
          arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op) ||
      isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::ClampFOp,
          math::CopySignOp, math::CountLeadingZerosOp,
          math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp,
          math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp,
          math::RoundOp, math::RoundEvenOp, math::RsqrtOp, math::SqrtOp,
          math::TruncOp>(op) ||
      isa<index::AddOp, index::SubOp, index::MulOp, index::CmpOp,
          index::CastSOp, index::CastUOp>(op);
  return known ? kNone : kUnknown;
}

std::optional<VectorizationObstacle>
attn::findVectorizationObstacle(Region &region,
                                const RegionDependence &dependence) {
  for (Operation &op : region.front().without_terminator()) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value v) { return dependence.onLane(v); }) &&
        op.getName().getStringRef() != "ub.poison")
      continue;
    StringRef reason = findObstacle(&op);
    if (!reason.empty())
      return VectorizationObstacle{&op, reason};
  }
  return std::nullopt;
}
