//===- Passes.td - The pass that finds attention -----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_PASSES_TD
#define ATTN_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseAttention : Pass<"attn-raise-attention"> {
  let summary = "Find softmax(QK^T)V on tensors and make it attn.attention";
  let description = [{
    A product of weights and values becomes `attn.attention` where the weights are
    a softmax of scores, and the scores are computed, element by element, from a
    product of queries and keys. Products are named operations of `linalg`, in any
    layout, or the same as `linalg.generic` or `linalg.contract`; the softmax is
    `linalg.softmax` or what it is made of, with a division, a reciprocal or a
    logarithm, as the exponential of a log-softmax; and elementwise operations,
    reshapes, transposes and broadcasts may stand anywhere between. So front ends
    write attention that come by `linalg` or, with `tosa-to-linalg-named` and
    `tosa-to-linalg` before, by TOSA.

    - What multiplies the product of a query and a key by constants, or by what is
      computed from constants, such as a root, becomes the scale, on the query and
      the key as well. Whatever else computes a score
      becomes the score region: a bias is captured, and what is computed from
      positions is computed there.
    - Where scores are -inf by a condition, or -inf is added to them by one, the
      condition becomes the mask region. Conditions on positions alone are computed
      there, so that kernels can skip blocks that a causal mask hides. Large
      negative numbers in the place of -inf are part of the score, as they leave
      a row that is hidden as a whole its mean.
    - Keys and values that are repeated for groups of query heads, or indexed
      without them, are read as they were before (A3).

    The result is that of the text, except that

    - a row whose scores are all -inf has output 0, not NaN (A14), and what a score
      of -inf hides is not seen where it is NaN or infinite (A13),
    - scores and weights are f32 where the text rounds them to f16 or bf16 in
      between, and sums are in another order.

    Elementwise operations on tensors have to be `linalg` operations before
    (`convert-elementwise-to-linalg`). Where what looks like attention is not
    raised, a remark says why.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::attn::AttnDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_RAISE_PASSES_TD
