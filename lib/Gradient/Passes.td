//===- Passes.td - Passes of gradients ------------------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_PASSES_TD
#define ATTN_GRADIENT_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileBackward : Pass<"attn-tile-backward"> {
  let summary = "Compute gradients of attention in tiles";
  let description = [{
    An `attn.attention_backward` becomes parallel loops over key/value heads, each
    of which goes over tiles of its queries and, for each of these, over the blocks
    of keys that the mask may keep. Queries are lanes, as in the lanes layout of
    `attn.online_attention`, and a block takes five products:

    ```
    S  (j, q) = key (j, d) * query (d, q)
    P  (j, q) = exp(score(S) - log_sum_exp (q))       attn.online_softmax
    dP (j, q) = value (j, d) * output_gradient (d, q)
    dS (j, q) = P * (dP - D (q)) * score'(S)          0 where P is
    value_gradient (j, d) += P (j, q) * output_gradient (q, d)
    key_gradient (j, d)   += dS (j, q) * query (q, d)
    query_gradient (d, q) += key (j, d) * dS (j, q)
    ```

    The derivative of the score is a region like it. One iteration adds to the
    gradients of its keys and values in the order of its queries, whatever the
    number of threads (G6). Products with what a mask hides are products with 0:
    if a gradient is not finite, everything is computed once more by the reference
    lowering, which leaves them out (G4).

    What is not tiled is left to the reference lowering, with a remark that says
    why.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_GRADIENT_PASSES_TD
