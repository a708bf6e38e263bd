//===- Passes.td - Passes of sharded functions -------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_PASSES_TD
#define ATTN_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ShardAttention : Pass<"attn-shard", "::mlir::ModuleOp"> {
  let summary = "Make the function that each of several ranks runs";
  let description = [{
    Of functions whose tensors are annotated with `shard.shard`, on a `shard.grid`.
    An annotation holds for all dimensions that operations make the same, as heads
    of queries, of keys and of caches, and columns of the weights that they are
    products with. What is sharded of query, key and value of an `attn.attention`, or
    of an `attn.attention_backward`, may be

    - batch entries, of all three: nothing is exchanged;
    - heads, of all three: nothing is exchanged;
    - rows of queries: nothing is exchanged;
    - rows of keys and values, along the axis of the queries' rows: their blocks go
      around among the ranks (`attn.rank_block`), and of each only what the mask may
      keep for the queries of the rank that gets it. Each block is an
      `attn.attention`, whose state is merged with that of those before by
      `attn.merge`. Gradients of a block go back to where it is from
      (`attn.rank_sums`). Where their shardings say `attn.zigzag`, each rank `r` of
      `n` has two pieces of these rows, `r` and `2 n - 1 - r` of `2 n`, one after the
      other: with a causal mask, all have the same work. 'sequence', 'ring' and
      'gather' annotate so where the masks leave ranks with different work in the order of the rows, and
      the most that a rank receives does not grow. Where an op says so in
      `attn.exchange`, keys and values are gathered instead, and their gradients
      added where they are from, or rows become heads (`attn.reshard`): see
      `attn-plan-exchange`;
    - rows of keys and values alone: each rank computes what its keys give for all
      queries, which `attn.all_merge` merges. So it is where they are read of caches
      whose positions are sharded: rows of a contiguous cache, or pages and columns
      of the table of a paged one, which stores the new rows that are its own.

    Where a projection sums over what is sharded, as that of the output of heads, the
    parts of all ranks are summed (`attn.all_reduce`), and the bias is added after
    that. So are gradients of what several ranks have, of keys where rows of queries
    alone are sharded for example. Columns of a fused weight are sharded for each of
    its results.

    Regions see the positions of the whole, by the offset and what is added to
    batch, head and key; so do the random numbers of dropout. Captured tensors, sinks,
    offsets and lengths are whole on every rank. Static sizes are divided by the
    number of ranks; dynamic ones may be any on each rank, and are exchanged first.

    Operations on elements, norms of heads, rotary positions and caches compute what
    the rank has. What is not covered is an error that names it. Layers are to be
    decomposed before, and calls inlined. Without an annotation, functions stay as
    they are.
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "0",
           "Number of ranks; 0: that of the grid, which is static then">,
    Option<"split", "split", "std::string", "",
           "Annotate functions without an annotation: 'batch', 'heads', 'sequence', "
           "'zigzag', 'ring', 'gather', 'ulysses' or 'keys'">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::shard::ShardDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlanExchange : Pass<"attn-plan-exchange", "::mlir::ModuleOp"> {
  let summary = "Decide how ranks come to the keys of others";
  let description = [{
    Of each `attn.attention` whose rows of query and key are sharded along one axis,
    says in `attn.exchange` how `attn-shard` exchanges keys and values:

    - "ring": blocks of them go around while others are computed, and of each what
      the mask may keep;
    - "gather": all ranks get all of them first (`attn.reshard rows_to_whole`);
    - "ulysses": rows of query, key and value become heads, whose attention is that of
      one rank, and its output becomes rows again.

    What takes the least time, the sizes say, what the mask lets each rank see of
    each other one, what a core of `#attn.target` computes and merges in a second, and
    the `#attn.link` of the grid. Other ways than the ring have to take 4 % less, and keys and values
    that are gathered are no more than 1 GiB. What masks read of tables, and where
    sequences of packed batches end, is not known while compiling: these take the
    ring. What an op says already stays. What says nothing takes the ring, as does
    each `attn.attention_backward` that says nothing.

    ```mlir
    shard.grid @ranks(shape = 4) {attn.link = #attn.link<latency_ns = 8000, bandwidth_mbs = 50000>}
    // ...
    %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t) {attn.exchange = "ulysses"}
    ```
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "0",
           "Number of ranks; 0: that of the grid, which is static then">,
    Option<"explain", "explain", "bool", "false",
           "Say in remarks what each way takes">,
  ];
  // Of code that asks the mask analysis, which none of is left.
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DropShardings : Pass<"attn-drop-shardings", "::mlir::ModuleOp"> {
  let summary = "Remove annotations of sharding";
  let description = [{
    What is left computes the same on one rank.
  }];
}

def ConvertRanksToRuntime : Pass<"attn-convert-ranks-to-runtime",
                                 "::mlir::ModuleOp"> {
  let summary = "Convert what ranks say to each other to calls of the runtime";
  let description = [{
    `attn.rank_index`, `attn.rank_block`, `attn.rank_sums`, `attn.reshard`,
    `attn.all_gather`, `attn.all_reduce` and `attn.all_merge` on buffers become calls of
    `attn_rt_rank_index` and the like.
    Upstream's conversion to the `mpi` dialect is not used: in 22.1, neither what
    sends without waiting nor what waits for it is lowered, f16 and bf16 have no
    type, and no call can end after a time.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_SHARDING_PASSES_TD
