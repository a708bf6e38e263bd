//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Keys and values that are kept between calls.
//

#ifndef ATTN_DIALECT_CACHE_CACHEOPS_TD
#define ATTN_DIALECT_CACHE_CACHEOPS_TD

include "dialect/AttnDialect.td"
include "dialect/Shared/DestinationStyle.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ValueBoundsOpInterface.td"

class Attn_CacheOp<string mnemonic, list<Trait> traits>
    : Attn_Op<mnemonic, [AttrSizedOperandSegments] # traits # [
        DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  // What both ops say of the kind of cache.
  code cacheDeclaration = [{
    bool isPaged() { return static_cast<bool>(getTable()); }
    /// Whether elements are int8, with a scale for each row.
    bool isQuantized() { return static_cast<bool>(getScales()); }
    ShapedType getCacheType() { return cast<ShapedType>(getCache().getType()); }
    int64_t getNumHeads() { return getCacheType().getDimSize(1); }
    int64_t getHeadSize() { return getCacheType().getDimSize(3); }

    /// The pairs of sizes that must agree, the source of the verifier's
    /// messages, of the checks at run time, and of what a caller is told.
    SmallVector<SizeConstraint> getSizeConstraints();
  }];
  let hasVerifier = 1;
}

def Attn_CacheAppendOp : Attn_CacheOp<"cache_append", [
    DestinationStyleOpInterface,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "appends rows to a cache of keys or values";
  let description = [{
    Stores row `i` of `rows[b,h]` as the row of position
    `p = lengths[b] + i` of sequence `b`, for every `i < counts[b]`. The result
    is the cache with these rows; bufferization writes them in place.

    ```mlir
    %keys = attn.cache_append ins(%new : tensor<?x8x?x64xf32>)
        outs(%cache : tensor<?x8x?x64xf32>) lengths(%stored : tensor<?xi32>)
    ```

    #### Kinds of caches

    - (C1) A *contiguous* cache is `(B, Hkv, capacity, D)`, and stores position
      `p` in row `p`.
    - (C2) A *ring*, `ring`, has the same shape and stores position `p` in row
      `p mod capacity`, where it replaces the row of position `p - capacity`.
    - (C3) A *paged* cache is `(pages, Hkv, page_size, D)` with a `table`
      `(B, max_pages)` of i32: the row of position `p` of sequence `b` is row
      `p mod page_size` of page `table[b, p / page_size]`. The *used* part of a
      table are the entries of the positions before the sequence's length. Other
      entries are not read. Pages of different sequences may be one, to share
      what they begin with (Kwon et al., "Efficient Memory Management for Large
      Language Model Serving with PagedAttention", arXiv:2309.06180).
    - (C4) Elements are f64, f32, f16, bf16, f8E4M3FN or f8E5M2 (OCP 8-bit
      Floating Point Specification), or i8 with a second tensor of `scales`, f32
      and of the shape of the cache without `D`. An element of i8 stands for itself
      times the scale of its row. Heads and head sizes are static and at least 1.

    #### Operands

    - (C5) `rows` is `(B, Hkv, n, D)`. Its element type is that of the cache or a
      wider float of at least 16 bits, which is rounded to nearest even; f32, f16 or
      bf16 if the cache is i8. In 8 bits, what is beyond the largest number, an
      infinity too, becomes the largest number of its sign, 448 of f8E4M3FN and
      57344 of f8E5M2, and NaN stays NaN.
    - (C6) `lengths`, `(B)` of i32 or i64, are the numbers of rows that were
      stored before, from 0 to 2^61. `counts`, `(B)` of i32 or i64, are how many
      of the `n` rows of each sequence are new, from 0 to `n`; without it, all
      are. `sequences`, `(N+1)` of i32, says instead that `rows` is packed, as
      the queries of an `attn.attention` may be (A7): `(1, Hkv, n, D)`, where
      sequence `b` has the rows from `sequences[b]` up to `sequences[b+1]`, and
      the cache is one of `N` sequences. Rows of no sequence are not stored.
    - (C7) A row of an i8 cache is quantized symmetrically: its scale is
      `max|x| / 127`, and an element is `x / scale`, rounded to nearest even and
      kept within -127 and 127. A row of zeros has the scale 0 and zeros. A row
      with a NaN or an infinity has the scale NaN and zeros: all of it reads as
      NaN.
    - (C8) In destination style, results have the types of `outs`: the cache and,
      if it is i8, the scales. What is not appended to stays as it is.

    #### Errors

    (C9) Each of the following is an error at run time, before this op or another
    op of the same block writes anything:

    - a length or a count that is out of its bounds, and `sequences` that
      decrease, or that are not between 0 and `n`;
    - `lengths[b] + counts[b]` beyond the capacity of a contiguous cache, or
      beyond `max_pages * page_size`;
    - `counts[b]` beyond the capacity of a ring, which would replace what it has
      just stored;
    - a page to be written that is not one of the cache's, or that stands
      elsewhere in the used part of the tables, after the append: another sequence
      shares it, or the same one has it twice.
  }];

  let arguments = (ins
    AnyType:$rows, Variadic<AnyType>:$outs, AnyType:$lengths,
    Optional<AnyType>:$counts, Optional<AnyType>:$sequences,
    Optional<AnyType>:$table, UnitAttr:$ring);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $rows `:` type($rows) `)` `outs` `(` $outs `:` type($outs) `)`
    `lengths` `(` $lengths `:` type($lengths) `)`
    oilist(`counts` `(` $counts `:` type($counts) `)`
           | `sequences` `(` $sequences `:` type($sequences) `)` | `ring` $ring
           | `table` `(` $table `:` type($table) `)`)
    `` custom<EndOfClauses>("{\"counts\", \"sequences\", \"ring\", \"table\"}")
    attr-dict
  }];
  let extraClassDeclaration = cacheDeclaration # [{
    Value getCache() { return getOuts()[0]; }
    /// Null unless elements are int8.
    Value getScales() { return getOuts().size() > 1 ? getOuts()[1] : Value(); }

    /// What of `outs` is not written stays, so that they are read too.
    bool readsOperand(OpOperand &) { return true; }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let extraClassDefinition = destinationDefinition;
}

