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
  let summary = "Lower multi-token attention and its gradients to parallel strips";
  let description = [{
    Each `attn.multi_token_attention` becomes an `scf.forall` over batch entries,
    groups of heads that are mixed with each other, and tiles of at most the `rows`
    of its `attn.plan`. An iteration computes strips `(heads, rows, keys)` of f32: the scores of
    its rows and of those before them that convolutions see, with the keys that a
    row of them may see, or with a chunk of them, as many as the plan's `keys`, after
    the other. Keys are
    transposed before, once, to blocks of 64. Every step is a linalg op on such a
    block whose last loop is over keys, or a product of matrices, so that
    `attn-vectorize-rows` and `attn-vectorize-contractions` compute it by vectors.

    Each `attn.multi_token_attention_backward` becomes an `scf.forall` over batch
    entries and units of heads that are mixed with each other or share keys, each of
    which goes over tiles of rows. A tile has strips of all keys that it sees: of the
    scores, the probabilities, and their gradients. Transposed, a convolution is one
    by a kernel that is turned around, and reads the rows after its own, with zeros
    behind the last one. The kernel's gradient, and products of a block of keys with
    the rows, are added to the iteration's sums. If these are not all finite, an op
    without a plan computes everything once more.

    Ops of f64, with dropout, and with regions that load or may have no value are
    left to the reference lowering, with a remark; so are gradients of captures.
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
