//===- Passes.td - Passes of projections -------------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PROJECTION_PASSES_TD
#define ATTN_PROJECTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileProjections : Pass<"attn-tile-projections"> {
  let summary = "Tile projections in parallel";
  let description = [{
    An `attn.projection` becomes an `scf.forall` over tiles of columns for each
    result; blocks of up to 64 columns lie in one head and one panel.

    - Few rows, of all sequences together, are multiplied by the weight as it
      lies, which is read once.
    - Many are packed first, as many together as a block of registers has. A tile
      of rows and columns keeps its sums in the second-level cache, and packs
      what it multiplies of the weight, unless that has panels of the type that is
      multiplied.
    - A weight that is a transposed matrix is packed from where that lies, for few
      rows as well.

    A number of rows that is not static has both loops, one of which has no rows.
    Sums are of f32. Where the target multiplies pairs, bf16 with a weight in pairs is multiplied in
    pairs, if there are a multiple of 32 features, and so are many rows of f32, each
    number as the sum of three of bf16, or of f16, of two; everything else in f32.
    For many rows, panels of i8, or of bf16 that are not in pairs, are converted to
    pairs first, in parallel; with an input of f32 or f16 if it has `bf16_tiles`.

    A `linalg.generic` that alone reads a result, element by element, is computed as
    the result is stored, with what else it reads. If it reads several projections of
    one input and one type, as of a gate and of what it opens, blocks of theirs are
    computed in turns, and none is stored as a whole.

    Heads that end within a vector are tiles as a whole. What is of f64, or whose
    panels, or heads of more than 256 elements, do not fill vectors, is left to the
    reference lowering, with a remark.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_PROJECTION_PASSES_TD
