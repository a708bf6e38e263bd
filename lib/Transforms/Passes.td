//===- Passes.td - Passes that stay in the dialect ----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_PASSES_TD
#define ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ResultsToDestinations
    : Pass<"attn-results-to-destinations", "::mlir::ModuleOp"> {
  let summary = "Write the results of public functions into buffers of the "
                "caller";
  let description = [{
    Every ranked tensor that a public function returns becomes a trailing
    memref argument, in the order of the results, that the function writes with
    `bufferization.materialize_in_destination`. The buffer's last dimension is
    contiguous, its other strides are the caller's choice. Other results stay.
    Tensor arguments are marked read-only. Empty tensor elimination and
    bufferization then make the last operation write into the caller's buffer.

    A tensor argument that is `bufferization.writable` is updated in place: it
    becomes a buffer, and the one result that destination-style operations compute
    from it is written there, instead of into a buffer of its own.

    A public function that is called in the module is an error, because its
    callers would have to provide buffers: inline first.

    ```mlir
    func.func @f(%x: tensor<?x8xf32>) -> tensor<?x8xf32>
    // becomes
    func.func @f(%x: tensor<?x8xf32> {bufferization.writable = false},
                 %out: memref<?x8xf32, strided<[?, 1]>>)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def CheckConstantOperands : Pass<"attn-check-constant-operands"> {
  let summary = "Refuse constant operands that leave an operation undefined";
  let description = [{
    `tensor.dim` with a constant index outside of the tensor's rank is an error at
    its operation, and so are `scf.for` with a constant step that is not positive
    and `tensor.pad` with constant padding that is negative. Analyses read foreign
    memory at the first, the second never ends, and the third becomes a slice that
    lies outside of its tensor. Values that
    are not constants are left to `attn-add-runtime-checks`.
  }];
}

def CheckRegionSizes : Pass<"attn-check-region-sizes"> {
  let summary = "Refuse score and mask regions that are too large to compile";
  let description = [{
    A region of more than 4096 operations, or of more than 64 functions of the math
    dialect, is an error at its operation. Passes make a dozen operations of each,
    and some hundred of a function, for every kind of block that a kernel has, so
    this runs before them.
  }];
}

def FoldTrivialComparisons : Pass<"attn-fold-trivial-comparisons"> {
  let summary = "Replace comparisons that do not compare by constants";
  let description = [{
    `arith.cmpf true` and `arith.cmpf false` become constants. Upstream's
    canonicalization of comparisons with converted integers crashes on them, so
    this runs before any other pass.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SplitIndexCasts : Pass<"attn-split-index-casts"> {
  let summary = "Truncate and extend indices as i64";
  let description = [{
    `arith.index_cast` and `arith.index_castui` from an index to an integer of fewer
    or more than 64 bits, or from one of more, become a cast of i64 and an
    `arith.trunci`, `arith.extsi` or `arith.extui`. Upstream's canonicalization
    replaces a cast of a cast by what was cast first, whatever the width in between:
    an index that was truncated to i8 would be the index again. So this runs before
    any canonicalization.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def DecomposeLayer : Pass<"attn-decompose-layer"> {
  let summary = "Rewrite layers to the ops that they are made of";
  let description = [{
    `attn.multi_head_attention` becomes projections into heads, the norms and the
    rotation of queries and keys, appends to caches and reads of them, the
    attention, the gate, the projection of its output, and dropout: those of them
    that it has. The score and the mask become those of the attention.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DecomposeAggregates : Pass<"attn-decompose-aggregates"> {
  let summary = "Rewrite linalg ops that stand for several to those";
  let description = [{
    Operations on tensors with upstream's `AggregatedOpInterface`, which is
    `linalg.softmax`, become the operations that they say they are made of. They are
    no structured operations, and no other pass takes them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AddRuntimeChecks : Pass<"attn-add-runtime-checks"> {
  let summary = "Check at run time what no verifier can know";
  let description = [{
    Puts a `cf.assert` before every operation that would be undefined for some
    values of its operands: an index outside a tensor, sizes that do not fit
    together, a division by zero, a loop whose step is not positive. Operations say
    what to check through the upstream `RuntimeVerifiableOpInterface`. What later
    passes fold to a constant that leaves the operation undefined, an index of
    `tensor.dim` or a step, is brought into its range behind the check. Sizes and offsets are computed as early
    as they can be, so that what is wrong with them is found before anything is
    written.

    Regions of attn ops are left alone. There, a value only counts where a
    position is kept, and the op's lowering sees to it. An attention to rows of an
    `attn.cache_read` is checked to keep none that is absent: the range of keys
    that the mask may keep is compared with what is stored, and the mask evaluated
    where the one leaves the other.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::index::IndexDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SeparateResults : Pass<"attn-separate-results"> {
  let summary = "Keep results out of the buffers of other results";
  let description = [{
    A `tensor.empty` from which several results of a function are computed, such as
    the destination of a `linalg.fill` that two products start from, becomes a
    `bufferization.alloc_tensor`. Upstream's elimination of empty tensors would
    replace it by the buffer of the first result, which is then written before the
    second, that is in it too, is read.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def BufferizeKernels : Pass<"attn-bufferize-kernels", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization for kernels";
  let description = [{
    Upstream's one-shot module bufferization with tensor arguments as the buffers
    that a kernel's caller passes: contiguous in the last dimension, any strides
    in the others. Upstream's pass offers no such layout.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def SplitSequences : Pass<"attn-split-sequences"> {
  let summary = "Turn a packed batch into a loop over its sequences";
  let description = [{
    An `attn.attention` with `sequences(...)` becomes a loop over the sequences
    around an `attn.attention` of one of them, on slices. The number of the
    sequence becomes a capture of the regions. Rows of no sequence are filled
    beforehand. Dropout stays packed, because its random numbers count the
    sequences of the whole op.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SpecializeQueries : Pass<"attn-specialize-queries"> {
  let summary = "Give attention of any number of queries a form for one";
  let description = [{
    A step of generation has one query, and is lowered in another way than many
    (see `attn-fold-groups` and `attn-attention-to-online`). An `attn.attention` with
    a dynamic number of queries becomes two, one of them of a single query, in the
    branches of an `scf.if` that looks at their number. A result that is only written
    to a buffer of the caller is written in the branches.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldGroups : Pass<"attn-fold-groups"> {
  let summary = "Make the query heads of a group rows of one head";
  let description = [{
    With few queries, as in decoding, the query heads that share a key/value head
    are the rows of a matrix that its keys and values are multiplied with: each is
    read once for all of them. An `attn.attention` with a static number of queries
    Sq, and `G * Sq` of at most `maximum-rows`, or `plain-rows` where it has no
    regions, becomes one on a query `(B, Hkv, G * Sq, Dk)`. Row `r` of
    head `h` is query `r mod Sq` of query head `G * h + r / Sq`, from which the
    regions compute what they are given; its sink is that of the head.
  }];
  let options = [Option<"maximumRows", "maximum-rows", "int64_t", "32",
                        "Largest number of queries of a group">,
                 Option<"plainRows", "plain-rows", "int64_t", "64",
                        "The same without a score or mask region">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PadHeads : Pass<"attn-pad-heads"> {
  let summary = "Pad bf16 heads to what instructions on pairs multiply at once";
  let description = [{
    Queries and keys of bf16 whose head size is not a multiple of `multiple` are
    copied once, in parallel, into rows that end with zeros. The scale stays that
    of the original size. Values need no padding: their head size is that of the
    output, not of a sum. What will be computed in rows (see
    `attn-attention-to-online`) is left alone.
  }];
  let options = [
    Option<"multiple", "multiple", "int64_t", "32",
           "Elements that head sizes become a multiple of">,
    Option<"laneMultiple", "lane-multiple", "int64_t", "16",
           "Elements of a vector register">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SummarizeTables : Pass<"attn-summarize-tables"> {
  let summary = "Find the ranges of what masks load, block by block";
  let description = [{
    A tensor of integers that a mask region loads from, at indices that follow
    the positions of queries or keys, gets an `attn.block_range`, computed once
    where the tensor is defined. From it, the mask analysis knows what a load
    can yield in a tile of queries and a block of keys, so that a mask of
    documents skips the blocks that no document has keys in, and evaluates
    nothing in those that lie within one document. Blocks are as large as those
    of the kernel, and the ranges of a table are never more numbers than that
    leaves of it. A table whose elements each serve many positions is small
    already and gets none, nor does one with an `attn.with_block_range`. A remark
    names the loads that decide nothing, and says why.
  }];
  let options = [
    Option<"queries", "queries", "int64_t", "32", "Query rows of a block">,
    Option<"keys", "keys", "int64_t", "64", "Keys of a block">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
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
    lie in it. Packs of other forms are left alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileProjections : Pass<"attn-tile-projections"> {
  let summary = "Tile projections in parallel";
  let description = [{
    An `attn.projection` becomes an `scf.forall` over tiles of columns for each
    result; blocks of up to 64 columns lie in one head and one panel.

    - Few rows, of all sequences together, are multiplied by the weight as it
      lies, which is read once.
    - Many are packed first, as many together as a block of registers has. A tile
      of rows and columns keeps its sums in the second-level cache, and converts
      what it multiplies of the weight, if that is of another type.

    A number of rows that is not static has both loops, one of which has no rows.
    Sums are of f32. With `in-pairs`, bf16 with a weight in pairs is multiplied in
    pairs, if there are a multiple of 32 features, and so are many rows of f32, each
    number as the sum of three of bf16, or of f16, of two; everything else in f32.
    For many rows, panels of i8, or of bf16 that are not in pairs, are converted to
    pairs first, in parallel; with an input of f32 or f16 if there are `bf16-tiles`.

    A `linalg.generic` that alone reads a result, element by element, is computed as
    the result is stored, with what else it reads. If it reads several projections of
    one input and one type, as of a gate and of what it opens, blocks of theirs are
    computed in turns, and none is stored as a whole.

    What is of f64, or whose heads or panels do not fill vectors of
    `lane-multiple`, is left to the reference lowering, with a remark.
  }];
  let options = [
    Option<"laneMultiple", "lane-multiple", "int64_t", "8",
           "Numbers of f32 in a vector">,
    Option<"inPairs", "in-pairs", "bool", "false",
           "Multiply bf16 in pairs">,
    Option<"bf16Tiles", "bf16-tiles", "bool", "false",
           "Tile registers multiply pairs, as AMX's">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileRows : Pass<"attn-tile-rows"> {
  let summary = "Compute rows of elementwise operations in parallel";
  let description = [{
    A `linalg.generic`, `attn.rope` or `attn.head_norm` of a function's body becomes
    an `scf.forall` over tiles of rows, together with the operations before it that
    compute its rows from the same rows of their operands: a sum of tensors, the
    squares' sums of its rows and what is divided by them are one loop, in which a
    tile is read from memory once.

    Rows are those of the last parallel loop of dynamic size, else of the largest
    one, but not of the innermost. A tile has so many of them that handing it to a
    thread pays; what fits into one tile, such as the row of a single token, is
    computed by the caller's thread, and a static number of that size left alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CheckForGPU : Pass<"attn-check-for-gpu"> {
  let summary = "Refuse what is not lowered for GPUs";
  let description = [{
    What the pipeline for GPUs cannot lower is an error at the operation that was
    written, and says what of it that is, before passes make other operations of
    it: attention with dropout or in f64, caches of another element type than the
    query's, pages and rings whose size is no multiple of 8, other operations of
    the dialect, and operations on tensors that do not go element by element.
    Parallel loops are not looked into.
  }];
}

def OwnDestinations : Pass<"attn-own-destinations"> {
  let summary = "Give each attention a destination of its own";
  let description = [{
    An `attn.attention` or `attn.merge` that writes into a `tensor.empty` that has
    other uses, into a constant or into an argument gets a `tensor.empty` of its
    own. Otherwise bufferization would allocate a buffer for the second one where
    it is written, which may be in a branch that nothing leaves but the result.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FillEmptyAttention : Pass<"attn-fill-empty-attention"> {
  let summary = "Replace attention to no keys by what it is";
  let description = [{
    An `attn.attention` whose type has no keys is 0, and its log-sum-exp the sink,
    or -inf (A14); one that has no queries is nothing. Packed sequences with
    queries stay: which rows have a sink is in their cumulative lengths.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def TileAttention : Pass<"attn-tile-attention"> {
  let summary = "Tile batch, heads and queries in parallel";
  let description = [{
    An `attn.attention` becomes an `scf.forall` over batch entries, query heads
    and tiles of query rows, around an `attn.attention` of one tile. Queries that
    an `attn.rope` computes for it alone are rotated there, tile by tile. What can
    not be tiled is left to the reference lowering, with a remark.

    With `packed`, a packed batch of `N` sequences in `Sq` rows becomes a loop over
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
  let options = [
    Option<"plainQueries", "plain-queries", "int64_t", "64",
           "Query rows of a tile in f32 without regions">,
    Option<"variantQueries", "variant-queries", "int64_t", "32",
           "Query rows of a tile with a score or mask region, or in pairs">,
    Option<"inPairs", "in-pairs", "bool", "false",
           "bf16 will be computed in pairs, where it can be">,
    Option<"packed", "packed", "bool", "false", "Tile packed batches, too">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AttentionToOnline : Pass<"attn-attention-to-online"> {
  let summary = "Turn the attention of one tile into its online form";
  let description = [{
    The attention of a few queries of one head becomes `attn.online_attention`
    between the ops that transpose and scale its queries and those that divide
    and transpose its output. The number of queries must have a constant bound,
    which tiling gives it; other ops are left alone.

    That form is in f32, but for keys and values. Queries of f16 and bf16 are
    converted with the tile, and the output is rounded at the end.

    Of no more queries than a vector has lanes, known by type, and with head sizes
    that are multiples of them, it becomes the form in rows; with `in-pairs`, of no
    more than half as many, if the head size of bf16 fills vectors with pairs.

    With `in-pairs`, that of other bf16 with an even head size is in pairs, and its
    values become a `linalg.pack` outside of the parallel loops, if several tiles
    read them.

    With `in-matrices`, for matrix units that multiply f16 and bf16, all is in rows:
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

def SplitKeys : Pass<"attn-split-keys"> {
  let summary = "Compute chunks of a head's keys in parallel";
  let description = [{
    Where a batch entry and head has one tile of queries, as in decoding, there may
    be fewer of these than threads. The keys that its `attn.online_attention` may
    see are split into chunks, from the first visible one on, rounded down to a
    multiple of 256. An `scf.forall` over batch entries, heads and chunks computes
    the state of each; the one that was there merges them, by the
    `PartialReductionOpInterface` of the op, and computes the output.

    How many chunks there are follows from sizes and masks, never from the number of
    threads.
  }];
  let options = [Option<"chunk", "chunk", "int64_t", "1024",
                        "Keys of a chunk, a multiple of 256">];
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
    Few queries of one head have as many `scf.forall` iterations as there are batch
    entries and heads, too few for a GPU, so the keys of each are split as well. An
    `scf.forall` over batch entries, heads and parts computes the state of each part
    by an `attn.online_attention` for matrix units. Another one, whose iterations are
    single elements, merges them into the output, a third one into the
    log-sum-exp, if it is asked for. A sink takes part in the merge.

    There are `workgroups` parts of all heads, if that leaves each about 256 keys.
    Parts are of the keys that the mask may keep and, of a cache, that are stored, and
    begin at multiples of 64. Of few such keys, the last parts are empty, with a
    maximum of -inf and so the weight 0. How many there are depends on sizes alone.
  }];
  let options = [
    Option<"workgroups", "workgroups", "int64_t", "512",
           "Parts of all heads, four for each multiprocessor of a large GPU">,
    Option<"maximumRows", "maximum-rows", "int64_t", "16",
           "Largest number of queries of a head">,
    Option<"laneMultiple", "lane-multiple", "int64_t", "16",
           "Rows of a matrix unit">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerMerges : Pass<"attn-lower-merges"> {
  let summary = "Merge attentions element by element, in parallel";
  let description = [{
    An `attn.merge` becomes an `scf.forall` over the elements of its output, and one
    over those of its log-sum-exp, if it is asked for. Each computes the weights that
    it needs, so that nothing is stored in between.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
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
    before they are multiplied, but for the form in rows, where each is used too
    few times. A block that the mask analysis finds empty is skipped; whether it
    is partial, and whether its regions are defined everywhere, goes to the
    softmax step.

    With `quantize-queries`, the form in rows multiplies keys that are stored as i8
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
    again what others have.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def PackRowsInTiles : Pass<"attn-pack-rows-in-tiles"> {
  let summary = "Pack rows in the tiles that read them";
  let description = [{
    Where a parallel loop packs rows for one parallel loop over tiles of rows and
    columns after it, which changes nothing that they are packed from, a tile packs
    its own rows, unless the tile before it, on the same thread, was of the same
    ones. The packs of a tile and which tile they are of are `attn.kept` from one
    iteration to the next.

    Packs of a tile must fit into the second-level cache, and those of all rows must
    not be known to. Packs that several loops read are left alone, as each would pack
    them again, and so are packs of f32, whose products take longer than what they
    wait for.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

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

    The default sizes of blocks are those of `attn-cpu-pipeline` with the same
    `vector-bits`.
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
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "Width of a vector register">,
    Option<"svg", "svg", "std::string", "",
           "File for a picture of the same">];
}

#endif // ATTN_TRANSFORMS_PASSES_TD
