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
    and transpose its output. The number of queries must have a constant bound of
    at most the `rows` of its `attn.plan`, which tiling gives it; other ops are left
    alone. The plan goes on to the online form.

    That form is in f32, but for keys and values. Queries of f16 and bf16 are
    converted with the tile, and the output is rounded at the end.

    Its `layout` and `packs` are the plan's. Values in `pairs` become, for `shared`,
    a `linalg.pack` outside of the parallel loops, with `packed_values`; for `kept`, the
    tiles pack them, with `keeps_packs`. For `mma`, queries stay as they are, padded with
    0 to a whole tile, and scores are scaled.

    Before a tile of several, its prefetches of the next one's queries and output
    stand as `attn.prefetch`.
  }];
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
    blocks, from a multiple of a block before that key. A block has the `keys` of the
    op's `attn.plan`. A tile whose result is not finite is computed
    once more, exactly (A13).

    In `layout<mma>`, that second round is a branch behind the loop. If the scale is a
    constant that can be part of the exponent's factor, blocks of the first round are
    `bounded`, and the second one follows large maxima, too.

    Keys and values that an `attn.cache_read` takes from a cache are slices of it
    in a block, which is no larger than what never leaves a page, or, of pages of
    few or an unknown number of positions, copied for the block. A block in pairs
    whose packs have rows of several pages is `in_pages`. Elements that the op does
    not take are converted for the block.

    With `keeps_packs`, the tile packs the values that it sees in an
    `attn.kept_packs`, which is filled before the loop. Where it is not known of
    which head they are, they are packed in each block, and a remark says so.

    If the target has `bf16_tiles`, blocks in pairs say whether they are the `first` of a
    tile: no zeros are written before it, and nothing is rescaled.

    Each block fetches some of the rows that an `attn.prefetch` before the op does,
    and of the keys and values that later tiles see, unless these are in a cache.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerPacks : Pass<"attn-lower-packs"> {
  let summary = "Pack rows in parallel";
  let description = [{
    A `linalg.pack` of the rows of matrices, padded with a value, becomes an
    `scf.forall` over the packs, each of which is a transposition; within a parallel
    loop, an `scf.for`.

    ```mlir
    %packs = linalg.pack %value padding_value(%zero : bf16)
        inner_dims_pos = [2] inner_tiles = [32] into %empty
        : tensor<1x8x1024x64xbf16> -> tensor<1x8x32x64x32xbf16>
    ```

    Rows that an `attn.cache_read` takes from a cache are packed from where they
    lie in it; others are fetched by the iteration before. Packs of other forms are
    left alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::attn::AttnDialect",
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
    softmax step. Each `attn.prefetch` before it goes between two of the steps, or in
    pairs a half of it before the softmax and before the product with values.

    If the target says `quantize_queries`, `layout<rows>` multiplies keys that are
    stored as i8 with a scale as integers, where the head size is a multiple of what
    a dot product of i8 takes. Queries
    are rounded to i8 for that, with a scale for each row as in
    `attn.cache_append`: half a step, 1/254 of the row's largest element, at most.
    Sums are exact, in i32, and multiplied by both scales. Other keys of i8 become
    f32, and a remark says why.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_ONLINE_PASSES_TD
