//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Tangents of attention.
//

#ifndef ATTN_DIALECT_ATTENTION_TANGENTOPS_TD
#define ATTN_DIALECT_ATTENTION_TANGENTOPS_TD

include "dialect/Attention/AttentionDeclaration.td"
include "dialect/AttnDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_AttentionTangentOp : Attn_Op<"attention_tangent", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    DestinationStyleOpInterface, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  let summary = "tangents of an attention";
  let description = [{
    How fast the output of an `attn.attention`, and its log-sum-exp, move while
    what it is of moves: its derivative along the tangents `dq` of the query, `dk`
    of the key, `dv` of the value, `dz` of the sink and `dc` of captures, a product
    of the Jacobian and a vector. For each batch `b`, query head `h`, query row `i`
    at position `p` and key column `j` that is kept:

    ```
    t  = scale * dot(query[b,h,i,:], key[b,h/G,j,:])
    dt = scale * (dot(dq[b,h,i,:], key[b,h/G,j,:]) + dot(query[b,h,i,:], dk[b,h/G,j,:]))
    P  = exp(score(t, b, h, p, j) - log_sum_exp[b,h,i])
    dS = dt * (the derivative of score with respect to t)
       + sum over elements of captures that score loads of the element's tangent
         * (the derivative of score with respect to it)
    mu = sum over j of P * dS [+ exp(sink[h] - log_sum_exp[b,h,i]) * dz[h]]

    output_tangent[b,h,i,:]    = sum over j of keep * P * (dS * value[b,h/G,j,:] + dv[b,h/G,j,:])
                               - mu * output[b,h,i,:]     // keep of the dropout: 0 or 1/(1-rate)
    log_sum_exp_tangent[b,h,i] = mu
    ```

    Probabilities are computed again from the log-sum-exp, as by
    `attn.attention_backward`, so that nothing of the size `Sq x Skv` is kept.

    ```mlir
    %do = attn.attention_tangent
        ins(%query, %key, %value, %output, %lse
            : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>,
              tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
        outs(%init : tensor<?x8x?x64xf32>)
        tangents(query = %dq, value = %dv : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>)
        mask causal
    ```

    The syntax is that of `attn.attention`, with more operands and one clause more:

    ```
    attention-tangent ::= `attn.attention_tangent`
                          `ins` `(` query `,` key `,` value `,` output `,` log-sum-exp
                          `:` types `)`
                          `outs` `(` output-tangent (`,` log-sum-exp-tangent)? `:` types `)`
                          clause* attr-dict
    clause ::= ... | `tangents` `(` of `=` operand (`,` of `=` operand)* `:` types `)`
    of     ::= `query` | `key` | `value` | `sink` | number
    ```

    - (J1) `query`, `key`, `value`, `scale`, `offset`, `sink`, `sequences`,
      `counts`, `dropout`, `score` and `mask` are those of the `attn.attention` that
      is differentiated, by its rules A1 to A12, `output` and `log_sum_exp` its
      results. `outs` holds the tangent of the output and, if a second one is given,
      that of the log-sum-exp, of their types.
    - (J2) `tangents` names what moves, in this order: `query`, `key`, `value`,
      `sink`, and the numbers of captures of the score, ascending. A tangent has the
      type of what it is of, floats or a float; those that are not named are zeros.
      Integers have no tangent.
    - (J3) The score is differentiated by rule G3.
    - (J4) A position that is not kept, or whose score is -inf, adds nothing,
      whatever its query, key or value, or their tangents, hold. A row whose
      log-sum-exp is -inf, or that belongs to no sequence (A7), has tangents 0.
    - (J5) Sums are accumulated in f32, for f64 in f64, and rounded once. Weights
      and what is computed of them are rounded to bf16 before they are multiplied,
      where inputs are of bf16 and an instruction takes no other factors.
    - (J6) The result is the same, bit for bit, from call to call and for every
      number of threads.
    - (J7) In destination style, results have the types of `outs`, whose contents
      are not read.
  }];

  let arguments = (ins
    AnyType:$query, AnyType:$key, AnyType:$value, AnyType:$output,
    AnyType:$log_sum_exp, Variadic<AnyType>:$outs,
    Optional<AnyType>:$scale, Optional<AnyType>:$offset,
    Optional<AnyType>:$sink, Optional<AnyType>:$cumulative_query,
    Optional<AnyType>:$cumulative_key, Optional<AnyType>:$counts,
    Optional<I64>:$dropout_seed, Optional<I32>:$dropout_call,
    Optional<Index>:$dropout_line, Optional<AnyType>:$dropout_key,
    Variadic<AnyType>:$score_captures, Variadic<AnyType>:$mask_captures,
    Optional<AnyType>:$query_tangent, Optional<AnyType>:$key_tangent,
    Optional<AnyType>:$value_tangent, Optional<AnyType>:$sink_tangent,
    Variadic<AnyType>:$capture_tangents,
    OptionalAttr<F64Attr>:$static_scale, UnitAttr:$bottom_right,
    OptionalAttr<F64Attr>:$dropout_rate,
    OptionalAttr<I64Attr>:$dropout_heads,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$of_captures);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);

  let builders = [
    // The tangents of `attention`, whose clauses and regions it gets. Tangents
    // may be null; those of captures are of the ones with these numbers.
    OpBuilder<(ins "AttentionOp":$attention, "Value":$output,
                   "Value":$log_sum_exp, "ValueRange":$outs,
                   "Value":$query_tangent, "Value":$key_tangent,
                   "Value":$value_tangent, "Value":$sink_tangent,
                   "ValueRange":$capture_tangents,
                   "ArrayRef<int64_t>":$of_captures)>
  ];

  let extraClassDeclaration = !strconcat(attentionOperandsDeclaration, sequencesDeclaration, [{
    Value getOutputTangent() { return getOuts()[0]; }
    /// Null if it is not asked for.
    Value getLogSumExpTangent() {
      return getOuts().size() > 1 ? getOuts()[1] : Value();
    }
    /// Tangents with the names of what they are of, and that itself.
    struct Tangent {
      Value tangent, of;
      std::string name;
    };
    SmallVector<Tangent> getTangents();
  }]);

  let extraClassDefinition = !strconcat(attentionDefinition, sequencesDefinition);

  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // ATTN_DIALECT_ATTENTION_TANGENTOPS_TD
