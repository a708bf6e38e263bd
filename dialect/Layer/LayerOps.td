//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a layer computes around attention.
//

#ifndef ATTN_DIALECT_LAYER_LAYEROPS_TD
#define ATTN_DIALECT_LAYER_LAYEROPS_TD

include "dialect/AttnDialect.td"
include "dialect/AttnEnums.td"
include "dialect/Shared/DestinationStyle.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

class Attn_LayerOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, traits # [
        DestinationStyleOpInterface,
        InferTypeOpAdaptor,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                  ["reifyResultShapes"]>,
        DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  code layerDeclaration = [{
    /// The pairs of sizes that must agree, the source of the verifier's
    /// messages, of the checks at run time, and of what a caller is told.
    SmallVector<SizeConstraint> getSizeConstraints();

    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let extraClassDefinition = destinationDefinition;
  let hasVerifier = 1;
}

/// An op on the rows of heads, `(B, H, S, D)`, whose loops run over the rows: a
/// tile has whole ones.
class Attn_RowOp<string mnemonic>
    : Attn_LayerOp<mnemonic, [
        AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<TilingInterface, ["getLoopIteratorTypes",
            "getIterationDomain", "getTiledImplementation",
            "getResultTilePosition", "generateResultTileValue"]>]> {
  code rowDeclaration = layerDeclaration # [{
    ShapedType getInputType() { return cast<ShapedType>(getInput().getType()); }
    Value getOutput() { return getOuts()[0]; }
  }];
  let extraClassDefinition = destinationDefinition # [{
    SmallVector<utils::IteratorType> $cppClass::getLoopIteratorTypes() {
      return SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel);
    }

    SmallVector<Range> $cppClass::getIterationDomain(OpBuilder &b) {
      return getRowDomain(b, getLoc(), getInput());
    }

    LogicalResult $cppClass::getResultTilePosition(
        OpBuilder &b, unsigned, ArrayRef<OpFoldResult> offsets,
        ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
        SmallVector<OpFoldResult> &resultSizes) {
      getRowPosition(b, getInput(), offsets, sizes, resultOffsets, resultSizes);
      return success();
    }

    FailureOr<TilingResult>
    $cppClass::generateResultTileValue(OpBuilder &b, unsigned,
                                       ArrayRef<OpFoldResult> offsets,
                                       ArrayRef<OpFoldResult> sizes) {
      // A part of a row has no mean, and tears pairs apart.
      if (!hasWholeRows(getInput(), offsets, sizes))
        return failure();
      return getTiledImplementation(b, offsets.drop_back(), sizes.drop_back());
    }
  }];
}

def Attn_RopeOp : Attn_RowOp<"rope"> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates pairs of elements of each row by angles that depend on its position
    (Su et al., "RoFormer", arXiv:2104.09864). For pair `k` of row `i` of
    `input[b,h]`, at position `p`, with `c = cosine[p,k]` and `s = sine[p,k]`:

    ```
    output[x] = input[x] * c - input[y] * s
    output[y] = input[y] * c + input[x] * s
    ```

    ```mlir
    %rotated = attn.rope half_split ins(%query, %cosine, %sine :
            tensor<?x8x?x64xf32>, tensor<4096x32xf32>, tensor<4096x32xf32>)
        outs(%init : tensor<?x8x?x64xf32>) offset(%lengths : tensor<?xi32>)
    ```

    - (R1) `input` and the output are `(B, H, S, D)` of one element type, f64, f32,
      f16 or bf16; heads and head sizes are static and at least 1. `cosine` and
      `sine` are `(S_max, R / 2)` of f64 or f32, no wider than the type that sums
      have: f32, for f64 f64. The result is computed in that type and rounded
      once.
    - (R2) The rotary size `R`, twice the static second size of the tables, is at
      most `D`. Elements from `R` on are copied.
    - (R3) With `half_split`, `x = k` and `y = k + R / 2`, as GPT-NeoX and Llama
      pair them; with `interleaved`, `x = 2 * k` and `y = 2 * k + 1`, as the paper
      does.
    - (R4) The position of row `i` is `i + offset[b]`, where `offset` is an integer
      (i32, i64 or index) or a `(B)` tensor of integers, or `positions[b,i]`, a
      `(B, S)` tensor of integers; `i` if there is neither. A position below 0 or
      not below `S_max` is an error at run time, before the op writes anything.
    - (R5) In destination style, the result has the type of `outs`, whose contents
      are not read.
  }];
  let arguments = (ins
    AnyType:$input, AnyType:$cosine, AnyType:$sine,
    Variadic<AnyType>:$outs, Optional<AnyType>:$offset,
    Optional<AnyType>:$positions, Attn_RopePairing:$pairing);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $pairing `ins` `(` $input `,` $cosine `,` $sine `:` type($input) `,`
    type($cosine) `,` type($sine) `)` `outs` `(` $outs `:` type($outs) `)`
    oilist(`offset` `(` $offset `:` type($offset) `)`
           | `positions` `(` $positions `:` type($positions) `)`)
    `` custom<EndOfClauses>("{\"offset\", \"positions\"}") attr-dict
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = rowDeclaration # [{
    int64_t getNumPairs() {
      return cast<ShapedType>(getCosine().getType()).getDimSize(1);
    }
  }];
}

