//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Where what a tile reads lies, and when it is fetched.
//

#ifndef ATTN_DIALECT_MEMORY_MEMORYOPS_TD
#define ATTN_DIALECT_MEMORY_MEMORYOPS_TD

include "dialect/AttnDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_KeptPacksOp : Attn_Op<"kept_packs", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "packs that a thread keeps from tile to tile";
  let description = [{
    Room for the packs `first <= p < first + count` that a tile reads, in an
    iteration of a parallel loop. Pack `p` is at `p mod capacity` of `packs`. The
    tile has to write those of `from <= p < to`, each as a function of `p` and of
    the indices `of` alone; the others are there, since an iteration before it on
    the same thread, which had the same `of`, wrote them.

    Room for a static number of packs has that capacity, and is for tiles of
    `count` packs that begin at multiples of it: a tile finds all of its packs, or
    none.

    ```mlir
    %packs, %from, %to, %capacity = attn.kept_packs [%first, %count]
        : tensor<8x32x1x32x32xbf16>
    ```

    Room for a dynamic number is a ring for ranges that move on, as the values that
    tiles see under a sliding window. It has room for twice as many packs as a tile
    reads, or for `most` where these are less. The first `overlap` places have
    another `capacity` places after them, so that as many packs and one more are
    side by side wherever they begin; the tile writes packs of such a place twice.

    ```mlir
    %packs, %from, %to, %capacity = attn.kept_packs [%first, %count] of(%b, %h)
        most(%n) overlap 1 : tensor<?x64x32xbf16>
    ```
  }];
  let arguments = (ins Index:$first, Index:$count, Variadic<Index>:$of,
                       Optional<Index>:$most,
                       DefaultValuedAttr<I64Attr, "0">:$overlap);
  let results = (outs AnyShaped:$packs, Index:$from, Index:$to,
                      Index:$capacity);
  let assemblyFormat = [{
    `[` $first `,` $count `]` (`of` `(` $of^ `)`)?
    (`most` `(` $most^ `)`)? (`overlap` $overlap^)?
    attr-dict `:` type($packs)
  }];
  let hasVerifier = 1;
}

def Attn_PrefetchOp : Attn_Op<"prefetch", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "has rows on their way into the cache";
  let description = [{
    Fetches the rows `indices[dim] <= r < end` of dimension `dim`, at `indices` in
    the dimensions before the last and whole in the last: into the second-level
    cache, or into the first if they will be written. There may be none. It changes
    nothing, and reads nothing: what it fetches may be written at the same time.

    ```mlir
    attn.prefetch %query[%b, %h, %i, %c0] dim 2 to %end : tensor<1x8x?x64xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$source, Variadic<Index>:$indices, Index:$end,
                       I64Attr:$dim, UnitAttr:$for_write);
  let assemblyFormat = [{
    $source `[` $indices `]` `dim` $dim `to` $end (`for_write` $for_write^)?
    attr-dict `:` type($source)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_MEMORY_MEMORYOPS_TD
