//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What attn.attention becomes on its way to a machine: the softmax computed
// online, block of keys by block of keys, on a tile of queries.
//

#ifndef ATTN_DIALECT_ONLINE_ONLINEOPS_TD
#define ATTN_DIALECT_ONLINE_ONLINEOPS_TD

include "dialect/AttnDialect.td"
include "dialect/AttnEnums.td"
include "dialect/Shared/DestinationStyle.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

class Attn_OnlineOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, traits # [
        AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<OpAsmOpInterface,
                                  ["getAsmBlockArgumentNames"]>]> {
  let regions = (region AnyRegion:$score_region, AnyRegion:$mask_region);
  code onlineDefinition = [{
    void $cppClass::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
      nameRegionArguments(region, &region == &getMaskRegion(), setName);
    }
  }];
  let extraClassDefinition = onlineDefinition;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_OnlineAttentionOp : Attn_OnlineOp<"online_attention", [
    NoMemoryEffect,
    DeclareOpInterfaceMethods<TilingInterface,
        ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
         "getResultTilePosition"]>,
    DeclareOpInterfaceMethods<PartialReductionOpInterface,
        ["generateInitialTensorForPartialReduction", "tileToPartialReduction",
         "mergeReductions", "getPartialResultTilePosition"]>]> {
  let summary = "attention of one tile of queries, with a running softmax";
  let description = [{
    Continues the attention of a tile of `L` queries of one head over `Skv` more
    keys, with the online softmax of Milakov and Gimelshein, "Online normalizer
    calculation for softmax" (arXiv:1805.02867), as in FlashAttention-2
    (arXiv:2307.08691). Of query `q`, key `j` and element `d` of a value:

    ```
    t[j,q]   = score(scale * dot(key[j], query[q]), ...)
               -inf where mask(...) is false
    m'[q]    = max(m[q], max over j of t[j,q])
    P[j,q]   = exp(t[j,q] - m'[q])
    c[q]     = exp(m[q] - m'[q])
    l'[q]    = c[q] * l[q] + sum over j of P[j,q]
    O'[q,d]  = c[q] * O[q,d] + sum over j of dropout(P[j,q]) * value[j,d]
    ```

    `outs` holds the state: O, m `(L)` and l `(L)`, which start at 0, -inf and 0,
    or at 0, the sink and 1; the log-sum-exp is `m + log(l)`, and +inf where m is (A16).
    The state is of one float type, as is the scalar `scale`, which is 1 where it
    is absent: of a query that is scaled already. The rest follows from `layout`,
    where `Dk`, `Dv`, `L` and `n` are static:

    | `layout`             | `query`        | `key`       | `value`                  | O         |
    | -------------------- | -------------- | ----------- | ------------------------ | --------- |
    | `lanes`              | `(Dk, L)`      | `(Skv, Dk)` | `(Skv, Dv)`              | `(Dv, L)` |
    | `rows`               | `(n, Dk)`      | `(Skv, Dk)` | `(Skv, Dv)`              | `(n, Dv)` |
    | `pairs`              | `(Dk/2, L, 2)` | `(Skv, Dk)` | `(Skv, Dv)`              | `(Dv, L)` |
    | with `packed_values` | `(Dk/2, L, 2)` | `(Skv, Dk)` | `(ceil(Skv/32), Dv, 32)` | `(Dv, L)` |
    | `mma`                | `(L, Dk)`      | `(Skv, Dk)` | `(Skv, Dv)`              | `(L, Dv)` |

    - In `lanes`, the lanes of vectors are queries, and nothing is ever reduced
      across them. The query has the type of the state; `key` and `value` have it,
      too, or each a narrower one.
    - In `rows`, for `n` queries, at most `L`, the lanes are elements of a head.
      Types are those of `lanes`; `key` and `value` may also be of i8, with `key_scales`
      or `value_scales` `(Skv)`, what elements of their rows are multiplied by.
    - In `pairs`, for instructions that multiply and add pairs of bf16, the state is
      of f32 and the rest of bf16. Elements `2i` and `2i+1` of a query lie side by
      side. The weights `P` are rounded to bf16 before they are multiplied by
      values, not before they are summed. Values are packed with their block of
      keys. With `packed_values`, they are already, for several tiles: `[t,d,i]` is
      element `d` of the value of key `32*t + i`, and 0 after the last key. Then the
      op is tiled along the keys at multiples of 32. With `keeps_packs`, the tile
      packs the values of the keys that it sees, in an `attn.kept_packs`.
    - In `mma`, for matrix units, the state is of f32, and the query of f16, bf16 or
      f32. `key` and `value` are as in `rows`.

    `batch` and `head` are the `b` and `h` that regions see; `position` is the
    position `p` of query 0, `first_key` the `j` of key 0. Only the first
    `num_queries` queries exist; regions are not observable at the others.

    With `exact`, positions of which the score is -inf or that are masked
    contribute nothing to O even where the value is NaN or infinite (A13).
    Without, they contribute 0 times the value.

    With `bounded`, the result need be right only where `attn.all_bounded` is true of
    m' after the last keys, so that exponents may be computed in fewer operations.
    Who sets it computes the tile once more, without it, where that is false.

    With `rounded`, of m, l and weights no more is seen than of weights that are
    rounded to bf16: an error that is small beside 2^-9 is none.

    If `first` is true, O counts as 0, whatever it holds.

    `dropout(rate, seed, call, line)` is that of `attn.online_dropout`, whose keys
    begin with `first_key`, or, with a `key` after the line, with the sum of both;
    without it, nothing is dropped.

    With `in_pages`, keys, and values that are not packed, are rows of an
    `attn.cache_read` from that of `first_key` on, which lie in several pages; of a
    block of keys, which is computed page by page.

    With `delayed(values, only)`, in `mma`, `outs` has a fourth tensor, W `(L, K)` of
    the query's type: the weights of the block before, whose `values` `(?, Dv)` are of
    the type of `value`, and of at most K rows. The op adds that product in place of its
    own, and gives its own weights, of at most K keys and 0 after the last one, to the
    next block:

    ```
    O'[q,d]  = c[q] * (O[q,d] + sum over j of W[q,j] * values[j,d])
    W'[q,j]  = P[j,q]
    ```

    Where `only` is true, its own keys count as none: c is 1, m and l stay what they
    are, and W' is 0. Rows of `values` that are missing count as 0.

    `next_tile` is by how many positions the tile that comes next on a thread is
    further on, or 0 if there is none of the head: the keys that it sees and this
    one does not are fetched meanwhile.

    Tiling it along the keys gives blocks; its partial reduction gives split-KV
    decoding, merged by log-sum-exp.
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Optional<AnyRankedTensor>:$key_scales,
    Optional<AnyRankedTensor>:$value_scales,
    Variadic<AnyRankedTensor>:$outs,
    Index:$batch, Index:$head, Index:$position, Index:$first_key,
    Index:$num_queries, I1:$exact, Optional<I1>:$first,
    Optional<AnyFloat>:$scale, Optional<I64>:$dropout_seed,
    Optional<I32>:$dropout_call, Optional<Index>:$dropout_line,
    Optional<Index>:$dropout_key, Optional<AnyRankedTensor>:$delayed_values,
    Optional<I1>:$delayed_only, Variadic<AnyType>:$score_captures, Variadic<AnyType>:$mask_captures,
    DefaultValuedAttr<Attn_OnlineLayoutAttr,
                      "::mlir::attn::OnlineLayout::Lanes">:$layout,
    UnitAttr:$packed_values, UnitAttr:$keeps_packs, UnitAttr:$in_pages,
    UnitAttr:$bounded, UnitAttr:$rounded,
    DefaultValuedAttr<I64Attr, "0">:$next_tile,
    OptionalAttr<F64Attr>:$dropout_rate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`layout` `` $layout^)? (`packed_values` $packed_values^)?
    (`keeps_packs` $keeps_packs^)? (`in_pages` $in_pages^)?
    (`bounded` $bounded^)? (`rounded` $rounded^)? (`next_tile` $next_tile^)?
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`key_scales` `(` $key_scales^ `:` type($key_scales) `)`)?
    (`value_scales` `(` $value_scales^ `:` type($value_scales) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    `at` `(` $batch `,` $head `,` $position `,` $first_key `)`
    `queries` `(` $num_queries `)` `exact` `(` $exact `)`
    (`first` `(` $first^ `)`)? (`scale` `(` $scale^ `:` type($scale) `)`)?
    (`dropout` `(` $dropout_rate^ `,` $dropout_seed `,` $dropout_call `,` $dropout_line (`,` $dropout_key^)? `)`)?
    (`delayed` `(` $delayed_values^ `,` $delayed_only `:` type($delayed_values) `)`)?
    custom<PointwiseRegion>("\"score\"", $score_region, $score_captures,
                            type($score_captures))
    custom<PointwiseRegion>("\"mask\"", $mask_region, $mask_captures,
                            type($mask_captures))
    attr-dict `->` type($results)
  }];
  let extraClassDeclaration = [{
    Value getAccumulator() { return getOuts()[0]; }
    Value getMaximum() { return getOuts()[1]; }
    Value getSum() { return getOuts()[2]; }
    bool hasScore() { return !getScoreRegion().empty(); }
    bool hasMask() { return !getMaskRegion().empty(); }
    bool hasDropout() { return getDropoutRate().has_value(); }
    /// Whether its product with values is added by the next block.
    bool isDelayed() { return bool(getDelayedValues()); }
    /// Of the block before, if it is delayed.
    Value getDelayedWeights() { return getOuts()[3]; }
    /// The number that dropout has of a key, an index (A8).
    Value createDropoutKey(OpBuilder &builder, Value key);
    /// Whether query and O have a row for each query: in rows and for mma.
    bool hasRowPerQuery() {
      return getLayout() == OnlineLayout::Rows || getLayout() == OnlineLayout::Mma;
    }
    /// Keys whose values lie side by side in pairs.
    static constexpr int64_t kKeysPerPack = 32;
    /// Queries of the tile, `L`.
    int64_t getNumLanes() { return cast<ShapedType>(getMaximum().getType()).getDimSize(0); }
    /// Rows of query and O where queries have rows: `n`, or `L` for mma.
    int64_t getNumRows() { return cast<ShapedType>(getQuery().getType()).getDimSize(0); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// `exp(part - whole)` of two maxima, what sums in units of the one are
    /// multiplied by to be in those of the other: 1 where they are equal, as the
    /// difference of infinities would be NaN.
    static Value createRescaleFactor(OpBuilder &builder, Location loc,
                                     Value part, Value whole);
  }];
}

