//===- Passes.td - Passes of split keys --------------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SPLITKV_PASSES_TD
#define ATTN_SPLITKV_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitKeys : Pass<"attn-split-keys"> {
  let summary = "Compute chunks of a head's keys in parallel";
  let description = [{
    Where a batch entry and head has one tile of queries, as in decoding, there may
    be fewer of these than threads. The keys that its `attn.online_attention` may
    see are split into the chunks of its `attn.plan`, from the first visible one on,
    rounded down to a multiple of 256. An `scf.forall` over batch entries, heads and chunks computes
    the state of each; the one that was there merges them, by the
    `PartialReductionOpInterface` of the op, and computes the output.

    How many chunks there are follows from sizes and masks, never from the number of
    threads.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_SPLITKV_PASSES_TD
