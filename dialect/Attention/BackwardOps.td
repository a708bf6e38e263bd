//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Gradients of attention.
//

#ifndef ATTN_DIALECT_ATTENTION_BACKWARDOPS_TD
#define ATTN_DIALECT_ATTENTION_BACKWARDOPS_TD

include "dialect/Attention/AttentionDeclaration.td"
include "dialect/AttnDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_AttentionBackwardOp : Attn_Op<"attention_backward", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    DestinationStyleOpInterface, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  let summary = "gradients of an attention";
  let description = [{
    The gradients of a number `L` that depends on the output of an
    `attn.attention`, and on its log-sum-exp if `log_sum_exp_gradient` is given,
    with respect to what the attention is of. From the gradients `dO` and `dLSE`
    of `L` with respect to these, for each batch `b`, query head `h`, query row
    `i` at position `p` and key column `j` that is kept:

    ```
    t      = scale * dot(query[b,h,i,:], key[b,h/G,j,:])
    P      = exp(score(t, b, h, p, j) - log_sum_exp[b,h,i])
    D      = dot(dO[b,h,i,:], output[b,h,i,:]) - dLSE[b,h,i]
    dP     = keep * dot(dO[b,h,i,:], value[b,h/G,j,:])   // keep of the dropout: 0 or 1/(1-rate)
    dS     = P * (dP - D)
    dT     = dS * (the derivative of score with respect to t)

    query_gradient[b,h,i,:] = scale * sum over j of dT * key[b,h/G,j,:]
    key_gradient[b,g,j,:]   = scale * sum over h of group g, i of dT * query[b,h,i,:]
    value_gradient[b,g,j,:] = sum over h of group g, i of keep * P * dO[b,h,i,:]
    sink_gradient[h]        = - sum over b, i of exp(sink[h] - log_sum_exp[b,h,i]) * D
    gradient of a capture c = sum over all positions of dS * (the derivative of score
                              with respect to the elements of c that it loads)
    ```

    Probabilities are computed again from the log-sum-exp, so that nothing of the
    size `Sq x Skv` is kept (Dao et al., "FlashAttention", arXiv:2205.14135,
    algorithm 4). `D` is what it is with a sink and with dropout too: the sum over
    `j` of `P * dP` is `dot(dO, output)` in either case.

    ```mlir
    %dq, %dk, %dv = attn.attention_backward
        ins(%query, %key, %value, %output, %lse, %output_gradient
            : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>,
              tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?x64xf32>)
        outs(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>,
                          tensor<?x2x?x64xf32>)
        mask causal
    ```

    The syntax is that of `attn.attention`, with more operands and one clause more:

    ```
    attention-backward ::= `attn.attention_backward`
                           `ins` `(` query `,` key `,` value `,` output `,` log-sum-exp `,`
                           output-gradient (`,` log-sum-exp-gradient)? `:` types `)`
                           `outs` `(` gradients `:` types `)` clause* attr-dict
    clause ::= ... | `gradients` `(` (`sink` | number) (`,` number)* `)`
    ```

    - (G1) `query`, `key`, `value`, `scale`, `offset`, `sink`, `sequences`,
      `counts`, `dropout`, `score` and `mask` are those of the `attn.attention` that
      is differentiated, by its rules A1 to A12, `output` and `log_sum_exp` its
      results. `output_gradient` has the type of `output`,
      `log_sum_exp_gradient`, of zeros when absent, that of `log_sum_exp`.
    - (G2) `outs` holds the gradients of query, key and value, of their types, and
      then those that `gradients` names: `sink`, of the sink's type, and the
      numbers of captures of the score, in ascending order. A capture is a tensor
      of floats, whose gradient has its type, or a float, whose gradient is a
      tensor of rank 0. Integers have no gradient. Gradients of sink and captures
      may also have elements of the type of sums, to which others can be added
      before they are rounded.
    - (G3) The score is differentiated operation by operation. Where a function has
      no derivative, it has PyTorch's: 0 for `absf` at 0, for `floor`, `ceil` and
      the like; one half for each of two equal operands of a maximum or a
      minimum. Of a `select` only the operand that is chosen counts, also where
      the other's derivative is not finite. Integers, comparisons and what is
      converted from them are constants; a float that is converted to another
      type of floats moves as it would without being rounded. An operation
      without a derivative is an error while compiling.
    - (G4) A position that is not kept, or whose score is -inf, adds nothing to any
      gradient, whatever its query, key, value or gradient hold. A row whose
      log-sum-exp is -inf, or that belongs to no sequence (A7), adds nothing, and
      the gradient of its query is 0. So is that of keys and values that no
      query sees. A row whose log-sum-exp is NaN or +inf (A16) gives what the
      formulas make of it: NaN to its query and to all keys that it sees, where its
      output is NaN.
    - (G5) Sums are accumulated in f32, for f64 in f64, and rounded once. Weights
      and what is computed of them are rounded to bf16 before they are multiplied,
      where inputs are of bf16 and an instruction takes no other factors.
    - (G6) The result is the same, bit for bit, from call to call and for every
      number of threads.
    - (G7) In destination style, results have the types of `outs`, whose contents
      are not read.
  }];

  let arguments = (ins
    AnyType:$query, AnyType:$key, AnyType:$value, AnyType:$output,
    AnyType:$log_sum_exp, AnyType:$output_gradient,
    Optional<AnyType>:$log_sum_exp_gradient, Variadic<AnyType>:$outs,
    Optional<AnyType>:$scale, Optional<AnyType>:$offset,
    Optional<AnyType>:$sink, Optional<AnyType>:$cumulative_query,
    Optional<AnyType>:$cumulative_key, Optional<AnyType>:$counts,
    Optional<I64>:$dropout_seed, Optional<I32>:$dropout_call,
    Optional<Index>:$dropout_line, Optional<AnyType>:$dropout_key,
    Variadic<AnyType>:$score_captures, Variadic<AnyType>:$mask_captures,
    OptionalAttr<F64Attr>:$static_scale, UnitAttr:$bottom_right,
    OptionalAttr<F64Attr>:$dropout_rate,
    OptionalAttr<I64Attr>:$dropout_heads, UnitAttr:$of_sink,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$of_captures);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);

  let builders = [
    // The gradients of `attention`, whose clauses and regions it gets. `outs`
    // holds those that are named.
    OpBuilder<(ins "AttentionOp":$attention, "Value":$output,
                   "Value":$log_sum_exp, "Value":$output_gradient,
                   "Value":$log_sum_exp_gradient, "ValueRange":$outs,
                   "bool":$of_sink, "ArrayRef<int64_t>":$of_captures)>
  ];

  let extraClassDeclaration = !strconcat(attentionOperandsDeclaration, sequencesDeclaration, [{
    Value getQueryGradient() { return getOuts()[0]; }
    Value getKeyGradient() { return getOuts()[1]; }
    Value getValueGradient() { return getOuts()[2]; }
    /// Null if it is not asked for.
    Value getSinkGradient() { return getOfSink() ? getOuts()[3] : Value(); }
    /// Those of the captures of `getOfCaptures`.
    OperandRange getCaptureGradients() {
      return getOuts().drop_front(getOfSink() ? 4 : 3);
    }
  }]);

  let extraClassDefinition = !strconcat(attentionDefinition, sequencesDefinition);

  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // ATTN_DIALECT_ATTENTION_BACKWARDOPS_TD
