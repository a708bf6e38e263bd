//===- Passes.td - Passes of block maps --------------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BLOCKMAP_PASSES_TD
#define ATTN_BLOCKMAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintBlocks : Pass<"attn-print-blocks", "::mlir::ModuleOp"> {
  let summary = "Show which blocks of queries and keys a kernel computes";
  let description = [{
    Prints, for every `attn.attention`, what the mask analysis says of each block
    that a kernel goes through: a line for each tile of queries, a character for
    each block of keys. It asks the code that kernels contain, with constants for
    what they learn when they run. With `-o /dev/null` the picture stands alone:

    ```
    attend: 64 queries, 256 keys
    blocks of 16 queries (a line, by the position of the first) and 64 keys:
    '.' empty, '+' partial, '#' full, '?' known when it runs
    every batch entry and head:
      192 ###+
      208 ###+
      224 ###+
      240 ###+
      12 full, 4 partial: 16 of 16 blocks computed (100.0%)
    ```

    Empty blocks are skipped, full ones computed without the mask. What depends
    on data, such as document ids, is known when the kernel runs. Blocks start at the first key that the mask may keep for the tile; each
    stands in the column of its first key. Batch entries and heads with the same
    blocks are shown once. Sizes that types leave open are options; those of a
    packed batch are the lengths of one sequence.

    The default sizes of blocks are those of the op's `attn.plan`, or, before
    `attn-plan`, those that `attn-cpu-pipeline` plans with the same `attn.target`.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"batch", "batch", "int64_t", "1",
           "Batch entries, or sequences, where the type leaves it open">,
    Option<"queryLength", "query-length", "int64_t", "0",
           "Number of queries, where the type leaves it open">,
    Option<"keyLength", "key-length", "int64_t", "0",
           "Number of keys, where the type leaves it open">,
    Option<"offset", "offset", "int64_t", "0",
           "Position of the first query, where it is an operand">,
    Option<"queryBlock", "query-block", "int64_t", "0",
           "Queries of a block">,
    Option<"keyBlock", "key-block", "int64_t", "0", "Keys of a block">,
    Option<"svg", "svg", "std::string", "",
           "File for a picture of the same">];
}

#endif // ATTN_BLOCKMAP_PASSES_TD