def Attn_MergeOp : Attn_LayerOp<"merge"> {
  let summary = "one attention from two, of other keys each";
  let description = [{
    Combines the outputs and log-sum-exps of two attentions of the same queries,
    as if their keys had been those of one. With `w1 = exp(lse1 - m)`,
    `w2 = exp(lse2 - m)` and `m = max(lse1, lse2)`:

    ```
    output = (w1 * output1 + w2 * output2) / (w1 + w2)
    lse    = m + log(w1 + w2)
    ```

    The formula is that of Milakov and Gimelshein, "Online normalizer calculation
    for softmax" (arXiv:1805.02867).

    ```mlir
    %output, %lse = attn.merge
        ins(%o1, %l1, %o2, %l2 : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>,
            tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
        outs(%o, %l : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
    ```

    - (M1) Outputs are `(B, H, S, D)` of one element type, f64, f32, f16 or bf16;
      log-sum-exps are `(B, H, S)` of f32, for f64 of f64. Heads and head sizes are
      static and at least 1. `outs` holds the output and, if a second one is
      given, the log-sum-exp. The result is computed in the type of the
      log-sum-exps and rounded once.
    - (M2) A part whose log-sum-exp is -inf contributes nothing, whatever its
      output holds. If both are -inf, the output is 0 and the log-sum-exp -inf.
      A part whose log-sum-exp is +inf has all the weight, as two such have in
      equal parts, and the log-sum-exp is +inf; one of NaN makes output and
      log-sum-exp NaN.
    - (M3) If the attention has a sink, exactly one of the parts has it.
    - (M4) In destination style, results have the types of `outs`, whose contents
      are not read.
  }];
  let arguments = (ins
    AnyType:$output1, AnyType:$lse1, AnyType:$output2, AnyType:$lse2,
    Variadic<AnyType>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $output1 `,` $lse1 `,` $output2 `,` $lse2 `:` type($output1) `,`
    type($lse1) `,` type($output2) `,` type($lse2) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict
  }];
  let extraClassDeclaration = layerDeclaration # [{
    Value getOutput() { return getOuts()[0]; }
    /// Null if it is not asked for.
    Value getLogSumExp() { return getOuts().size() > 1 ? getOuts()[1] : Value(); }
  }];
}