def Attn_CacheReadOp : Attn_CacheOp<"cache_read", [
    NoMemoryEffect,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<ValueBoundsOpInterface,
                              ["populateBoundsForShapedValueDim"]>]> {
  let summary = "a cache as logical keys or values";
  let description = [{
    The rows of the first `n` positions of each sequence, `(B, Hkv, n, D)`, from a
    cache of any kind (C1 to C4): row `p` of the result is that of position `p`.

    ```mlir
    %key = attn.cache_read ins(%cache, %scales : tensor<?x8x16x64xi8>,
            tensor<?x8x16xf32>)
        lengths(%lengths : tensor<?xi32>) table(%table : tensor<?x?xi32>)
        size(%n) -> tensor<?x8x?x64xf32>
    ```

    It is to be the key or the value of an `attn.attention`, whose lowering reads
    the cache where it lies. Masks see positions, whatever the kind of the cache.

    - (C10) `lengths`, `(B)` of i32 or i64 from 0 to 2^61, are the numbers of rows
      that are stored. `n` is the operand `size`, or static in the result's type.
    - (C11) The result's element type is that of the cache or a wider float of at
      least 16 bits; of an i8 cache f32, f16 or bf16, to which the product with the
      scale is rounded from f32. An attention may compute with the product before it
      is rounded.
    - (C12) The rows of positions from `lengths[b]` on, and in a ring those before
      `lengths[b] - capacity`, are *absent*. A position of an `attn.attention`
      whose mask keeps an absent row of its key or value is an error at run time:
      to sequences of different lengths belongs a `key_padding`, and a ring must
      hold all that a sliding window shows, so that its capacity is at least the
      window and the query length together. Absent rows are zeros to other ops,
      and to an attention of a packed batch there may be none.
    - (C13) A length out of its bounds, a stored row beyond the capacity of a
      contiguous cache or beyond `max_pages * page_size`, and a page of one of the
      `n` positions that are stored but not one of the cache's, is an error at run
      time.
  }];

  let arguments = (ins
    AnyType:$cache, Optional<AnyType>:$scales, AnyType:$lengths,
    Optional<AnyType>:$table, Optional<Index>:$size, UnitAttr:$ring);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `ins` `(` $cache (`,` $scales^)? `:` type($cache) (`,` type($scales)^)? `)`
    `lengths` `(` $lengths `:` type($lengths) `)`
    oilist(`ring` $ring | `table` `(` $table `:` type($table) `)`
           | `size` `(` $size `)`)
    `` custom<EndOfClauses>("{\"ring\", \"table\", \"size\"}") attr-dict
    `->` type($result)
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = cacheDeclaration # [{
    RankedTensorType getResultType() {
      return cast<RankedTensorType>(getResult().getType());
    }
    /// The number of positions, `n`.
    OpFoldResult getMixedSize();
  }];
}

#endif // ATTN_DIALECT_CACHE_CACHEOPS_TD
