//===- Passes.td - Passes of online attention --------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_PASSES_TD
#define ATTN_ONLINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttentionToOnline : Pass<"attn-attention-to-online"> {
  let summary = "Turn the attention of one tile into its online form";
  let description = [{
    The attention of a few queries of one head becomes `attn.online_attention`
    between the ops that transpose and scale its queries and those that divide
    and transpose its output. The number of queries must have a constant bound,
    which tiling gives it; other ops are left alone.

    That form is in f32, but for keys and values. Queries of f16 and bf16 are
    converted with the tile, and the output is rounded at the end.

    Its `layout` is `lanes`, but `rows` of no more queries than a vector has lanes,
    known by type, and with head sizes that are multiples of them; with `in-pairs`,
    of no more than half as many, if the head size of bf16 fills vectors with pairs.

    With `in-pairs`, that of other bf16 with an even head size is `pairs`. Values
    become a `linalg.pack` outside of the parallel loops, if several tiles read
    them: these have `packed_values`.

    With `in-matrices`, for matrix units that multiply f16 and bf16, it is `mma`:
    queries stay as they are, padded with 0 to a whole tile, and scores are scaled.
  }];
  let options = [
    Option<"maximumLanes", "maximum-lanes", "int64_t", "64",
           "Largest number of queries of a tile">,
    Option<"laneMultiple", "lane-multiple", "int64_t", "16",
           "Elements of a vector register">,
    Option<"inPairs", "in-pairs", "bool", "false",
           "Compute bf16 in pairs where it can be">,
    Option<"inMatrices", "in-matrices", "bool", "false",
           "Keep queries as rows of their own type, for matrix units">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileKeys : Pass<"attn-tile-keys"> {
  let summary = "Go through the keys that a mask may keep in blocks";
  let description = [{
    An `attn.online_attention` becomes a loop over blocks of keys, from the
    first key that the mask may keep to the last, which the mask analysis finds
    for the positions of the tile; where the mask reads a table with ranges of
    blocks, from a multiple of `block` before that key. A tile whose result is not finite is computed
    once more, exactly (A13).

    Keys and values that an `attn.cache_read` takes from a cache are slices of it
    in a block, which is no larger than what never leaves a page, or, of pages of
    few or an unknown number of positions, copied for the block. Elements that the
    op does not take are converted for the block.
  }];
  let options = [Option<"block", "block", "int64_t", "256",
                        "Keys of a block">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DecomposeOnline : Pass<"attn-decompose-online"> {
  let summary = "Split a block of keys into contractions and a softmax step";
  let description = [{
    The `attn.online_attention` of a block of keys becomes the product of keys
    and queries, an `attn.online_softmax`, and the product of values and
    weights. Keys and values of a narrower type than the scores are widened right
    before they are multiplied, but for `layout<rows>`, where each is used too
    few times. A block that the mask analysis finds empty is skipped; whether it
    is partial, and whether its regions are defined everywhere, goes to the
    softmax step.

    With `quantize-queries`, `layout<rows>` multiplies keys that are stored as i8
    with a scale as integers, if the head size is a multiple of `i8-dot`. Queries
    are rounded to i8 for that, with a scale for each row as in
    `attn.cache_append`: half a step, 1/254 of the row's largest element, at most.
    Sums are exact, in i32, and multiplied by both scales. Other keys of i8 become
    f32, and a remark says why.

    With `bf16-tiles`, sums in pairs begin at zero in the first block of a tile: no
    zeros are written before it, and nothing is corrected.
  }];
  let options = [
    Option<"quantizeQueries", "quantize-queries", "bool", "false",
           "Multiply keys of i8 as integers, with queries rounded to i8">,
    Option<"i8Dot", "i8-dot", "int64_t", "0",
           "Numbers of i8 that a dot product of the target takes; 0: none">,
    Option<"bf16Tiles", "bf16-tiles", "bool", "false",
           "Products of pairs are in tiles, which can begin at zero">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_ONLINE_PASSES_TD