def Attn_HeadNormOp : Attn_RowOp<"head_norm"> {
  let summary = "root mean square normalisation of each head";
  let description = [{
    Normalises each row of `input[b,h]` by the root of the mean of its squares
    (Zhang and Sennrich, "Root Mean Square Layer Normalization",
    arXiv:1910.07467):

    ```
    output[b,h,i,:] = scale * weight * input[b,h,i,:]
                      / sqrt(mean(input[b,h,i,:]^2) + epsilon)
    ```

    Queries and keys of newer models are normalised so before they are rotated
    (Henry et al., "Query-Key Normalization for Transformers", arXiv:2010.04245);
    outputs of heads are with a `layer` (Ye et al., "Differential Transformer",
    arXiv:2410.05258).

    ```mlir
    %normalised = attn.head_norm
        ins(%query, %weight : tensor<?x8x?x64xf32>, tensor<64xf32>)
        outs(%init : tensor<?x8x?x64xf32>) epsilon(1.0e-6)
    ```

    - (N1) `input` and the output are `(B, H, S, D)` of one element type, f64, f32,
      f16 or bf16; heads and head sizes are static and at least 1. The result is
      computed in f32, for f64 in f64, and rounded once.
    - (N2) `weight`, `(D)` for all heads or `(H, D)`, is of f64, f32, f16 or bf16,
      no wider than the type that the result is computed in; 1 when absent.
    - (N3) `epsilon`, 1e-5 when absent, is positive in that type.
    - (N4) `scale` is `1 - lambda` with `lambda = 0.8 - 0.6 * exp(-0.3 * layer)`
      for the number of a `layer`, which is not negative; 1 without it.
    - (N5) In destination style, the result has the type of `outs`, whose contents
      are not read.
  }];
  let arguments = (ins
    AnyType:$input, Optional<AnyType>:$weight, Variadic<AnyType>:$outs,
    DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon, OptionalAttr<I64Attr>:$layer);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input (`,` $weight^)? `:` type($input) (`,` type($weight)^)? `)`
    `outs` `(` $outs `:` type($outs) `)`
    oilist(`epsilon` `(` $epsilon `)` | `layer` `(` $layer `)`)
    `` custom<EndOfClauses>("{\"epsilon\", \"layer\"}") attr-dict
  }];
  let extraClassDeclaration = rowDeclaration # [{
    /// N4.
    double getScale();
  }];
}

def Attn_DropoutOp : Attn_LayerOp<"dropout"> {
  let summary = "dropout of a layer's output";
  let description = [{
    Drops each element with a probability, and multiplies the others by
    `1 / (1 - rate)` (Srivastava et al., "Dropout: A Simple Way to Prevent Neural
    Networks from Overfitting", JMLR 2014).

    ```mlir
    %dropped = attn.dropout ins(%x : tensor<?x?x576xf32>)
        outs(%init : tensor<?x?x576xf32>) rate(0.1, %seed, %call)
    ```

    - (D1) `input` and the output are `(B, S, M)` of one element type, f64, f32, f16
      or bf16. An element is scaled in f32, for f64 in f64, and rounded once.
    - (D2) `rate` is a constant in `[0, 1)`. With 0 the result is the input, which
      is what the op folds to.
    - (D3) Element `[b,i,c]` is kept if word `c mod 4` of Philox-4x32-10 (Salmon et
      al., SC 2011) is at least `rate * 2^32`. The key is the 64-bit `seed` xor
      0x9E3779B97F4A7C15, which makes the words others than those of attention
      probabilities; the counter is `(c / 4, i, b, call)`, each reduced to 32
      bits. What is dropped is 0, whatever it was.
    - (D4) In destination style, the result has the type of `outs`, whose contents
      are not read.
  }];
  let arguments = (ins
    AnyType:$input, Variadic<AnyType>:$outs, I64:$seed, I32:$call,
    F64Attr:$rate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $outs `:` type($outs) `)`
    `rate` `(` $rate `,` $seed `,` $call `)` attr-dict
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = layerDeclaration # [{
    ShapedType getInputType() { return cast<ShapedType>(getInput().getType()); }
    Value getOutput() { return getOuts()[0]; }
    /// Xor of the seed, D3.
    static constexpr uint64_t kKey = 0x9E3779B97F4A7C15;
  }];
}

#endif // ATTN_DIALECT_LAYER_LAYEROPS_TD
