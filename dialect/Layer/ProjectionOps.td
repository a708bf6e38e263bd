//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The linear maps of a layer.
//

#ifndef ATTN_DIALECT_LAYER_PROJECTIONOPS_TD
#define ATTN_DIALECT_LAYER_PROJECTIONOPS_TD

include "dialect/Layer/LayerOps.td"

def Attn_ProjectionOp : Attn_LayerOp<"projection", [AttrSizedOperandSegments]> {
  let summary = "linear map of tokens, into and out of heads";
  let description = [{
    Multiplies the features of every token by a matrix, as the projections of
    multi-head attention do (Vaswani et al., "Attention Is All You Need",
    arXiv:1706.03762, section 3.2.2) and every other linear map of a layer:

    ```
    output[b,s,n] = (sum over k of input[b,s,k] * weight[k,n]) * scales[n] + bias[n]
    ```

    A fused weight gives several results. Heads are read and written where they
    lie, without a transposition:

    ```mlir
    %q, %k, %v = attn.projection
        ins(%x, %weight : tensor<1x?x576xf32>, tensor<576x960xbf16>)
        outs(%q0, %k0, %v0 : tensor<1x9x?x64xf32>, tensor<1x3x?x64xf32>,
             tensor<1x3x?x64xf32>)
    %y = attn.projection
        ins(%o, %output_weight : tensor<1x9x?x64xf32>, tensor<576x576xbf16>)
        outs(%y0 : tensor<1x?x576xf32>)
    ```

    - (P1) `input` is `(B, S, K)`, or `(B, H, S, D)` out of heads, where `K = H * D`
      and feature `h * D + d` is element `d` of head `h`. Each of `outs` is
      `(B, S, N_i)`, or `(B, H_i, S, D_i)` into heads, where `N_i = H_i * D_i`.
      Features, heads and head sizes are static and at least 1.
    - (P2) The columns of the weight are those of the results, one after the
      other: `N` is the sum of all `N_i`.
    - (P3) `weight` is `(K, N)`, or packed into panels of `P` columns:
      `(ceil(N / P), K, P)`, or with pairs of rows side by side,
      `(ceil(N / P), K / 2, P, 2)`, where `K` is even. This is what `linalg.pack`
      makes of `(K, N)` with `outer_dims_perm = [1, 0]` and
      `inner_dims_pos = [1] inner_tiles = [P]`, or
      `inner_dims_pos = [1, 0] inner_tiles = [P, 2]`. Its sizes are static.
      Columns from `N` on are not used.
    - (P4) Elements of `input` are f64, f32, f16 or bf16. Those of `weight` are
      f32, f16, bf16 or i8, or f64 if the input's are. Every result has the
      element type of the input, or f32 if that is f16 or bf16. Products are
      exact in f32, or f64 if the input is f64, up to the rounding of that type;
      sums, scales and bias are of that type, and rounded once.
    - (P5) `scales`, `(N)` of f32, are given if and only if the weight is of i8:
      one scale for each column. `bias`, `(N)`, is f32, f16, bf16, or f64 if the
      input is.
    - (P6) In destination style, results have the types of `outs`, whose contents
      are not read.
  }];
  let arguments = (ins
    AnyType:$input, AnyType:$weight, Variadic<AnyType>:$outs,
    Optional<AnyType>:$scales, Optional<AnyType>:$bias);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `,` $weight `:` type($input) `,` type($weight) `)`
    `outs` `(` $outs `:` type($outs) `)`
    oilist(`scales` `(` $scales `:` type($scales) `)`
           | `bias` `(` $bias `:` type($bias) `)`)
    `` custom<EndOfClauses>("{\"scales\", \"bias\"}") attr-dict
  }];
  let extraClassDeclaration = layerDeclaration # [{
    ShapedType getInputType() { return cast<ShapedType>(getInput().getType()); }
    ShapedType getWeightType() {
      return cast<ShapedType>(getWeight().getType());
    }
    /// Of sums: f32, or f64 if the input's elements are.
    FloatType getAccumulationType();
    /// K.
    int64_t getNumInputFeatures();
    /// N_i of each result, or destination.
    SmallVector<int64_t> getNumOutputFeatures();
    /// P, or N of a weight that is not packed.
    int64_t getPanelWidth();
    bool hasPanels() { return getWeightType().getRank() > 2; }
    /// Whether pairs of rows lie side by side.
    bool isInPairs() { return getWeightType().getRank() == 4; }
  }];
}

#endif // ATTN_DIALECT_LAYER_PROJECTIONOPS_TD