def Attn_OnlineSoftmaxOp : Attn_OnlineOp<"online_softmax", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the softmax step of one block of keys";
  let description = [{
    The middle of `attn.online_attention`, between its two contractions. `outs`
    holds

    - the products `dot(key[j,:], query[:,q])`, `(K, L)`, which become the
      weights `P`. Only the first `num_keys` rows are read and written with
      meaning; up to 7 rows after them may be written, with 0;
    - what scores are relative to, m `(L)`, and the running sum l `(L)`, updated.
      m is the running maximum, or, unless `exact`, less by at most 5, so that
      weights are 148 at most;
    - the rescale factor c `(L)`, written only, of what was summed before. It is 1
      where m stays, as in most blocks;
    - unless they are left out, the weights rounded to bf16, in pairs of keys
      `(K/2, L, 2)`, K a multiple of 32, written only, and 0 from `num_keys` to the
      next multiple of 32.
      With `exact`, they are not specified; without, what becomes of the products is
      not.

    `scale` is that of `attn.online_attention`: a score starts as it times the
    product. `partial` is false if the mask keeps every position of the tile for
    certain; `defined` is true if every value in the regions has a result at
    every position of the tile, so that they may be evaluated for vectors
    without guards (A12). With `exact`, the weight of a position whose score is
    -inf is -0.0, which no other position can have; without, it is some zero.
    With `in_order`, what a query gets is the same whatever others are in the tile:
    weights are added up one key after the other, and no shorter formula is taken
    where it does for all scores of the block. With `rounded`, weights have a relative
    error of up to 1.1e-4, as for factors that are rounded to bf16.

    With m alone, which no score exceeds by more than 5, weights are relative to
    it, and no state is kept. Without m too, the products become the scores, and
    those that the mask hides -inf.

    While all scores are -inf, m is, with weights 0 and rescale factor 1. Once a score
    is NaN, m is; while none is, but one is +inf, m is +inf and l is NaN (A16).
  }];
  let arguments = (ins
    Variadic<AnyShaped>:$outs,
    Index:$batch, Index:$head, Index:$position, Index:$first_key,
    Index:$num_queries, Index:$num_keys,
    I1:$partial, I1:$defined, I1:$exact, Optional<AnyFloat>:$scale,
    Variadic<AnyType>:$score_captures, Variadic<AnyType>:$mask_captures,
    UnitAttr:$in_order, UnitAttr:$rounded);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`in_order` $in_order^)? (`rounded` $rounded^)?
    `outs` `(` $outs `:` type($outs) `)`
    `at` `(` $batch `,` $head `,` $position `,` $first_key `)`
    `queries` `(` $num_queries `)` `keys` `(` $num_keys `)`
    `partial` `(` $partial `)` `defined` `(` $defined `)` `exact` `(` $exact `)`
    (`scale` `(` $scale^ `:` type($scale) `)`)?
    custom<PointwiseRegion>("\"score\"", $score_region, $score_captures,
                            type($score_captures))
    custom<PointwiseRegion>("\"mask\"", $mask_region, $mask_captures,
                            type($mask_captures))
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    Value getScores() { return getOuts()[0]; }
    /// Whether it stops at the scores.
    bool hasOnlyScores() { return getOuts().size() == 1; }
    /// Whether what scores are relative to is known before, and stays.
    bool hasFixedMaximum() { return getOuts().size() == 2; }
    Value getMaximum() { return getOuts()[1]; }
    Value getSum() { return getOuts()[2]; }
    Value getRescaleFactor() { return getOuts()[3]; }
    bool hasPairs() { return getOuts().size() == 5; }
    Value getPairs() { return getOuts()[4]; }
    /// The captured operand that a region argument stands for.
    Value getCapture(BlockArgument argument);
    /// Whether the op reads what an operand holds: all but the rescale factor
    /// and pairs.
    bool readsOperand(OpOperand &operand) {
      unsigned number = operand.getOperandNumber();
      return number != 3 && !(hasPairs() && number == 4);
    }
    bool hasScore() { return !getScoreRegion().empty(); }
    bool hasMask() { return !getMaskRegion().empty(); }
    /// Queries of the tile, `L`.
    int64_t getNumLanes() { return cast<ShapedType>(getScores().getType()).getDimSize(1); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let extraClassDefinition = !strconcat(onlineDefinition, destinationEffects);
}

