//===- LaneComparisons.cpp - Comparisons of columns in lanes --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A mask compares the index of a key with something of a row, or of all:
//
//   origin + c <= x   as   c <= x - origin
//
// for the columns c of a lane, which are constants behind its first one. So a
// row takes one difference, and columns take no registers, which would hold
// their indices for the whole loop over keys.
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/VectorToLanes/Conversions.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::attn;

/// What the first column of a lane adds to in each element of `vector`; null if
/// it is not a sum of columns and a scalar that does not overflow.
static Value findOrigin(Value vector, LaneValues &lanes) {
  auto type = cast<VectorType>(vector.getType());
  Operation *op = vector.getDefiningOp();
  if (!op)
    return {};
  // Without its rows, which a cast or a broadcast says, a step may be of both.
  if (isa<vector::ShapeCastOp, vector::BroadcastOp>(op)) {
    Value source = op->getOperand(0);
    if (!isVector(source) || lanes.getLayout(type) == Layout::Rows)
      return {};
    if (source.getDefiningOp<vector::StepOp>())
      return lanes.index.firstColumn;
    return isa<vector::BroadcastOp>(op) ? findOrigin(source, lanes) : Value();
  }
  auto sum = dyn_cast<arith::AddIOp>(op);
  if (!sum || lanes.getLayout(type) != Layout::Columns ||
      !bitEnumContainsAll(sum.getOverflowFlags(),
                          arith::IntegerOverflowFlags::nsw))
    return {};
  for (auto [columns, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                                std::pair(sum.getRhs(), sum.getLhs())})
    if (auto broadcast = other.getDefiningOp<vector::BroadcastOp>();
        broadcast && !isVector(broadcast.getSource()))
      if (Value origin = findOrigin(columns, lanes))
        return lanes.b.add(origin, broadcast.getSource());
  return {};
}

/// The column of an element, behind the first one of the lane.
static int64_t getColumn(LaneValues &lanes, Layout layout, int64_t element) {
  if (layout == Layout::Fragment)
    element = lanes.getColumn(element);
  return lanes.isTransposed ? 8 * element : element / 2 * 8 + element % 2;
}

static bool isSignedOrEquality(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  return llvm::is_contained({Predicate::eq, Predicate::ne, Predicate::slt,
                             Predicate::sle, Predicate::sgt, Predicate::sge},
                            predicate);
}

/// Whether elements are far from where a difference overflows: positions, which
/// are sums that do not, or these and a constant.
static bool isBounded(Value vector) {
  constexpr int64_t kMost = int64_t(1) << 61;
  Operation *op = vector.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op))
    return isBounded(broadcast.getSource());
  if (auto cast = dyn_cast_or_null<vector::ShapeCastOp>(op))
    return isBounded(cast.getSource());
  auto isPosition = [](Value value) {
    auto sum = value.getDefiningOp<arith::AddIOp>();
    return sum && bitEnumContainsAll(sum.getOverflowFlags(),
                                     arith::IntegerOverflowFlags::nsw);
  };
  if (isa_and_present<vector::StepOp>(op) || isPosition(vector))
    return true;
  APInt constant;
  return isa_and_present<arith::AddIOp, arith::SubIOp>(op) &&
         isPosition(op->getOperand(0)) &&
         matchPattern(op->getOperand(1), m_ConstantInt(&constant)) &&
         constant.abs().ule(kMost);
}

bool attn::convertColumnComparison(arith::CmpIOp op, LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  auto type = dyn_cast<VectorType>(op.getType());
  std::optional<Layout> layout = type ? lanes.getLayout(type) : std::nullopt;
  if (!layout || layout == Layout::Rows ||
      !isSignedOrEquality(op.getPredicate()) ||
      !isa<IndexType>(getElementTypeOrSelf(op.getLhs())))
    return false;
  Value origin = findOrigin(op.getLhs(), lanes);
  bool isColumnLhs = bool(origin);
  if (!origin)
    origin = findOrigin(op.getRhs(), lanes);
  if (!origin)
    return false;
  Value otherVector = isColumnLhs ? op.getRhs() : op.getLhs();
  SmallVector<Value> others = lanes.get(otherVector);
  if (int64_t(llvm::SmallDenseSet<Value>(others.begin(), others.end()).size()) >
      lanes.laneRows)
    return false; // Not of rows.
  // A number that is larger is one of no column.
  auto bound = [&](Value number) -> Value {
    constexpr int64_t kMost = int64_t(1) << 62;
    if (isBounded(otherVector))
      return number;
    return b.max(b.min(number, kMost), -kMost);
  };
  DenseMap<Value, Value> differences;
  SmallVector<Value> results;
  for (auto [i, other] : llvm::enumerate(others)) {
    Value &difference = differences[other];
    if (!difference)
      difference = b.sub(bound(other), origin);
    Value column = b.index(getColumn(lanes, *layout, i));
    results.push_back(b.compare(op.getPredicate(),
                                isColumnLhs ? column : difference,
                                isColumnLhs ? difference : column));
  }
  lanes.set(op, std::move(results));
  return true;
}
