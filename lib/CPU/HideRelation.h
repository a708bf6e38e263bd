//===- HideRelation.h - Numbers that LLVM cannot relate ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_HIDERELATION_H
#define ATTN_CPU_HIDERELATION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// The same index, in a way that hides from LLVM where it comes from. Of rows
/// that it sees to be a stride apart, loop strength reduction computes each
/// address from that of the row before in every step: registers are saved, and
/// the additions take longer than the work.
inline Value hideRelation(ImplicitLocOpBuilder &b, Value index) {
  Type i64 = b.getI64Type();
  Value number = arith::IndexCastOp::create(b, i64, index);
  auto same = LLVM::InlineAsmOp::create(
      b, i64, number, /*asm_string=*/"", /*constraints=*/"=r,0",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return arith::IndexCastOp::create(b, b.getIndexType(), same.getResult(0));
}

} // namespace mlir::attn

#endif // ATTN_CPU_HIDERELATION_H