def Attn_OnlineDropoutOp : Attn_Op<"online_dropout", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "dropout of the weights of one block of keys";
  let description = [{
    The step after `attn.online_softmax` of an op with dropout (A8). `outs` holds
    the weights, `(K, L)`, of which the first `num_keys` rows are multiplied by
    `1 / (1 - rate)` or by 0; up to 3 rows after them may be, too. `rate` is a
    constant in `[0, 1)`, `line` is `b * Hq + h`, `position` the position `p` of
    query 0, and `first_key` the `j` of key 0, all of the whole that A8 speaks of. A weight of -0.0, which says that
    its position is hidden, stays.
  }];
  let arguments = (ins
    Variadic<AnyShaped>:$outs, I64:$seed, I32:$call, Index:$line,
    Index:$position, Index:$first_key, Index:$num_keys, F64Attr:$rate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `outs` `(` $outs `:` type($outs) `)`
    `dropout` `(` $rate `,` $seed `,` $call `,` $line `)`
    `at` `(` $position `,` $first_key `)` `keys` `(` $num_keys `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    Value getWeights() { return getOuts()[0]; }
    bool readsOperand(OpOperand &) { return true; }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let extraClassDefinition = destinationEffects;
  let hasVerifier = 1;
}

def Attn_AllFiniteOp : Attn_Op<"all_finite", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "whether every element is finite";
  let description = [{
    True if no element of a tensor or memref of floats is NaN or infinite.
  }];
  let arguments = (ins AnyShaped:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Attn_AllBoundedOp : Attn_Op<"all_bounded", [Pure]> {
  let summary = "whether no maximum of scores is large";
  let description = [{
    True if every element of a tensor of maxima is -inf or at most 2^16 in
    magnitude: if a tile of `bounded` `attn.online_attention` is right.
  }];
  let arguments = (ins 1DTensorOf<[AnyFloat]>:$maxima);
  let results = (outs I1:$result);
  let assemblyFormat = "$maxima attr-dict `:` type($maxima)";
  let extraClassDeclaration = [{
    /// The largest magnitude of a finite maximum.
    static constexpr double kMost = 0x1p16;
  }];
}

#endif // ATTN_DIALECT_ONLINE_ONLINEOPS_TD
