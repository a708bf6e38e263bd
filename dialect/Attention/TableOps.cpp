//===- TableOps.cpp - Ops on captured tensors -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a size can be the number of blocks of this size of another.
static bool canBeCount(int64_t count, int64_t size, int64_t block) {
  return ShapedType::isDynamic(count) || ShapedType::isDynamic(size) ||
         count == llvm::divideCeilSigned(size, block);
}

static LogicalResult verifyTable(Operation *op, ShapedType table) {
  if (table.hasRank() && table.getRank() > 0 &&
      BlockRangeOp::isElementType(table.getElementType()))
    return success();
  return op->emitOpError() << "operand 'table': expected at least one "
                              "dimension and elements of type index, f16, "
                              "bf16, f32, f64 or of an integer type of at "
                              "most 64 bits, got "
                           << table;
}

/// Emits a check that a dimension of `operand` has an element for each block of
/// a dimension of the table.
static void checkNumBlocks(
    OpBuilder &builder, Location loc, Operation *op, StringRef operand,
    std::pair<Value, int64_t> counted, std::pair<Value, int64_t> table,
    int64_t block,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  auto createDim = [&](std::pair<Value, int64_t> of) -> Value {
    auto [shaped, dim] = of;
    if (isa<MemRefType>(shaped.getType()))
      return builder.createOrFold<memref::DimOp>(loc, shaped, dim);
    return builder.createOrFold<tensor::DimOp>(loc, shaped, dim);
  };
  Value expected = builder.createOrFold<arith::CeilDivUIOp>(
      loc, createDim(table),
      arith::ConstantIndexOp::create(builder, loc, block));
  Value size = createDim(counted);
  Value same =
      createCompare(builder, loc, arith::CmpIPredicate::eq, size, expected);
  std::string message = describeOperand(counted.first, operand) +
                        ": dimension " + std::to_string(counted.second) +
                        " is not the number of blocks of " +
                        std::to_string(block) + " in dimension " +
                        std::to_string(table.second) + " of the table";
  assertWithNumbers(builder, loc, same, generateErrorMessage(op, message),
                    "{0} instead of {1}", {size, expected});
}

//===----------------------------------------------------------------------===//
// attn.block_range
//===----------------------------------------------------------------------===//

LogicalResult BlockRangeOp::verify() {
  auto table = cast<ShapedType>(getTable().getType());
  if (failed(verifyTable(*this, table)))
    return failure();
  ArrayRef<int64_t> blocks = getBlocks();
  if (int64_t(blocks.size()) != table.getRank() ||
      llvm::any_of(blocks, [](int64_t block) { return block < 1; }))
    return emitOpError() << "attribute 'blocks': expected " << table.getRank()
                         << " sizes of at least 1, got [" << blocks << "]";
  if (getOuts().size() != 2)
    return emitOpError()
           << "expected 2 operands 'outs' (smallest and largest), got "
           << getOuts().size();
  for (Value out : getOuts()) {
    auto type = cast<ShapedType>(out.getType());
    bool matches = isa<MemRefType>(type) == isa<MemRefType>(table) &&
                   type.hasRank() && type.getRank() == table.getRank() &&
                   type.getElementType() == table.getElementType();
    for (int64_t dim = 0; matches && dim < table.getRank(); ++dim)
      matches =
          canBeCount(type.getDimSize(dim), table.getDimSize(dim), blocks[dim]);
    if (!matches)
      return emitOpError() << "operand 'outs': expected an element for each "
                              "block of "
                           << table << ", got " << type;
  }
  return success();
}

void BlockRangeOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  for (auto [dim, block] : llvm::enumerate(getBlocks()))
    for (Value out : getOuts())
      checkNumBlocks(builder, loc, *this, "outs", {out, int64_t(dim)},
                     {getTable(), int64_t(dim)}, block, generateErrorMessage);
}

//===----------------------------------------------------------------------===//
// attn.with_block_range
//===----------------------------------------------------------------------===//

LogicalResult WithBlockRangeOp::verify() {
  auto table = cast<RankedTensorType>(getTable().getType());
  auto ranges = cast<RankedTensorType>(getRanges().getType());
  if (failed(verifyTable(*this, table)))
    return failure();
  ArrayRef<int64_t> blocks = getBlocks();
  if (int64_t(blocks.size()) != table.getRank() ||
      llvm::any_of(blocks, [](int64_t block) {
        return block < 1 || !llvm::isPowerOf2_64(uint64_t(block));
      }))
    return emitOpError() << "attribute 'blocks': expected " << table.getRank()
                         << " sizes that are powers of two, got [" << blocks
                         << "]";
  bool matches = ranges.getRank() == table.getRank() + 1 &&
                 ranges.getElementType() == table.getElementType() &&
                 ranges.getDimSize(0) == 2;
  for (int64_t dim = 0; matches && dim < table.getRank(); ++dim)
    matches = canBeCount(ranges.getDimSize(dim + 1), table.getDimSize(dim),
                         blocks[dim]);
  if (!matches)
    return emitOpError() << "operand 'ranges': expected 2 elements for each "
                            "block of "
                         << table << ", got " << ranges;
  return success();
}

void WithBlockRangeOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  for (auto [dim, block] : llvm::enumerate(getBlocks()))
    checkNumBlocks(builder, loc, *this, "ranges",
                   {getRanges(), int64_t(dim) + 1}, {getTable(), int64_t(dim)},
                   block, generateErrorMessage);
}

void WithBlockRangeOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  bounds.bound(value)[dim] == bounds.getExpr(getTable(), dim);
}
