//===- RuntimeChecks.h - Checks of operands at run time ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What implementations of RuntimeVerifiableOpInterface share. Operands are
// tensors or memrefs; a check that fails ends in a cf.assert.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_RUNTIMECHECKS_H
#define ATTN_DIALECT_SHARED_RUNTIMECHECKS_H

#include "dialect/AttnOps.h"
#include "dialect/Shared/SizeConstraint.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Writes the message of a check of an operation.
using DescribeCheck = function_ref<std::string(Operation *, StringRef)>;

/// Says of an operation, while its checks are generated, that they may write no
/// memory, not of their own either: the threads of a GPU share their loops.
inline constexpr StringLiteral kChecksOnlyReadAttr = "attn.checks_only_read";

/// The name of the argument of a function that `value` is, perhaps cast; null
/// if it has none.
StringAttr getArgumentName(Value value);

/// "argument 'lens'", by that name, or "operand 'lengths'", by that of the
/// operand that `value` is.
std::string describeOperand(Value value, StringRef name);

/// The tensor that `value` was written into first: the destination of the
/// destination-style ops that computed it. It has the same sizes.
Value getFirstDestination(Value value);

/// A size of a tensor or memref, computed without what was written into it:
/// that of its first destination, from what that was made with if it is an
/// empty tensor, or from what says how much of a cache it reads.
Value createFirstDim(OpBuilder &builder, Location loc, Value shaped,
                     int64_t dim);

/// Moves the builder to right after what computes `values` and the first
/// destinations of `shaped`, some of which may be null: before everything that
/// was computed since in their block, so that a check of their sizes fails
/// before any of it is written. Stays where it is if one of them comes from
/// elsewhere.
void moveBeforeWrites(OpBuilder &builder, ArrayRef<Value> values,
                      ArrayRef<Value> shaped);

/// The same for what sizes, numbers and the mask of `op` come from: a ring that
/// is read is still whole there.
void moveBeforeWrites(OpBuilder &builder, AttentionOp op);
void moveBeforeWrites(OpBuilder &builder, AttentionBackwardOp op);
void moveBeforeWrites(OpBuilder &builder, AttentionTangentOp op);
void moveBeforeWrites(OpBuilder &builder, MultiTokenAttentionOp op);
void moveBeforeWrites(OpBuilder &builder, MultiTokenAttentionBackwardOp op);

Value createDim(OpBuilder &builder, Location loc, Value shaped, int64_t dim);
Value createLoad(OpBuilder &builder, Location loc, Value shaped,
                 ValueRange indices);
Value createCompare(OpBuilder &builder, Location loc,
                    arith::CmpIPredicate predicate, Value lhs, Value rhs);

/// Asserts `condition`. Where a call has somewhere to report numbers to, `text`
/// follows the message, with `numbers` for {0}, {1} and so on.
void assertWithNumbers(OpBuilder &builder, Location loc, Value condition,
                       const std::string &message, StringRef text,
                       ArrayRef<Value> numbers);

/// Checks the constraints whose sizes the verifier could not see.
void checkSizes(OpBuilder &builder, Location loc, Operation *op,
                ArrayRef<SizeConstraint> constraints, DescribeCheck describe);

/// Checks that an integer is at most 2^61 in magnitude (A5), or every element
/// of a shaped operand of one dimension.
void checkOffset(OpBuilder &builder, Location loc, Value offset,
                 const std::string &message);

/// Checks that `0 <= cumulative[0] <= ... <= cumulative[N] <= rows` (A7).
/// `name` is the operand's, `meaning` that of the rows.
void checkCumulative(OpBuilder &builder, Location loc, Operation *op,
                     Value cumulative, StringRef name, Value rows,
                     StringRef meaning, DescribeCheck describe);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_RUNTIMECHECKS_H
