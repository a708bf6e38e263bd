//===- RankOps.td - What ranks say to each other -----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What is in the function that each of several processes runs. A group is every
// `stride`-th rank, `size` of them: the ranks along one axis of a grid.
//

#ifndef ATTN_DIALECT_SHARDING_RANKOPS_TD
#define ATTN_DIALECT_SHARDING_RANKOPS_TD

include "dialect/AttnDialect.td"
include "dialect/AttnEnums.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_RankIndexOp : Attn_Op<"rank_index", [Pure]> {
  let summary = "the number of this rank in its group";
  let description = [{
    `rank / stride mod size`, where `rank` is that of the process among all.

    ```mlir
    %me = attn.rank_index stride 1 size 4
    ```
  }];
  let arguments = (ins
    ConfinedAttr<I64Attr, [IntPositive]>:$stride,
    ConfinedAttr<I64Attr, [IntPositive]>:$size);
  let results = (outs Index:$result);
  let assemblyFormat = "`stride` $stride `size` $size attr-dict";
}

def Attn_RankBlockOp : Attn_Op<"rank_block", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a block of keys and values of a rank of the group";
  let description = [{
    Gives the rows of keys and values that this rank needs in step `step`, from 0
    up to the size of the group: of rank `index - step` of the group (modulo its
    size), so that step 0 gives rows of its own. Row `step` of `spans`,
    `(size, 4)`, says which: the first row of its own that this rank sends to rank
    `index + step`, their number, the first row that it needs, and their number,
    which is `rows` too. Of no rows, nothing is sent. Where a rank has several
    pieces of rows, it is `(size, 4 * pieces)`: four numbers for each, in whose
    order the rows of a block lie, `rows` of them in all. In step 0, they have to
    lie so already.

    All steps have to be asked for in order, in one call of a kernel. Each begins
    to fetch what the next one gives, which arrives while the caller computes. A
    block lives until the next step but one.

    `key` is `(B, H, S, Dk)`, `value` `(B, H, S, Dv)`, of one element type, where
    `H`, `Dk` and `Dv` are static and `B` and `S` are the same for both. All of a
    group have the same `B`.

    ```mlir
    %k, %v = attn.rank_block %step of (%key, %value :
            tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>)
        spans(%spans : tensor<4x4xindex>) rows(%rows) stride 1
        -> tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>
    ```
  }];
  let arguments = (ins Index:$step, AnyShaped:$key, AnyShaped:$value,
    AnyShaped:$spans, Index:$rows,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride);
  let results = (outs AnyShaped:$keys, AnyShaped:$values);
  let assemblyFormat = [{
    $step `of` `(` $key `,` $value `:` type($key) `,` type($value) `)`
    `spans` `(` $spans `:` type($spans) `)` `rows` `(` $rows `)`
    `stride` $stride attr-dict `->` type($keys) `,` type($values)
  }];
  let extraClassDeclaration = [{
    /// Of the group.
    int64_t getSize() {
      return cast<ShapedType>(getSpans().getType()).getDimSize(0);
    }
  }];
  let hasVerifier = 1;
}

def Attn_RankSumsOp : Attn_Op<"rank_sums", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "adds what was computed of a block where the block is from";
  let description = [{
    The way back of `attn.rank_block`: `key` and `value` are sums, gradients for
    example, for the rows of the block of step `step`, which go to the rank that it
    came from, `index - step`. To the rows of `outs`, which are the rank's own, is
    added what other ranks computed of them: that of rank `index + step` on the rows
    that `spans`, those of the block, say were sent to it. All of it has been added
    after the last step; what was sent in one may be added in the next one, so that
    it is on its way while the caller computes.

    Each step follows the `attn.rank_block` of that step. Elements are f32 or f64.
    Sums have the same order in each call.

    ```mlir
    %dk, %dv = attn.rank_sums %step of(%key, %value : tensor<1x2x?x64xf32>,
            tensor<1x2x?x64xf32>)
        spans(%spans : tensor<4x4xindex>)
        outs(%keys, %values : tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>)
        stride 1 -> tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>
    ```
  }];
  let arguments = (ins Index:$step, AnyShaped:$key, AnyShaped:$value,
    AnyShaped:$spans, Variadic<AnyShaped>:$outs,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $step `of` `(` $key `,` $value `:` type($key) `,` type($value) `)`
    `spans` `(` $spans `:` type($spans) `)` `outs` `(` $outs `:` type($outs) `)`
    `stride` $stride attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    /// Of the group.
    int64_t getSize() {
      return cast<ShapedType>(getSpans().getType()).getDimSize(0);
    }
    bool readsOperand(OpOperand &) { return true; }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let hasVerifier = 1;
}

