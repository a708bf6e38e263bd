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
    lie in it. Packs of other forms are left alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PrefetchTiles : Pass<"attn-prefetch-tiles"> {
  let summary = "Bring the rows of the next tile into the cache";
  let description = [{
    Where a view of rows moves with the last loop of an `scf.forall`, as those of
    query and output do, the rows of the next iteration are prefetched while this
    one computes. In a loop over blocks of keys, each block prefetches some of
    them, those of different tensors between different steps: at once they would
    wait for each other. So are keys, and packs of values, that the tile does not
    see but later ones do if their range moves on. Where every tile of a head sees
    the keys from the first on, and there are at most 1024, each prefetches as many
    of the next head as it has queries. A loop that transposes blocks of rows, as
    into packs, prefetches the next block. Loops of element-wise operations and
    sums of rows, which read memory in order, are left to the processor.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def PackInTiles : Pass<"attn-pack-in-tiles"> {
  let summary = "Pack values in the tiles that read them";
  let description = [{
    Where a parallel loop packs the values of all heads for a parallel loop over
    tiles after it, and a tile reads a range of packs that moves with it, as under a
    sliding window, the tile packs those that the tile before it, on the same
    thread, did not read. They go into a ring of packs, which is `attn.kept` from
    one iteration to the next, and has room for twice as many as the tile reads.
    What would have fetched packs for later tiles fetches the rows that they are
    made of.

    A range that begins at the first key is left alone: each thread would pack
    again what others have. A remark says why other packs are.
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
