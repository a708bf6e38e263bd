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

def SplitDecoding : Pass<"attn-split-decoding"> {
  let summary = "Compute parts of the keys of few queries in parallel";
  let description = [{
    Few queries have as many `scf.forall` iterations as there are batch
    entries and heads, too few for a GPU, so the keys of each are split as well. An
    `scf.forall` over batch entries, heads and parts computes the state of each part
    by an `attn.online_attention` for matrix units, whose rows are the queries of all
    heads that share keys, as of `attn-fold-groups`. Another one, whose iterations are
    single elements, merges them into the output, a third one into the
    log-sum-exp, if it is asked for. A sink takes part in the merge.

    Split are ops whose `attn.plan` has a `chunk`: about as many keys as a part has
    at least. There are at most as many parts, of all heads, as the
    `gpu_multiprocessors` of `#attn.target` have room for at once in their
    `gpu_shared_bytes`. Parts are of the keys that the mask may keep and, of a cache, that
    are stored, and begin at multiples of 64. Of few such keys, the last parts are
    empty, with a maximum of -inf and so the weight 0. How many there are depends on
    sizes alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_SPLITKV_PASSES_TD