def Attn_ReshardOp : Attn_Op<"reshard", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "what of a tensor this rank has, distributed in another way";
  let description = [{
    Of a tensor `(B, H, S, D)`, the ranks of the group have other parts after this
    op than before:

    - `rows_to_heads`: rows before, and then an equal share of the heads each, as
      DeepSpeed-Ulysses exchanges them (arXiv:2309.14509);
    - `heads_to_rows`: the way back;
    - `rows_to_whole`: rows before, and then all of it;
    - `whole_to_rows`: all of it before, and then rows of the sum of what all have,
      f32 or f64, added in the order of the ranks.

    `bounds`, `(pieces + 1)` of index, says where pieces of the rows begin, and
    where the last one ends. There is one of each rank of the group, in their order,
    or two: rank `r` of `n` has the pieces `r` and `2 n - 1 - r` then, one after the
    other. Between two ranks, each piece of a head is a message, and nothing is sent
    twice.

    Upstream's `shard.all_to_all` and `shard.all_gather` say the same of rows that
    are split evenly, but convert-shard-to-mpi lowers neither in 22.1.

    ```mlir
    %heads = attn.reshard rows_to_heads ins(%rows : tensor<1x8x?x64xf32>)
        outs(%init : tensor<1x2x?x64xf32>) bounds(%bounds : tensor<5xindex>)
        stride 1 size 4 -> tensor<1x2x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Reshard:$kind, AnyShaped:$part, AnyShaped:$outs,
    AnyShaped:$bounds,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride,
    ConfinedAttr<I64Attr, [IntPositive]>:$size);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $kind `ins` `(` $part `:` type($part) `)` `outs` `(` $outs `:` type($outs) `)`
    `bounds` `(` $bounds `:` type($bounds) `)`
    `stride` $stride `size` $size attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let hasVerifier = 1;
}

def Attn_AllGatherOp : Attn_Op<"all_gather", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "what all ranks of the group have";
  let description = [{
    Writes the `part` of every rank of the group into `outs`, `(size, ...)`, in the
    order of the ranks. All ranks have parts of one size.

    ```mlir
    %all = attn.all_gather ins(%part : tensor<3xi64>)
        outs(%init : tensor<4x3xi64>) stride 1 -> tensor<4x3xi64>
    ```
  }];
  let arguments = (ins AnyShaped:$part, AnyShaped:$outs,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $part `:` type($part) `)` `outs` `(` $outs `:` type($outs) `)`
    `stride` $stride attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    /// Of the group.
    int64_t getSize() {
      return cast<ShapedType>(getOuts().getType()).getDimSize(0);
    }
    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let hasVerifier = 1;
}

def Attn_AllReduceOp : Attn_Op<"all_reduce", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the sum of what all ranks of the group have";
  let description = [{
    Writes the sum of the `part` of every rank of the group, of which there are
    `size`, into `outs`: of each element, in the order of the ranks, so that all
    of them get the same bits. Elements are f32 or f64. A rank whose part has
    another size than that of another one gets an error that names it.

    ```mlir
    %sum = attn.all_reduce ins(%part : tensor<1x?x576xf32>)
        outs(%init : tensor<1x?x576xf32>) stride 1 size 4 -> tensor<1x?x576xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$part, AnyShaped:$outs,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride,
    ConfinedAttr<I64Attr, [IntPositive]>:$size);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $part `:` type($part) `)` `outs` `(` $outs `:` type($outs) `)`
    `stride` $stride `size` $size attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let hasVerifier = 1;
}

def Attn_AllMergeOp : Attn_Op<"all_merge", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "one attention from those of all ranks of the group";
  let description = [{
    What `attn.merge` gives of the outputs `(B, H, S, D)` and log-sum-exps
    `(B, H, S)` of every rank of the group, of which there are `size`, each of other
    keys. With `m` the maximum of the log-sum-exps of all ranks, and
    `w = exp(lse - m)`:

    ```
    output = sum of w * output / sum of w
    lse    = m + log(sum of w)
    ```

    Parts with a log-sum-exp of -inf, +inf or NaN count as there (M2). Elements are
    f32 or f64. Sums are in the order of the ranks, so that all of them get the same
    bits, in either of two ways: all parts go to all ranks, or ranks reduce the
    maxima, and then `w * output` and `w` (Shyam et al., "Tree Attention",
    arXiv:2408.04093). A rank whose part has another size than that of another one
    gets an error that names it.

    ```mlir
    %o, %l = attn.all_merge ins(%part#0, %part#1 : tensor<1x8x1x64xf32>,
            tensor<1x8x1xf32>)
        outs(%o_init, %l_init : tensor<1x8x1x64xf32>, tensor<1x8x1xf32>)
        stride 1 size 4 -> tensor<1x8x1x64xf32>, tensor<1x8x1xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$output, AnyShaped:$lse,
    Variadic<AnyShaped>:$outs,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride,
    ConfinedAttr<I64Attr, [IntPositive]>:$size);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $output `,` $lse `:` type($output) `,` type($lse) `)`
    `outs` `(` $outs `:` type($outs) `)`
    `stride` $stride `size` $size attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_SHARDING_RANKOPS_TD
