//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTNOPS_TD
#define ATTN_DIALECT_ATTNOPS_TD

include "dialect/Attention/AttentionDeclaration.td"
include "dialect/Attention/BackwardOps.td"
include "dialect/AttnDialect.td"
include "dialect/Cache/CacheOps.td"
include "dialect/Device/WarpOps.td"
include "dialect/Layer/LayerOps.td"
include "dialect/Layer/MultiHeadAttentionOp.td"
include "dialect/Attention/MultiTokenBackwardOps.td"
include "dialect/Attention/MultiTokenOps.td"
include "dialect/Attention/TangentOps.td"
include "dialect/Memory/MemoryOps.td"
include "dialect/Online/OnlineOps.td"
include "dialect/Plan/PlanAttr.td"
include "dialect/Plan/TargetAttr.td"
include "dialect/Layer/ProjectionOps.td"
include "dialect/Attention/ReportOps.td"
include "dialect/Sharding/LinkAttr.td"
include "dialect/Attention/TableOps.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

def Attn_AttentionOp : Attn_Op<"attention", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    DestinationStyleOpInterface, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>,
    DeclareOpInterfaceMethods<TilingInterface,
        ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
         "getResultTilePosition"]>]> {
  let summary = "masked, grouped scaled-dot-product attention";
  let description = [{
    For each batch `b`, query head `h`, query row `i` at position
    `p = i + offset[b]`, and key column `j`:

    ```
    s    = scale * dot(query[b,h,i,:], key[b,h/G,j,:])
    s    = score(s, b, h, p, j)                     // optional region
    keep = mask(b, h, p, j)                         // optional region
    P    = softmax over the kept j of s             // the sink joins the sum
    P    = dropout(P)                               // optional
    output[b,h,i,:] = sum over j of P * value[b,h/G,j,:]
    lse[b,h,i]      = log([exp(sink[h]) +] sum over the kept j of exp(s))
    ```

    The formula is that of Vaswani et al., "Attention Is All You Need"
    (arXiv:1706.03762); the grouping of heads that of Ainslie et al., "GQA"
    (arXiv:2305.13245).

    Example, eight query heads on two key/value heads, any batch and length:

    ```mlir
    func.func @gqa(%query: tensor<?x8x?x64xf32>, %key: tensor<?x2x?x64xf32>,
                   %value: tensor<?x2x?x64xf32>) -> tensor<?x8x?x64xf32> {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %batch = tensor.dim %query, %c0 : tensor<?x8x?x64xf32>
      %length = tensor.dim %query, %c2 : tensor<?x8x?x64xf32>
      %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xf32>
      %output = attn.attention
          ins(%query, %key, %value : tensor<?x8x?x64xf32>,
              tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
          outs(%init : tensor<?x8x?x64xf32>)
          score softcap(30.0)
          mask causal, sliding_window(255, 0)
      return %output : tensor<?x8x?x64xf32>
    }
    ```

    #### Syntax

    ```
    attention ::= `attn.attention` `ins` `(` query `,` key `,` value `:` types `)`
                  `outs` `(` output (`,` log-sum-exp)? `:` types `)`
                  clause* attr-dict
    clause    ::= `scale` `(` (number | operand `:` type) `)`
                | `offset` `(` (`bottom_right` | operand `:` type) `)`
                | `sink` `(` operand `:` type `)`
                | `sequences` `(` operand (`,` operand)? `:` types `)`
                | `counts` `(` operand `:` type `)`
                | `dropout` `(` rate `,` seed `,` call (`,` line)?
                  (`,` `key` `=` key `:` type)? (`,` `heads` `=` number)? `)`
                | `score` item (`,` item)*
                | `mask` item (`,` item)*
    item      ::= name `rows`? (`(` arguments `)`)?     // see Spellings
                | `(` arguments `)` (`captures` `(` capture (`,` capture)* `)`)? region
    capture   ::= argument (`:` type)? `=` operand `:` type
    ```

    Clauses may stand in any order, each at most once. Printing keeps the order
    above.

    #### Operands

    - (A1) `query` is `(B, Hq, Sq, Dk)`, `key` `(B, Hkv, Skv, Dk)`, `value`
      `(B, Hkv, Skv, Dv)`, `outs` holds the output `(B, Hq, Sq, Dv)` and, if a
      second one is given, the log-sum-exp `(B, Hq, Sq)`. Heads are at least 1,
      head sizes 1 to 4096; all static. `B`, `Sq`, `Skv` may be dynamic, and 0.
    - (A2) `query`, `key`, `value` and the output have one element type: f64,
      f32, f16 or bf16. Sums are accumulated in f32, for f64 in f64. The score
      that a region sees, and the log-sum-exp, have the accumulation type.
    - (A3) `Hq` is a multiple of `Hkv`; query head `h` reads key/value head
      `floor(h / G)`, where `G = Hq / Hkv`.
    - (A4) `scale` is a finite constant or a scalar of the accumulation type;
      `1/sqrt(Dk)` when absent.
    - (A5) `offset` is the number of tokens before the first query row: an
      integer, a `(B)` tensor of integers, or `bottom_right`, which is
      `Skv - Sq`. 0 when absent; may be negative, and is at most 2^61 in
      magnitude, so that nothing near a position overflows. `mask causal` is
      thus aligned to the top left; `offset(bottom_right) mask causal` to the
      bottom right.
    - (A6) `sink`, `(Hq)` of f64, f32, f16 or bf16, no wider than the
      accumulation type, is one logit per head that joins the maximum and the
      denominator of each row once, and has no value row. `(Hq, Sq)` is one per
      row, which heads become that are folded into rows.
    - (A7) `sequences(cumulative_query, cumulative_key)`, each `(N+1)` of i32,
      makes a packed batch (varlen, with `cu_seqlens`): `B` is 1, and sequence `n` has the query rows from
      `cumulative_query[n]` up to `cumulative_query[n+1]` and the key/value rows
      from `cumulative_key[n]` up to `cumulative_key[n+1]`. A query sees only
      its own sequence. `b` is the sequence, and `i`, `p`, `j` count within it;
      `offset` may be `(N)`. The numbers must not decrease and must lie between
      0 and `Sq` (`Skv`). With `sequences(cumulative_query)` alone, queries are
      packed, and keys and values are a batch of `N`: sequence `n` sees those of
      batch entry `n`, as it does of caches of different lengths (C12).
      `counts`, `(B)` of i32 or i64 from 0 to `Sq`, says instead how many query
      rows of each batch entry there are. Rows that belong to no sequence, or
      that `counts` leaves out, get output 0 and log-sum-exp -inf, also with a
      sink. `Sq` of `bottom_right` (A5) is the number of a sequence's rows.
    - (A8) `dropout(rate, seed, call)` drops each probability with a constant
      rate in `[0, 1)`: Philox-4x32-10 (Salmon et al., SC 2011) with the 64-bit
      seed as key and the counter `(j / 4, p, b * Hq + h, call)`, each reduced
      to 32 bits; word `j mod 4` keeps the position if it is at least
      `rate * 2^32`. What is kept is multiplied by `1 / (1 - rate)`. The
      log-sum-exp is that before dropout. A part of a larger op has the same
      random numbers if it says what it is of the whole: `line`, which is added
      to `b * Hq + h`, is that of its first batch entry and head; `key`, added to
      `j`, the number of its first key, an index or, of each batch entry or
      sequence, a tensor of them, none negative; and `heads`, in the place of
      `Hq`, how many query heads the whole has.
    - (A9) In destination style, results have the types of `outs`, whose
      contents are not read.

    #### Regions

    - (A10) The score region gets `(s, b, h, p, j)` and its captures, and yields
      the new score, in natural-log units. It sees the true scaled score. The
      mask region gets `(b, h, p, j)` and its captures, and yields i1, true to
      attend. The score is changed first, the mask applied after.
    - (A11) Captured tensors and scalars are operands of the op and arguments of
      the region, which is isolated. In it, every op has only scalar results,
      no side effects, and comes from `arith`, `math` or `index`, or is
      `tensor.extract` (`memref.load` on buffers).
    - (A12) A region's value counts only where the position is kept. There, a
      value that depends on a load outside its tensor, or on an integer division
      that has no result, is an error at run time, whose message names the
      position. Elsewhere it is harmless; a `false and` it, or a select that does
      not choose it, makes it harmless too, and simplification may remove the
      operation, and the error with it.
      Flags that promise something of values, as `overflow<nsw>` and
      `fastmath<nnan>` do, have no effect.

    #### Corners

    - (A13) A position that is not kept, or whose score is -inf, contributes
      nothing, whatever its query, key or value hold: NaN and infinity do not
      leak out of masked places. A visible NaN does reach the output.
    - (A14) A row whose scores are all -inf, or that sees no key at all, has
      output 0 and log-sum-exp -inf; with a sink, output 0 and the sink
      as log-sum-exp.
    - (A15) The result is the same, bit for bit, from call to call and for every
      number of threads. Another `attn.plan`, also one that tuning has found, may
      sum in another order. Of one that is `batch_invariant`, what a query gets is
      the same in whatever number queries come, while all that they sum is finite.
    - (A16) Beside A13 and A14, a row with an infinite score or sink is what the
      formula makes of it. Where it sees NaN, as a score or sink, output and log-sum-exp
      are NaN. Else, where it sees a score of +inf, or several, the log-sum-exp is
      +inf and the output NaN, inf / inf. Else, with a sink of +inf, the
      log-sum-exp is +inf, and weights are 0: so is the output, of finite values.
      A sink of -inf is none. (Of a row that sees no score, as in A14, the
      output may be NaN if the sink is.)

    #### Spellings

    The common scores and masks have names, which expand to the regions while
    parsing; printing shows the region. Several scores apply in the written
    order; several masks are ANDed.

    | spelling | meaning |
    |---|---|
    | `score softcap(c)` | `c * tanh(s / c)`; `c` a positive number, or a scalar operand: an error at run time if it is not positive and finite |
    | `score alibi(%slopes : type)` | `s - slopes[h] * abs(p - j)` |
    | `score bias(%t : type)` | `s + t[b, h, p, j]` |
    | `score bias rows(%t : type)` | `s + t[b, h, i, j]` |
    | `mask causal` | `j <= p` |
    | `mask sliding_window(L, R)` | `p - L <= j <= p + R`; -1 is unbounded, else at most 2^61 |
    | `mask prefix_lm(%n : type)` | `j < n[b]` or `j <= p` |
    | `mask key_padding(%len : type)` | `j < len[b]`, or `len[b, j]` if i1 |
    | `mask document(%q, %k : types)` | `q[b, p] == k[b, j]` |
    | `mask boolean(%t : type)` | `t[b, h, p, j]`, true to attend |
    | `mask boolean rows(%t : type)` | `t[b, h, i, j]`, true to attend |

    `bias` and `boolean` tensors broadcast: missing leading dimensions, and
    dimensions of static size 1, are not indexed. They are indexed by the
    position `p = i + offset[b]` of a query or, with `rows`, by its row `i`, as in
    PyTorch and ONNX: for a tensor of the call's queries rather than of all
    positions. The two differ where there is an offset. In a packed batch, `b` is
    the sequence and rows count within it (A7). Rows are not known from
    `bottom_right` of lengths that are dynamic, but of a packed batch.

    Tensors may be larger than what is read of them. A static size that is smaller
    than that of the batch, the query heads, the keys, or of the queries where
    they are counted from 0, is an error. A region is written out as

    ```mlir
    score(%s, %b, %h, %p, %j) captures(%t = %table : tensor<8xf32>) {
      %x = tensor.extract %t[%h] : tensor<8xf32>
      %y = arith.mulf %s, %x : f32
      attn.yield %y : f32
    }
    mask(%b, %h, %p, %j) {
      %keep = arith.cmpi ule, %j, %p : index
      attn.yield %keep : i1
    }
    ```

    and may stand in a list with names: `mask causal, (%b, %h, %p, %j) {...}`.
  }];

  let arguments = (ins
    AnyType:$query, AnyType:$key, AnyType:$value, Variadic<AnyType>:$outs,
    Optional<AnyType>:$scale, Optional<AnyType>:$offset,
    Optional<AnyType>:$sink, Optional<AnyType>:$cumulative_query,
    Optional<AnyType>:$cumulative_key, Optional<AnyType>:$counts,
    Optional<I64>:$dropout_seed, Optional<I32>:$dropout_call,
    Optional<Index>:$dropout_line, Optional<AnyType>:$dropout_key,
    Variadic<AnyType>:$score_captures, Variadic<AnyType>:$mask_captures,
    OptionalAttr<F64Attr>:$static_scale, UnitAttr:$bottom_right,
    OptionalAttr<F64Attr>:$dropout_rate,
    OptionalAttr<I64Attr>:$dropout_heads);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);

  let builders = [
    // Plain attention; the rest is set through the accessors, the regions
    // through `addScore` and `addMask`.
    OpBuilder<(ins "Value":$query, "Value":$key, "Value":$value,
                   "ValueRange":$outs)>
  ];

  let extraClassDeclaration = !strconcat(attentionDeclaration, sequencesDeclaration, [{
    /// Whether a size is 0 by type. Upstream has slices of such a dimension
    /// invalid.
    bool isKnownEmpty() {
      return llvm::is_contained(getQueryType().getShape(), 0) ||
             llvm::is_contained(getKeyType().getShape(), 0);
    }
    static FloatType getAccumulationType(FloatType elementType);

    /// Bound of the magnitude of offsets and window sizes, A5.
    static constexpr int64_t kMaxOffset = int64_t(1) << 61;

    /// Makes the `b` or `h` of both regions count from `first`, a capture, and so
    /// the line of dropout: for an op, while it has all heads, that becomes one on
    /// a slice of `size` batch entries or heads.
    enum class RegionIndex { Batch, Head };
    void shiftRegionIndex(OpBuilder &builder, RegionIndex index,
                          OpFoldResult first, OpFoldResult size);
  }]);

  let extraClassDefinition = !strconcat(attentionDefinition, sequencesDefinition);

  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [
    Pure, Terminator,
    ParentOneOf<["::mlir::attn::AttentionBackwardOp",
                 "::mlir::attn::AttentionOp",
                 "::mlir::attn::AttentionTangentOp",
                 "::mlir::attn::MultiHeadAttentionOp",
                 "::mlir::attn::MultiTokenAttentionBackwardOp",
                 "::mlir::attn::MultiTokenAttentionOp",
                 "::mlir::attn::OnlineAttentionOp",
                 "::mlir::attn::OnlineSoftmaxOp"]>]> {
  let summary = "ends a score or mask region with its value";
  let description = [{
    Yields the score, or i1 whether to attend, of one position. `at` are `b`,
    `h`, `p` and `j` as messages name them, if the region's arguments are no
    longer those that it was written for: heads are folded, or the op is a tile.

    ```mlir
    attn.yield %keep : i1
    ```
  }];
  let arguments = (ins AnyType:$value, Variadic<Index>:$position);
  let assemblyFormat = [{
    $value (`at` `(` $position^ `)`)? attr-dict `:` type($value)
  }];
  let builders = [OpBuilder<(ins "Value":$value), [{
    build($_builder, $_state, value, ValueRange());
  }]>];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_ATTNOPS_TD
