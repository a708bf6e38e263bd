//===- Passes.td - Passes of what surrounds attention ------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LAYER_PASSES_TD
#define ATTN_LAYER_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeLayer : Pass<"attn-decompose-layer"> {
  let summary = "Rewrite layers to the ops that they are made of";
  let description = [{
    `attn.multi_head_attention` becomes projections into heads, the norms and the
    rotation of queries and keys, appends to caches and reads of them, the
    attention, the gate, the projection of its output, and dropout: those of them
    that it has. The score and the mask become those of the attention.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileRows : Pass<"attn-tile-rows"> {
  let summary = "Compute rows of elementwise operations in parallel";
  let description = [{
    A `linalg.generic`, `linalg.transpose`, `attn.rope` or `attn.head_norm` of a
    function's body becomes an `scf.forall` over tiles of rows, together with the
    operations before it that compute its rows from the same rows of their operands: a
    sum of tensors, the squares' sums of its rows and what is divided by them are one
    loop, in which a tile is read from memory once.

    Rows are those of the last parallel loop of dynamic size, else of the largest
    one, but not of the innermost of several. A tile has so many of them that handing it to a
    thread pays; what fits into one tile, such as the row of a single token, is
    computed by the caller's thread, and a static number of that size left alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_LAYER_PASSES_TD
