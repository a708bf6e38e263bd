//===- Passes.td - Passes of packs and prefetches ----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_PASSES_TD
#define ATTN_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def LowerPrefetches : Pass<"attn-lower-prefetches"> {
  let summary = "Fetch rows in loops";
  let description = [{
    An `attn.prefetch` on buffers becomes a loop over its rows, with a
    `memref.prefetch` for each cache line of a row. Where elements of a row are no
    neighbours, it goes. Those before a softmax or a product in tiles were fetched in
    shares by these, as they became vectors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def LowerKeptPacks : Pass<"attn-lower-kept-packs"> {
  let summary = "Keep packs from one iteration of a parallel loop to the next";
  let description = [{
    An `attn.kept_packs` on buffers becomes an `attn.kept` allocation for packs, and
    one for what they are packs of and which of them there are, with a few
    comparisons of that with what the tile reads.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // ATTN_MEMORY_PASSES_TD
