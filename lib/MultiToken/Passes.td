//===- Passes.td - Passes of multi-token attention ---------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MULTITOKEN_PASSES_TD
#define ATTN_MULTITOKEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def MultiTokenToStrips : Pass<"attn-multi-token-to-strips"> {
  let summary = "Lower attn.multi_token_attention to parallel strips";
  let description = [{
    Each `attn.multi_token_attention` becomes an `scf.forall` over batch entries,
    groups of heads that are mixed with each other, and tiles of at most the `rows`
    of its `attn.plan`. An iteration computes strips `(heads, rows, keys)` of f32: the scores of
    its rows and of those before them that convolutions see, with the keys that a
    row of them may see, or with a chunk of them after the other. Keys are
    transposed before, once, to blocks of 64. Every step is a linalg op on such a
    block whose last loop is over keys, or a product of matrices, so that
    `attn-vectorize-rows` and `attn-vectorize-contractions` compute it by vectors.

    Ops of f64, with dropout, and with regions that load or may have no value are
    left to the reference lowering, with a remark.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // ATTN_MULTITOKEN_PASSES_TD
