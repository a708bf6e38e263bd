//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Gradients of multi-token attention.
//

#ifndef ATTN_DIALECT_ATTENTION_MULTITOKENBACKWARDOPS_TD
#define ATTN_DIALECT_ATTENTION_MULTITOKENBACKWARDOPS_TD

include "dialect/Attention/AttentionDeclaration.td"
include "dialect/AttnDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_MultiTokenAttentionBackwardOp
    : Attn_Op<"multi_token_attention_backward", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    DestinationStyleOpInterface, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  let summary = "gradients of multi-token attention";
  let description = [{
    The gradients of a number `L` that depends on the output of an
    `attn.multi_token_attention`, and on its log-sum-exp if `log_sum_exp_gradient`
    is given, with respect to what the attention is of. In the notation of that op,
    with `dO` and `dLSE` the gradients of `L` with respect to its results, `X'` for
    the gradient with respect to `X`, and `r = i - (Sq - So)` the row of the
    output, if there is one:

    ```
    A'    = dropout(dot(dO[b,h,r,:], value[b,h/G,j,:]))     // of the last So rows
    P'    = keep ? transposed stages_after(keep ? A' : 0) : 0
    D     = (sum over j of P * P') - dLSE[b,h,r]
    s'    = P * (P' - D)
    s0'   = keep ? transposed stages_before(s') : 0         // of the score
    t'    = s0' * (the derivative of score with respect to t = scale * dot(query, key))

    query_gradient[b,h,i,:] = scale * sum over j of t' * key[b,h/G,j,:]
    key_gradient[b,g,j,:]   = scale * sum over h of group g, i of t' * query[b,h,i,:]
    value_gradient[b,g,j,:] = sum over h of group g, r of A * dO[b,h,r,:]
    sink_gradient[h]        = - sum over b, i of exp(sink[h] - lse[b,h,i]) * D
    gradient of a capture c = sum over all positions of s0' * (the derivative of score
                              with respect to the elements of c that it loads)
    ```

    where `A` are the weights that the attention multiplies values with. With `new`
    and `old` what a stage makes and what it reads, which is hidden after each
    stage, transposed it is

    ```
    convolution:  old'[h,i,j] = sum over a < cq, c < ck of
                      kernel[h,a,c] * new'[h, i + (cq-1) - a, j + (ck-1)/2 - c]
                  kernel'[h,a,c] = sum over b, i, j of
                      new'[h,i,j] * old[h, i - (cq-1) + a, j - (ck-1)/2 + c]
    with heads:   old'[h0+e,i,j] = sum over o < ch, a < cq, c < ck of
                      kernel[h0+o,e,a,c] * new'[h0+o, i + (cq-1) - a, j + (ck-1)/2 - c]
                  kernel'[h,e,a,c] = sum over b, i, j of
                      new'[h,i,j] * old[h0 + e, i - (cq-1) + a, j - (ck-1)/2 + c]
    mixing:       old'[h0+e,i,j] = sum over o < ch of
                      weights[h/ch, e, o] * new'[h0+o, i, j]
                  weights'[g,e,o] = sum over b, i, j of
                      new'[g*ch+o,i,j] * old[g*ch+e,i,j]
    ```

    Scores and probabilities are computed again, of some rows at a time, so that
    nothing of the size `Sq x Skv` is kept.

    ```mlir
    %dq, %dk, %dv, %dkernel, %dweights = attn.multi_token_attention_backward
        ins(%query, %key, %value, %output_gradient : tensor<?x8x?x64xf32>,
            tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x8x?x64xf32>)
        outs(%q, %k, %v, %c, %w : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>,
             tensor<?x2x?x64xf32>, tensor<8x6x11xf32>, tensor<4x2x2xf32>)
        convolve_before(%kernel : tensor<8x6x11xf32>)
        mix_after(%weights : tensor<4x2x2xf32>)
        mask causal
    ```

    The syntax is that of `attn.multi_token_attention`, with more operands and one
    clause more:

    ```
    multi-token-attention-backward ::=
        `attn.multi_token_attention_backward`
        `ins` `(` query `,` key `,` value `,` output-gradient
        (`,` log-sum-exp-gradient)? `:` types `)`
        `outs` `(` gradients `:` types `)` clause* attr-dict
    clause ::= ... | `gradients` `(` (`sink` | number) (`,` number)* `)`
    ```

    - (B1) `query`, `key`, `value`, `scale`, `offset`, `sink`, the stages, `dropout`,
      `score` and `mask` are those of the `attn.multi_token_attention` that is
      differentiated, by its rules T1 to T8. `output_gradient` has the type of its
      output, and so says how many rows that has (T2); `log_sum_exp_gradient`, of
      zeros when absent, the type of its log-sum-exp.
    - (B2) `outs` holds the gradients of query, key and value, then that of each
      stage that is there, in the order `convolve_before`, `mix_before`,
      `convolve_after`, `mix_after`, all of the types of what they are of, and
      then those that `gradients` names, by rule G2.
    - (B3) The score is differentiated by rule G3.
    - (B4) A position that is hidden (T5) adds nothing to any gradient, whatever its
      query, key, value or gradient hold. A row whose scores are all hidden adds
      nothing but, with a sink, its `log_sum_exp_gradient` to that of the sink. A
      row whose log-sum-exp is NaN or +inf gives what the formulas make of it. The
      gradient of a query of the past that no convolution reaches is 0.
    - (B5) Sums are accumulated in f32, for f64 in f64, and rounded once.
    - (B6) The result is the same, bit for bit, from call to call and for every
      number of threads.
    - (B7) In destination style, results have the types of `outs`, whose contents
      are not read. Memrefs are what bufferization makes of tensors; pipelines
      lower the op on tensors alone.
  }];

  let arguments = (ins
    AnyType:$query, AnyType:$key, AnyType:$value, AnyType:$output_gradient,
    Optional<AnyType>:$log_sum_exp_gradient, Variadic<AnyType>:$outs,
    Optional<AnyType>:$scale, Optional<AnyType>:$offset,
    Optional<AnyType>:$sink, Optional<AnyType>:$kernel_before,
    Optional<AnyType>:$mixing_before, Optional<AnyType>:$kernel_after,
    Optional<AnyType>:$mixing_after, Optional<I64>:$dropout_seed,
    Optional<I32>:$dropout_call, Variadic<AnyType>:$score_captures,
    Variadic<AnyType>:$mask_captures,
    OptionalAttr<F64Attr>:$static_scale, UnitAttr:$bottom_right,
    OptionalAttr<F64Attr>:$dropout_rate, UnitAttr:$of_sink,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$of_captures);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);

  let builders = [
    // The gradients of `attention`, whose clauses and regions it gets. `outs`
    // holds those that are named.
    OpBuilder<(ins "MultiTokenAttentionOp":$attention, "Value":$output_gradient,
                   "Value":$log_sum_exp_gradient, "ValueRange":$outs,
                   "bool":$of_sink, "ArrayRef<int64_t>":$of_captures)>
  ];

  let extraClassDeclaration = attentionOperandsDeclaration # [{
    using Stages = MultiTokenStages;
    Stages getStagesBefore() { return {getKernelBefore(), getMixingBefore()}; }
    Stages getStagesAfter() { return {getKernelAfter(), getMixingAfter()}; }

    // What has the types of the attention's results.
    Value getOutput() { return getOutputGradient(); }
    Value getLogSumExp() { return getLogSumExpGradient(); }

    /// The operands that have a gradient, in the order of `outs`, with their
    /// names: captures of the score are "capture n".
    SmallVector<std::pair<Value, std::string>> getDifferentiated();
    /// The number of the sink's gradient, and of the first one of a capture.
    unsigned getSinkNumber();
    unsigned getFirstCaptureNumber() { return getSinkNumber() + getOfSink(); }

    /// The attention that is differentiated, on tensors, with new destinations.
    MultiTokenAttentionOp createAttention(OpBuilder &builder);
  }];

  let extraClassDefinition = attentionDefinition;

  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // ATTN_DIALECT_ATTENTION_MULTITOKENBACKWARDOPS_TD
