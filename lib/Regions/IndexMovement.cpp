//===- IndexMovement.cpp - How indices follow positions -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/IndexMovement.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

static std::optional<IndexMovement> join(std::optional<IndexMovement> lhs,
                                         std::optional<IndexMovement> rhs) {
  if (!lhs || !rhs)
    return std::nullopt;
  if (lhs->isConstant())
    return rhs;
  if (rhs->isConstant())
    return lhs;
  return IndexMovement{lhs->withPosition || rhs->withPosition,
                       lhs->withKey || rhs->withKey,
                       std::min(lhs->period, rhs->period)};
}

/// What the first operand is divided by, 0 if nothing.
static int64_t getDivisor(Operation *op) {
  APInt constant;
  if (op->getNumOperands() != 2 ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
    return 0;
  if (constant.getSignificantBits() > 64)
    return 0;
  int64_t number = constant.getSExtValue();
  if (isa<arith::ShRSIOp, arith::ShRUIOp, index::ShrSOp, index::ShrUOp>(op))
    return number >= 0 && number < 62 ? int64_t(1) << number : 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, index::DivSOp, index::DivUOp,
          index::FloorDivSOp, index::CeilDivSOp, index::CeilDivUOp>(op))
    return number;
  return 0;
}

IndexMovements::IndexMovements(Region &region) {
  // b, h, p, j, which may follow a score.
  Block &block = region.front();
  unsigned first = isa<FloatType>(block.getArgument(0).getType()) ? 1 : 0;
  movements[block.getArgument(first + 2)] = IndexMovement{true, false, 1};
  movements[block.getArgument(first + 3)] = IndexMovement{false, true, 1};
  for (Operation &op : block.without_terminator()) {
    bool moves = llvm::any_of(op.getOperands(), [&](Value operand) {
      return movements.contains(operand);
    });
    if (!moves)
      continue;
    std::optional<IndexMovement> movement = evaluate(&op);
    for (Value result : op.getResults())
      movements[result] = movement;
  }
}

std::optional<IndexMovement> IndexMovements::find(Value index) const {
  auto found = movements.find(index);
  return found == movements.end() ? IndexMovement{} : found->second;
}

/// Positions that are taken to share an index that is loaded, as the number of
/// a document is. Where they do not, whoever looks at what is loaded with it
/// finds too much to look at.
static constexpr int64_t kLoadedPeriod = 64;

std::optional<IndexMovement> IndexMovements::evaluate(Operation *op) const {
  if (std::optional<TableLoad> load = TableLoad::match(op)) {
    std::optional<IndexMovement> loaded = IndexMovement{};
    for (Value index : load->indices)
      loaded = join(loaded, find(index));
    if (loaded)
      loaded->period = kLoadedPeriod;
    return loaded;
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp, index::CastSOp, index::CastUOp>(op))
    return find(op->getOperand(0));
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          index::AddOp, index::SubOp, index::MinSOp, index::MaxSOp>(op))
    return join(find(op->getOperand(0)), find(op->getOperand(1)));
  if (isa<arith::RemSIOp, arith::RemUIOp, index::RemSOp, index::RemUOp>(op)) {
    std::optional<IndexMovement> divisor = find(op->getOperand(1));
    bool isPeriodic = divisor && divisor->isConstant();
    return isPeriodic ? find(op->getOperand(0)) : std::nullopt;
  }
  int64_t divisor = getDivisor(op);
  if (divisor < 1)
    return std::nullopt;
  std::optional<IndexMovement> result = find(op->getOperand(0));
  if (result && llvm::MulOverflow(result->period, divisor, result->period))
    result->period = std::numeric_limits<int64_t>::max();
  return result;
}
