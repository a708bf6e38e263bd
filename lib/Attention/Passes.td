//===- Passes.td - Passes of attention before its online form -*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_PASSES_TD
#define ATTN_ATTENTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecordPositions : Pass<"attn-record-positions"> {
  let summary = "Keep which position a region that may fail is evaluated for";
  let description = [{
    Where a score or mask region of an `attn.attention` may have no value (A12),
    its `attn.yield` gets the region's `b`, `h`, `p` and `j`. Passes that change
    what the arguments are, such as `attn-fold-groups` and `attn-tile-attention`,
    compute them from the new ones, so that a message names the position that
    the region was written for. Vector code leaves them out.
  }];
}

def SpecializeQueries : Pass<"attn-specialize-queries"> {
  let summary = "Give attention of any number of queries forms for few";
  let description = [{
    A step of generation has one query, or the few of a draft, and is lowered in
    other ways than many (see `attn-fold-groups` and `attn-attention-to-online`). An
    `attn.attention` with a dynamic number of queries becomes several, in the
    branches of `scf.if`s that look at their number: of a single query, of few, and of
    any number. The few are a slice whose size is an `affine.min`, which tells later
    passes how many there may be. For a CPU, one form of few is for those whose rows,
    over all heads of a group, fit a vector, and one for those that would leave tiles
    of one head half empty. A result that is only written to a buffer of the
    caller is written in the branches. So is merged, for a CPU, what an `attn.merge`
    alone reads.

    An op with `attn.queries = array<i64: least, most>` has only the forms that some of
    these numbers need, and no condition if that is one. That calls have so many is a promise,
    but of a range without an end (9223372036854775807), whose forms compute fewer, too. So
    a runtime compiles the forms of a kernel apart from each other, and rows that several
    ranks share have that for many alone.

    Sequences with numbers of queries of their own, by `sequences(...)` or
    `counts(...)`, become parallel loops for a CPU, one for each of these forms, whose
    tiles find their sequence and leave alone those that another form is for. Rows
    of no sequence are filled beforehand. `attn.queries` is about the queries of each
    sequence here.

    An `attn.multi_token_attention` whose output has a dynamic number of rows becomes
    several in the same way, for a CPU. Its operands stay whole: the `attn.plan` of a
    form of few says that a tile has as many rows as the form is for.
  }];
  let options = [Option<"workgroups", "workgroups", "bool", "false",
                        "Specialize for workgroups of a GPU">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldGroups : Pass<"attn-fold-groups"> {
  let summary = "Make the query heads of a group rows of one head";
  let description = [{
    With few queries, as in decoding, the query heads that share a key/value head
    are the rows of a matrix that its keys and values are multiplied with: each is
    read once for all of them (GQA packing). An `attn.attention` whose `attn.plan`
    has the `heads` of a group in a tile becomes one on a query
    `(B, Hkv, Sq * G, Dk)`. Row `r` of head `h` is query `r div G` of query head
    `G * h + r mod G`, from which the regions compute what they are given; its sink
    is that of the head. Several queries are transposed into that order, and the
    output out of it. Parts of keys for matrix units are left to `attn-split-decoding`,
    which writes the output where it belongs.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DensifyRows : Pass<"attn-densify-rows"> {
  let summary = "Have keys and values of many tiles side by side";
  let description = [{
    Where several tiles of queries read the keys and values of a head in lanes, each
    would read rows that are a head's row apart in memory, as those of tensors of the
    shape (batch, length, heads, size) are. Keys and values become an
    `attn.dense_rows` of themselves, when there are more queries than those of one
    tile.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PadHeads : Pass<"attn-pad-heads"> {
  let summary = "Pad heads to what instructions multiply at once";
  let description = [{
    Queries and keys with fewer elements than the `head_size` of their `attn.plan`
    are copied once, in parallel, into rows that end with zeros. The scale stays
    that of the original size. Values need no padding: their head size is that of
    the output, not of a sum. Of derivatives, the elements of heads are lanes, too:
    rows of values are padded to whole vectors as well, and of what is computed, in
    padded rows, the beginnings are copied to where they belong.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PackTables : Pass<"attn-pack-tables"> {
  let summary = "Copy small tensors that regions look up into dense words";
  let description = [{
    Where a region loads from a captured tensor at an index that differs between
    queries, other than by one from each to the next, vectors gather. They do so
    from words of 32 bits, at offsets that they count with 32 bits where a tensor
    has a known size and no gaps. A tensor of other elements, or of which more
    than the last index differs, is copied into one of f32 or i32, right after
    its definition, if it has few elements, or fewer than there are pairs of
    queries and keys. A remark of `convert-attn-to-vector` names the loads that go
    element by element.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SummarizeTables : Pass<"attn-summarize-tables"> {
  let summary = "Find the ranges of what masks load, block by block";
  let description = [{
    A tensor of integers that a mask region loads from, at indices that follow
    the positions of queries or keys, gets an `attn.block_range`, computed once
    where the tensor is defined. So does one that says where a score loads from
    another. From it, the analysis of regions knows what a load can yield in a
    tile of queries and a block of keys, so that a mask of documents skips the
    blocks that no document has keys in, and evaluates
    nothing in those that lie within one document. Blocks are as large as the
    largest tile that a plan says, and the ranges of a table are never more numbers than that
    leaves of it. A table whose elements each serve many positions is small
    already and gets none, nor does one with an `attn.with_block_range`. A remark
    names the loads that decide nothing, and says why.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileAttention : Pass<"attn-tile-attention"> {
  let summary = "Tile batch, heads and queries in parallel";
  let description = [{
    An `attn.attention` becomes an `scf.forall` over batch entries, query heads
    and tiles of query rows, as many as its `attn.plan` says, around an
    `attn.attention` of one tile. Queries that an `attn.rope` computes for it alone
    are rotated there, tile by tile. Where an `attn.merge` alone reads what it
    computes, and merges it with a part that is known before, each tile merges its own:
    the loop's results are those of the merge. Packed batches, groups of heads that
    were folded, and results that are converted first are merged as a whole. What has
    no plan is left to the reference lowering, with a remark.

    A packed batch of `N` sequences in `Sq` rows becomes a loop over
    query heads and `Sq / queries + N` tiles, enough for sequences of any lengths.
    Each finds its sequence by a search of the cumulative lengths; some have no
    rows. Another loop fills the rows of no sequence.

    ```mlir
    scf.forall (%b, %h, %i) = (0, 0, 0) to (%B, 8, %Sq) step (1, 1, 64)
        shared_outs(%out = %init) -> (tensor<?x8x?x64xf32>) {
      // slices of one head: rows %i to %i + 64 of the query, all keys
      %tile = attn.attention ins(...) outs(...) offset(%i : index)
      scf.forall.in_parallel { ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_ATTENTION_PASSES_TD
