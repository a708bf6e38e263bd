//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_MULTITOKENOPS_TD
#define ATTN_DIALECT_ATTENTION_MULTITOKENOPS_TD

include "dialect/Attention/AttentionDeclaration.td"
include "dialect/AttnDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_MultiTokenAttentionOp : Attn_Op<"multi_token_attention", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    DestinationStyleOpInterface, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  let summary = "attention whose weights depend on neighbouring tokens and heads";
  let description = [{
    Attention whose scores, or probabilities, are convolved over neighbouring
    queries and keys and mixed over heads (Golovneva et al., "Multi-Token
    Attention", arXiv:2504.00927). For each batch `b`, query head `h`, query row
    `i` at position `p = i + offset[b]`, and key column `j`:

    ```
    s    = score(scale * dot(query[b,h,i,:], key[b,h/G,j,:]), b, h, p, j)
    keep = mask(b, h, p, j) and s > -inf
    s    = keep ? stages_before(keep ? s : 0) : -inf    // after each stage
    P    = softmax over j of s                          // the sink joins the sum
    P    = keep ? stages_after(P) : 0                   // after each stage
    P    = dropout(P)                                   // optional
    output[b,h,r,:] = sum over j of P * value[b,h/G,j,:],   i = r + Sq - So
    lse[b,h,r]      = log([exp(sink[h]) +] sum over the kept j of exp(s))
    ```

    The stages before the softmax, each of them optional, are a convolution and
    then a mixing of heads; so are those after it:

    ```
    convolution:  new[h,i,j] = sum over a < cq, c < ck of
                      kernel[h,a,c] * old[h, i - (cq-1) + a, j - (ck-1)/2 + c]
    with heads:   new[h,i,j] = sum over e < ch, a < cq, c < ck of
                      kernel[h,e,a,c] * old[h0 + e, i - (cq-1) + a, j - (ck-1)/2 + c]
    mixing:       new[h,i,j] = sum over e < ch of
                      weights[h/ch, e, h mod ch] * old[h0 + e, i, j]
    ```

    where `h0 = h - h mod ch` is the first head of the group of `h`. The last
    row of a kernel is that of the query itself, and its middle column that of
    the key itself.

    Example with the placement of the paper, a convolution of 6 queries by 11
    keys before the softmax and mixing of pairs of heads after it:

    ```mlir
    %output = attn.multi_token_attention
        ins(%query, %key, %value : tensor<?x8x?x64xf32>,
            tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
        outs(%init : tensor<?x8x?x64xf32>)
        convolve_before(%kernel : tensor<8x6x11xf32>)
        mix_after(%weights : tensor<4x2x2xf32>)
        mask causal
    ```

    The syntax is that of `attn.attention`, but for `sequences`, with four clauses
    for the stages:

    ```
    clause ::= ...
             | (`convolve_before` | `mix_before` | `convolve_after` | `mix_after`)
               `(` operand `:` type `)`
    ```

    - (T1) `query`, `key`, `value`, `outs`, `scale`, `offset`, `sink`, `dropout`,
      `score` and `mask` are those of `attn.attention`, by its rules A1 to A6 and
      A8 to A13, but for what follows here. The sink is `(Hq)`. There is no
      `sequences`: a packed batch is not supported.
    - (T2) The output has `So` rows for each head, at most the `Sq` of the query, and
      the log-sum-exp has as many: those of the last queries. The queries before
      them, the past, count in convolutions alone. So a decoding step passes the
      last queries of the steps before it together with the new ones. `offset` is
      the position of row 0 of `query`, which is the first of the past if there
      is one; `bottom_right` is `Skv - Sq`. Rows of the past that no convolution
      reaches are not read, and the mask is not asked for them.
    - (T3) `convolve_before` and `convolve_after` give a kernel `(Hq, cq, ck)`,
      or `(Hq, ch, cq, ck)` with heads; `mix_before` and `mix_after` give weights
      `(Hq / ch, ch, ch)`, indexed by group, head that is read, head that is
      written. `ch` divides `Hq`; `ck` is odd. A kernel with heads excludes the
      mixing on its side. All their sizes are static and at least 1, their
      element types f64, f32, f16 or bf16, no wider than the accumulation type.
    - (T4) Rows before the first of the query, and columns beyond the first and
      last key, count as 0 in a convolution. It sees no later query than its own.
    - (T5) A position that is not kept, or whose score is -inf, is hidden: it
      counts as 0 in every stage, and has probability 0 after each stage of its
      own row, whatever its query, key or value hold. So nothing of the future
      passes a causal mask. The mask is that of the head that is written.
    - (T6) Probabilities are not normalised again after the stages behind the
      softmax. The log-sum-exp is that of the softmax.
    - (T7) A row whose scores are all hidden has output 0 and log-sum-exp -inf;
      with a sink, output 0 and the sink as log-sum-exp. Rule A16 of
      `attn.attention` holds of the scores that the softmax gets.
    - (T8) A visible NaN or infinity, of a score or of a kernel, reaches all
      positions whose sums it is in. Whether it does so through a factor of 0 is
      not specified, other than that hidden positions hold neither.
    - (T9) A kernel of 1 at the last row's middle and 0 elsewhere, and weights of 1
      where the head that is read is the head that is written, change nothing.
      Where they are constants, canonicalization removes them, and makes of an op
      without stages an `attn.attention` of the last `So` queries.
    - (T10) The result is the same, bit for bit, from call to call and for every
      number of threads.
    - (T11) In destination style, results have the types of `outs`, whose contents
      are not read. Memrefs are what bufferization makes of tensors; pipelines
      lower the op on tensors alone.
  }];

  let arguments = (ins
    AnyType:$query, AnyType:$key, AnyType:$value, Variadic<AnyType>:$outs,
    Optional<AnyType>:$scale, Optional<AnyType>:$offset,
    Optional<AnyType>:$sink, Optional<AnyType>:$kernel_before,
    Optional<AnyType>:$mixing_before, Optional<AnyType>:$kernel_after,
    Optional<AnyType>:$mixing_after, Optional<I64>:$dropout_seed,
    Optional<I32>:$dropout_call, Variadic<AnyType>:$score_captures,
    Variadic<AnyType>:$mask_captures,
    OptionalAttr<F64Attr>:$static_scale, UnitAttr:$bottom_right,
    OptionalAttr<F64Attr>:$dropout_rate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);

  let builders = [
    // Without stages; the rest is set through the accessors.
    OpBuilder<(ins "Value":$query, "Value":$key, "Value":$value,
                   "ValueRange":$outs)>
  ];

  let extraClassDeclaration = attentionDeclaration # [{
    using Stages = MultiTokenStages;
    Stages getStagesBefore() { return {getKernelBefore(), getMixingBefore()}; }
    Stages getStagesAfter() { return {getKernelAfter(), getMixingAfter()}; }
    /// How many rows of the query before its own a row of the output depends on,
    /// through the convolutions of both sides.
    int64_t getHalo() {
      return getStagesBefore().getQueryHalo() + getStagesAfter().getQueryHalo();
    }
  }];

  let extraClassDefinition = attentionDefinition;

  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

#endif // ATTN_DIALECT_ATTENTION_MULTITOKENOPS_TD
