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

def Attn_DenseRowsOp : Attn_Op<"dense_rows", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the same rows, side by side in memory";
  let description = [{
    Gives its sources; or copies of them all, if rows of one, which are its last
    dimension, do not follow one another in memory, and `when`, if given, is true.
    Tiles that each read all rows of a head find rows that are a power of two or a
    page apart in few sets of the cache, and few entries of the table of pages; a copy
    that all threads make once costs less. How far apart rows are is known when the
    kernel is called, and then the decision is made; rows that are known to be dense
    stay where they are. All sources have as many rows.

    ```mlir
    %keys, %values = attn.dense_rows %key, %value when(%has_many_tiles)
        : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32> to
          tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyShaped>:$sources, Optional<I1>:$when);
  let results = (outs Variadic<AnyShaped>:$rows);
  let assemblyFormat = [{
    $sources (`when` `(` $when^ `)`)? attr-dict
    `:` type($sources) `to` type($rows)
  }];
  let hasVerifier = 1;
}

def Attn_PrefetchOp : Attn_Op<"prefetch", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "has rows on their way into the cache";
  let description = [{
    Software prefetch: fetches rows of `source`. `indices` are those of its first dimensions, the last
    of which is that of the first row, and `end` is one past the last row's. A row is
    whole in the other dimensions. It comes into the second-level cache, or into the
    first if it will be written. There may be no rows; those beyond the last of
    `source` are what lies there in memory. It changes nothing, and reads nothing:
    what it fetches may be written at the same time.

    ```mlir
    attn.prefetch %query[%b, %h, %i] to %end : tensor<1x8x?x64xf32>
    ```

    With `spread`, the next operation, a softmax or a product, fetches the rows while
    it computes, a share in each of its steps: a processor has few requests under
    way, and loads wait behind more of them. That is share number `share` of
    `num_shares` of them, if other operations have the other shares.

    ```mlir
    attn.prefetch %panel[%c0] to %c384 spread share(%pack of 64) : tensor<384x64xf32>
    ```

    With `stream`, the right operand of the next operation, a product, is read from
    memory row by row, and `source`, of the same form, is what is read next: the
    product fetches its operand so many bytes ahead of those that it reads, and then
    these rows.

    ```mlir
    attn.prefetch %panel[%c0] to %c2048 stream(2048) : tensor<2048x64xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$source, Variadic<Index>:$indices, Index:$end,
                       Optional<Index>:$share,
                       DefaultValuedAttr<I64Attr, "1">:$num_shares,
                       UnitAttr:$for_write, UnitAttr:$spread,
                       OptionalAttr<I64Attr>:$stream);
  let builders = [
    OpBuilder<(ins "Value":$source, "ValueRange":$indices, "Value":$end), [{
      build($_builder, $_state, source, indices, end, /*share=*/Value(),
            /*num_shares=*/1, /*for_write=*/false, /*spread=*/false,
            /*stream=*/IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $source `[` $indices `]` `to` $end (`for_write` $for_write^)?
    (`spread` $spread^)? (`share` `(` $share^ `of` $num_shares `)`)?
    (`stream` `(` $stream^ `)`)? attr-dict `:` type($source)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of the first row.
    Value getFirst() { return getIndices().back(); }
    /// Sizes of a row.
    ArrayRef<int64_t> getRowShape() {
      return cast<ShapedType>(getSource().getType())
          .getShape()
          .drop_front(getIndices().size());
    }
  }];
}

#endif // ATTN_DIALECT_MEMORY_MEMORYOPS_TD
