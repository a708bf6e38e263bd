//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTNDIALECT_TD
#define ATTN_DIALECT_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::mlir::attn";
  let summary = "Attention, said as one op and a few lines of region";
  let description = [{
    The dialect describes attention variants: grouping of heads, masks, changes
    of the score, packed batches. The ops work on ranked tensors in destination
    style, and on memrefs after bufferization.

    The logical order of a tensor is always `(B, H, S, D)`: batch, head,
    sequence, head size. Another order in memory is the same tensor with other
    strides.

    Rules are numbered, `(A3)`; the code that upholds a rule and the test that
    checks it carry its number.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

#endif // ATTN_DIALECT_ATTNDIALECT_TD
