//===- TableOps.cpp - Ops on captured tensors -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// attn.block_range
//===----------------------------------------------------------------------===//

LogicalResult BlockRangeOp::verify() {
  auto table = cast<ShapedType>(getTable().getType());
  if (!table.hasRank() || table.getRank() == 0 ||
      !isElementType(table.getElementType()))
    return emitOpError() << "operand 'table': expected at least one dimension "
                            "and elements of type index or of an integer type "
                            "of at most 64 bits, got "
                         << table;
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
    bool matches = type.hasRank() && type.getRank() == table.getRank() &&
                   type.getElementType() == table.getElementType();
    for (int64_t dim = 0; matches && dim < table.getRank(); ++dim)
      matches = type.isDynamicDim(dim) || table.isDynamicDim(dim) ||
                type.getDimSize(dim) ==
                    llvm::divideCeilSigned(table.getDimSize(dim), blocks[dim]);
    if (!matches)
      return emitOpError() << "operand 'outs': expected an element for each "
                              "block of "
                           << table << ", got " << type;
  }
  return success();
}

void BlockRangeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isOut = isDpsInit(&operand);
    MemoryEffects::Effect *effect =
        isOut
            ? static_cast<MemoryEffects::Effect *>(MemoryEffects::Write::get())
            : MemoryEffects::Read::get();
    effects.emplace_back(effect, &operand, /*stage=*/isOut ? 1 : 0,
                         /*effectOnFullRegion=*/true,
                         SideEffects::DefaultResource::get());
  }
}

void BlockRangeOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  auto createDim = [&](Value shaped, int64_t dim) -> Value {
    if (isa<MemRefType>(shaped.getType()))
      return builder.createOrFold<memref::DimOp>(loc, shaped, dim);
    return builder.createOrFold<tensor::DimOp>(loc, shaped, dim);
  };
  for (auto [dim, block] : llvm::enumerate(getBlocks())) {
    Value blockSize = arith::ConstantIndexOp::create(builder, loc, block);
    Value expected = builder.createOrFold<arith::CeilDivUIOp>(
        loc, createDim(getTable(), int64_t(dim)), blockSize);
    for (Value out : getOuts()) {
      Value same = builder.createOrFold<arith::CmpIOp>(
          loc, arith::CmpIPredicate::eq, createDim(out, int64_t(dim)),
          expected);
      cf::AssertOp::create(
          builder, loc, same,
          generateErrorMessage(*this, "operand 'outs': dimension " +
                                          std::to_string(dim) +
                                          " is not the number of blocks"));
    }
  }
}
