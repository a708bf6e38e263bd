//===- Passes.td - Passes of the reference lowering --------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_PASSES_TD
#define ATTN_REFERENCE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToLinalg : Pass<"convert-attn-to-linalg"> {
  let summary = "Lower attn ops on tensors to linalg and loops";
  let description = [{
    The reference lowering: each op becomes what its documentation says, row by
    row, with one row of scores in memory at a time. It supports everything that
    the ops can say, and does not try to be fast.

    Rows that are appended to a cache are copied to where they belong, of all heads
    at once; bufferization writes them in place. Those that `attn.rope` computes for
    the cache alone are rotated one by one, where they are stored. `attn.cache_read`
    becomes a tensor of all positions that it reads.

    A value of a score or mask region without a result (A12) becomes an
    `attn.report`. Sizes are not checked here but by
    `attn-add-runtime-checks`, before it.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def LowerBlockRanges : Pass<"attn-lower-block-ranges"> {
  let summary = "Find the ranges of blocks of tables element by element";
  let description = [{
    An `attn.block_range` on tensors becomes loops over the blocks, and over the
    elements of each.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerMerges : Pass<"attn-lower-merges"> {
  let summary = "Merge attentions element by element";
  let description = [{
    An `attn.merge` becomes a `linalg.generic` over the elements of its output, and
    one over those of its log-sum-exp, if it is asked for. Each computes the weights
    that it needs, so that nothing is stored in between: on a GPU, that would take
    launches of its own.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_REFERENCE_PASSES_TD
