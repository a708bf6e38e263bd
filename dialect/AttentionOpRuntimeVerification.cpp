//===- AttentionOpRuntimeVerification.cpp - attn.attention: run-time checks
//===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the verifier cannot see in dynamic types, checked before the op reads or
// writes anything. The lowerings call this interface, so that a kernel is safe
// whatever its caller checks.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

Value createDim(OpBuilder &builder, Location loc, Value shaped, int64_t dim) {
  if (isa<MemRefType>(shaped.getType()))
    return builder.createOrFold<memref::DimOp>(loc, shaped, dim);
  return builder.createOrFold<tensor::DimOp>(loc, shaped, dim);
}

Value createLoad(OpBuilder &builder, Location loc, Value shaped, Value index) {
  if (isa<MemRefType>(shaped.getType()))
    return memref::LoadOp::create(builder, loc, shaped, index);
  return tensor::ExtractOp::create(builder, loc, shaped, index);
}

Value compare(OpBuilder &builder, Location loc, arith::CmpIPredicate predicate,
              Value lhs, Value rhs) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, lhs, rhs);
}

bool isStatic(const OperandSize &size) {
  return !size.operand || !cast<ShapedType>(size.operand.getType())
                               .isDynamicDim(unsigned(size.dimension));
}

/// A7: `0 <= cumulative[0] <= ... <= cumulative[N] <= rows`.
void checkCumulative(OpBuilder &builder, Location loc, Value cumulative,
                     Value rows, const std::string &message) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = createDim(builder, loc, cumulative, 0);
  Value notEmpty = compare(builder, loc, arith::CmpIPredicate::sge, count, one);
  cf::AssertOp::create(builder, loc, notEmpty, message);
  auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange previous) {
    Value bound = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                             createLoad(b, loc, cumulative, n));
    Value ordered =
        compare(b, loc, arith::CmpIPredicate::sge, bound, previous.front());
    Value inside = compare(b, loc, arith::CmpIPredicate::sle, bound, rows);
    cf::AssertOp::create(b, loc, arith::AndIOp::create(b, loc, ordered, inside),
                         message);
    scf::YieldOp::create(b, loc, bound);
  };
  scf::ForOp::create(builder, loc, zero, count, one, ValueRange{zero}, body);
}

/// A5: `-2^61 <= offset <= 2^61`.
void checkOffset(OpBuilder &builder, Location loc, Value offset,
                 const std::string &message) {
  if (isa<ShapedType>(offset.getType())) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange) {
      checkOffset(b, loc, createLoad(b, loc, offset, n), message);
      scf::YieldOp::create(b, loc);
    };
    scf::ForOp::create(builder, loc, zero, createDim(builder, loc, offset, 0),
                       one, ValueRange{}, body);
    return;
  }
  if (offset.getType().isInteger(32))
    return; // As every i32 is.
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(offset.getType(), value));
  };
  // One unsigned comparison for both bounds.
  Value distance = builder.createOrFold<arith::AddIOp>(
      loc, offset, constant(AttentionOp::kMaxOffset));
  cf::AssertOp::create(builder, loc,
                       compare(builder, loc, arith::CmpIPredicate::ule,
                               distance, constant(2 * AttentionOp::kMaxOffset)),
                       message);
}

} // namespace

void AttentionOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  for (const SizeConstraint &constraint : getSizeConstraints()) {
    if (isStatic(constraint.size) && isStatic(constraint.reference))
      continue; // The verifier has seen it.
    Value size = createDim(builder, loc, constraint.size.operand,
                           constraint.size.dimension);
    Value expected =
        arith::ConstantIndexOp::create(builder, loc, constraint.delta);
    if (constraint.reference.operand) {
      Value reference = createDim(builder, loc, constraint.reference.operand,
                                  constraint.reference.dimension);
      expected = builder.createOrFold<arith::AddIOp>(loc, reference, expected);
    }
    std::string message;
    llvm::raw_string_ostream stream(message);
    stream << "operand '" << constraint.size.name << "': dimension "
           << constraint.size.dimension << " (" << constraint.meaning
           << ") is not ";
    if (constraint.reference.operand)
      stream << "that of '" << constraint.reference.name << "'";
    else
      stream << constraint.delta;
    cf::AssertOp::create(
        builder, loc,
        compare(builder, loc, arith::CmpIPredicate::eq, size, expected),
        generateErrorMessage(*this, message));
  }
  if (getOffset())
    checkOffset(builder, loc, getOffset(),
                generateErrorMessage(*this, "operand 'offset': expected a "
                                            "number of at most 2^61 in "
                                            "magnitude"));
  if (!isPacked())
    return;
  checkCumulative(builder, loc, getCumulativeQuery(),
                  createDim(builder, loc, getQuery(), 2),
                  generateErrorMessage(
                      *this, "operand 'cumulative_query': expected numbers "
                             "that do not decrease, from 0 to the query "
                             "length"));
  checkCumulative(
      builder, loc, getCumulativeKey(), createDim(builder, loc, getKey(), 2),
      generateErrorMessage(*this, "operand 'cumulative_key': expected numbers "
                                  "that do not decrease, from 0 to the "
                                  "key/value length"));
}
