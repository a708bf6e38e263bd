//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A whole layer of attention.
//

#ifndef ATTN_DIALECT_LAYER_MULTIHEADATTENTIONOP_TD
#define ATTN_DIALECT_LAYER_MULTIHEADATTENTIONOP_TD

include "dialect/AttnDialect.td"
include "dialect/AttnEnums.td"
include "dialect/Shared/DestinationStyle.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_MultiHeadAttentionOp : Attn_Op<"multi_head_attention", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock, NoMemoryEffect,
    DestinationStyleOpInterface, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "a layer of multi-head attention";
  let description = [{
    The layer of Vaswani et al., "Attention Is All You Need" (arXiv:1706.03762,
    section 3.2.2), with what later models have added:

    ```
    q, k, v = input * weights                 // into heads
    q, k    = rope(head_norm(q, k))           // both optional
    k, v    = append to the cache, and read   // optional
    o       = attention(q, k, v)              // score, mask, sink, dropout
    o       = head_norm(o)                    // optional
    o       = o * sigmoid(input * gate)       // optional
    output  = dropout(o * output weight)
    ```

    Nine query heads on three key/value heads of 64, without a cache:

    ```mlir
    %y = attn.multi_head_attention heads(9, 3) sizes(64, 64)
        ins(%x : tensor<?x?x576xf32>) outs(%init : tensor<?x?x576xf32>)
        qkv(%weight : tensor<576x960xf32>)
        output(%output_weight : tensor<576x576xf32>)
        mask causal
    ```

    The same for new tokens of sequences whose keys and values are cached:

    ```mlir
    %y, %keys, %values = attn.multi_head_attention heads(9, 3) sizes(64, 64)
        ins(%x : tensor<?x?x576xf32>)
        outs(%init, %k, %v : tensor<?x?x576xf32>, tensor<?x3x?x64xf32>,
             tensor<?x3x?x64xf32>)
        qkv(%weight : tensor<576x960xbf16>)
        output(%output_weight : tensor<576x576xbf16>)
        rope half_split(%cosine, %sine : tensor<4096x32xf32>,
                        tensor<4096x32xf32>)
        lengths(%stored : tensor<?xi32>) mask causal
    ```

    Syntax; `item` is that of `attn.attention`:

    ```
    layer  ::= `attn.multi_head_attention` `heads` `(` number `,` number `)`
               `sizes` `(` number `,` number `)` `ins` `(` input `:` type `)`
               clause* attr-dict
    clause ::= (`source` | `output_norm` | `positions` | `offset` | `lengths`
               | `counts` | `table` | `sink`) `(` operand `:` type `)`
             | (`memory` | `outs` | `qkv` | `query` | `key` | `value` | `output`
               | `norms` | `sequences`) `(` operands `:` types `)`
             | `gate` (`heads` | `elements`) `(` operands `:` types `)`
             | `rope` (`half_split` | `interleaved`) `(` operands `:` types `)`
             | (`layer` | `epsilon` | `scale`) `(` number `)`
             | `ring`
             | `size` `(` operand `)`
             | `dropout` `(` rate `,` rate `,` seed `,` call `)`
             | (`score` | `mask`) item (`,` item)*
    ```

    Clauses may stand in any order, each at most once; `outs` and `output` have to
    be there.

    The op works on tensors. `attn-decompose-layer` rewrites it to the ops that it
    is made of, whose rules its operands follow; what they check at run time is
    checked before any of them writes anything.

    - (L1) `input` is `(B, S, M)` of f64, f32, f16 or bf16, and everything between
      the ops is of that type, `T`. `heads` are `Hq` and `Hkv`, `sizes` are `Dk`
      and `Dv`; all are at least 1, and `Hq` is a multiple of `Hkv`. `M` and
      `Hq * Dk` need not agree. The output, the first of `outs`, is
      `(B, S, N)` of `T`.
    - (L2) A weight is that of an `attn.projection` (P3, P4). Behind it stand its
      scales if it is of i8, and its bias if it has one (P5). Either `qkv` is
      fused, with the columns of queries, keys and values, or `query`, `key` and
      `value` are separate. `output` is `(Hq * Dv, N)`.
    - (L3) Cross attention has separate weights and a `source`, `(B, Skv, M')` of
      `T`, which keys and values are projected from; or only `query` and a
      `memory`, which are finished keys `(B, Hkv, Skv, Dk)` and values
      `(B, Hkv, Skv, Dv)` of `T`: computed once, perhaps read from a cache of any
      kind, and used by every step.
    - (L4) `norms` are the weights of an `attn.head_norm` of the queries and one of
      the keys; with a `memory` of the queries only. `output_norm` is the weight of
      one of the attention's output, with the scale of a `layer` if that is given
      (N4). All have the same `epsilon`.
    - (L5) `rope` are the tables of an `attn.rope` of queries and keys, which come
      from the `input`. Their positions are `positions`, `(B, S)`; without them
      they count from `lengths` or from `offset`, which is that of the attention
      (A5), or from 0. Every token's have to be in the tables, also those of tokens
      that `counts` leaves out.
    - (L6) With `lengths`, `(B)` of i32 or i64, the new keys and values are appended
      to caches that follow the output in `outs`, keys first, and the scales of
      both if they are of i8. The attention reads the caches with them. `counts`,
      `ring` and `table` are those of `attn.cache_append`. It sees `size`
      positions, the capacity when absent, which it may not be of a ring. Positions
      behind the last token of a sequence are hidden, whatever the mask keeps; a
      ring has to hold all others that it keeps (C12). Output rows of tokens that
      `counts` leaves out have no meaning. Only keys and values from the `input`
      are cached.
    - (L7) `gate heads` projects the `input` to one number for each head, `(M, Hq)`,
      `gate elements` to one for each element of heads, `(M, Hq * Dv)`, whose
      sigmoid the output of the attention is multiplied by (Qiu et al., "Gated
      Attention for Large Language Models", arXiv:2505.06708).
    - (L8) `scale`, `sink`, `score` and `mask` are those of the attention, and
      `sequences` are its two cumulative lengths of a packed batch (A7). A `scale`
      is a constant, a `sink` is `(Hq)`. A packed batch has no `lengths`, and
      `positions` if it has a `rope`.
    - (L9) `dropout(probabilities, output, seed, call)` has the constant rates of
      the dropout of probabilities (A8) and of the output (D3), each in `[0, 1)`.
      Inference has none.
    - (L10) In destination style, results have the types of `outs`. The contents of
      the output are not read.
  }];
  let arguments = (ins
    AnyRankedTensor:$input, Optional<AnyRankedTensor>:$source,
    Variadic<AnyRankedTensor>:$memory, Variadic<AnyRankedTensor>:$outs,
    Variadic<AnyRankedTensor>:$qkv, Variadic<AnyRankedTensor>:$query,
    Variadic<AnyRankedTensor>:$key, Variadic<AnyRankedTensor>:$value,
    Variadic<AnyRankedTensor>:$output, Variadic<AnyRankedTensor>:$gate,
    Variadic<AnyRankedTensor>:$norms, Optional<AnyRankedTensor>:$output_norm,
    Variadic<AnyRankedTensor>:$rope, Optional<AnyRankedTensor>:$positions,
    Variadic<AnyRankedTensor>:$sequences,
    Optional<AnyType>:$offset, Optional<AnyRankedTensor>:$lengths,
    Optional<AnyRankedTensor>:$counts, Optional<AnyRankedTensor>:$table,
    Optional<Index>:$size, Optional<AnyRankedTensor>:$sink,
    Optional<I64>:$dropout_seed, Optional<I32>:$dropout_call,
    Variadic<AnyType>:$score_captures, Variadic<AnyType>:$mask_captures,
    I64Attr:$query_heads, I64Attr:$key_value_heads, I64Attr:$key_size,
    I64Attr:$value_size, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon,
    OptionalAttr<I64Attr>:$layer, OptionalAttr<Attn_GateKind>:$gate_kind,
    OptionalAttr<Attn_RopePairing>:$pairing, UnitAttr:$ring,
    OptionalAttr<F64Attr>:$static_scale,
    OptionalAttr<F64Attr>:$probability_rate, OptionalAttr<F64Attr>:$output_rate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let extraClassDeclaration = [{
    /// The weight, scales and bias that these operands are, by the name of their
    /// clause (L2).
    static ProjectionMap getMap(OperandRange operands, StringRef name);
    struct Map {
      OperandRange operands;
      StringRef name;
      int64_t features, columns;
    };
    /// All maps that there are.
    SmallVector<Map> getMaps();

    /// The cache of keys, 0, or of values, 1.
    CacheOperands getCache(unsigned number);

    FloatType getElementType() {
      return cast<FloatType>(
          cast<ShapedType>(getInput().getType()).getElementType());
    }
    bool isFused() { return !getQkv().empty(); }
    bool hasMemory() { return !getMemory().empty(); }
    bool hasCache() { return static_cast<bool>(getLengths()); }
    bool hasDropout() { return getProbabilityRate().has_value(); }
    bool isPacked() { return !getSequences().empty(); }
    /// Numbers of the gate for each head: 1 or Dv (L7).
    int64_t getGateSize() {
      return getGateKind() == GateKind::Elements ? int64_t(getValueSize()) : 1;
    }

    /// The pairs of sizes that must agree.
    SmallVector<SizeConstraint> getSizeConstraints();

    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let extraClassDefinition = !strconcat(inferDestinationTypes,
                                        reifyDestinations, [{
    void $cppClass::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
      nameRegionArguments(region, &region == &getMask(), setName);
    }
  }]);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // ATTN_DIALECT_LAYER_MULTIHEADATTENTIONOP_TD
