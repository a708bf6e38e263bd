//===- Passes.td - Passes of packs and prefetches ----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_PASSES_TD
#define ATTN_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerDenseRows : Pass<"attn-lower-dense-rows"> {
  let summary = "Copy rows that are apart when the kernel is called";
  let description = [{
    An `attn.dense_rows` on buffers becomes a condition on the distance of its rows,
    under which they are copied in parallel.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def LowerPrefetches : Pass<"attn-lower-prefetches"> {
  let summary = "Fetch rows in loops";
  let description = [{
    An `attn.prefetch` on buffers becomes a loop over its rows, with a
    `memref.prefetch` for each cache line of a row. Where elements of a row are no
    neighbours, it goes. Those with `spread` or `stream` were fetched by the
    operations after them, as these became vectors.
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
