//===- Passes.td - Passes of gradients ------------------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_PASSES_TD
#define ATTN_GRADIENT_PASSES_TD

include "mlir/Pass/PassBase.td"

def Gradient : Pass<"attn-gradient", "::mlir::ModuleOp"> {
  let summary = "Write the gradient of a function";
  let description = [{
    Adds `@f_gradient` to a module with `@f`. With `L` a number that depends on the
    results of `@f`, it takes the arguments of `@f` and then the gradients of `L` with
    respect to results, and gives those with respect to arguments, by reverse-mode
    differentiation:

    ```mlir
    func.func @f(%x: X, %w: W) -> Y
    func.func @f_gradient(%x: X, %w: W, %gradient: Y) -> (X, W)
    ```

    `results` says which results have a gradient, all of floats when empty, and
    `wrt` which arguments. With `saved`, what `@f` gave is passed to `@f_gradient`,
    between both, and not computed again, where that is enough: of an attention
    that gives its output and its log-sum-exp, nothing is.

    The body is a line of `attn.attention`, `attn.multi_token_attention`, `attn.rope`,
    `attn.projection`, `attn.head_norm`, `attn.dropout`, contractions, elementwise
    operations, transpositions, slices and reshapes; an `attn.multi_head_attention` is what it decomposes into. What lies
    between an argument and a result and has no gradient is an error with its name
    and place. Functions that are not differentiable at a point have the
    derivatives of rule G3 there.
  }];
  let options = [
    Option<"of", "of", "std::string", "\"\"",
           "Function to differentiate, without '@' (default: the only public one)">,
    ListOption<"results", "results", "unsigned",
               "Results of it whose gradients are given">,
    ListOption<"wrt", "wrt", "unsigned",
               "Arguments of it with respect to which">,
    Option<"saved", "saved", "bool", "false",
           "Take its results as arguments, too">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::attn::AttnDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def Tangent : Pass<"attn-tangent", "::mlir::ModuleOp"> {
  let summary = "Write the tangent of a function";
  let description = [{
    Adds `@f_tangent` to a module with `@f`: how fast the results of `@f` move while
    its arguments do, by forward-mode differentiation. It takes the arguments of
    `@f` and then their tangents, of their types, and gives the tangents of results,
    products of the Jacobian and a vector:

    ```mlir
    func.func @f(%x: X, %w: W) -> Y
    func.func @f_tangent(%x: X, %w: W, %x_tangent: X, %w_tangent: W) -> Y
    ```

    `wrt` says which arguments move, all of floats when empty, and `results` of
    which results the tangents are given. With `saved`, what `@f` gave is passed to
    `@f_tangent`, between both, and not computed again, where that is enough.

    The body is what `attn-gradient` takes, and what that gives: the tangent of a
    gradient is the product of the Hessian and a vector. An `attn.attention` becomes
    an `attn.attention_tangent`. What has no tangent of its own, such as an
    `attn.attention_backward` or an `attn.multi_token_attention`, becomes the loops
    of the reference lowering, which carry tangents along, with a remark that says
    so.
  }];
  let options = [
    Option<"of", "of", "std::string", "\"\"",
           "Function to differentiate, without '@' (default: the only public one)">,
    ListOption<"results", "results", "unsigned",
               "Results of it whose tangents are given">,
    ListOption<"wrt", "wrt", "unsigned",
               "Arguments of it that move">,
    Option<"saved", "saved", "bool", "false",
           "Take its results as arguments, too">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::attn::AttnDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileBackward : Pass<"attn-tile-backward"> {
  let summary = "Compute gradients of attention in tiles";
  let description = [{
    An `attn.attention_backward` becomes parallel loops over key/value heads, each
    of which goes over tiles of its queries and, for each of these, over the blocks
    of keys that the mask may keep. Queries are lanes, as in the lanes layout of
    `attn.online_attention`, and a block takes five products:

    ```
    S  (j, q) = key (j, d) * query (d, q)
    P  (j, q) = exp(score(S) - log_sum_exp (q))       attn.online_softmax
    dP (j, q) = value (j, d) * output_gradient (d, q)
    dS (j, q) = P * (dP - D (q)) * score'(S)          0 where P is
    value_gradient (j, d) += P (j, q) * output_gradient (q, d)
    key_gradient (j, d)   += dS (j, q) * query (q, d)
    query_gradient (d, q) += key (j, d) * dS (j, q)
    ```

    With `layout = pairs`, the products are of pairs of bf16 (`expand_shape`, by 2,
    of what they sum over), with sums of f32: a tile has its queries and gradients
    as `(d/2, q, 2)` and as `(q/2, d, 2)`; `P` and `dS` are rounded, and lie in
    pairs of queries as they are; for the query's gradient, which is `(q, d)` then,
    `dS` and keys are put in pairs of keys, `(j/2, q, 2)` and `(j/2, d, 2)`. With
    `packs`, it is `(d, q)`, of packs of keys, `(j/32, d, 32)`, that an iteration
    makes once. With `chunk`, so many keys have sums at a time, and tiles of the
    query's gradient are kept until all chunks are added.

    The derivative of the score is a region like it. One iteration adds to the
    gradients of its keys and values in the order of its queries, whatever the
    number of threads (G6). Products with what a mask hides are products with 0:
    if a gradient is not finite, everything is computed once more by the reference
    lowering, which leaves them out (G4).

    What is not tiled is left to the reference lowering, with a remark that says
    why.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileTangent : Pass<"attn-tile-tangent"> {
  let summary = "Compute tangents of attention in tiles";
  let description = [{
    An `attn.attention_tangent` becomes parallel loops over tiles of queries, each of
    which goes over the blocks of keys that the mask may keep. Queries are lanes, as
    in `attn-tile-backward`, and a block takes five products, of which those with a
    tangent that is not there are left out:

    ```
    S  (j, q) = key (j, d) * query (d, q)
    dT (j, q) = key (j, d) * query_tangent (d, q) + key_tangent (j, d) * query (d, q)
    P  (j, q) = exp(score(S) - log_sum_exp (q))       attn.online_softmax
    W  (j, q) = P * dT * score'(S)                    0 where P is
    output_tangent (d, q) += value (j, d) * W (j, q) + value_tangent (j, d) * P (j, q)
    mu (q) += W (j, q)
    ```

    With `layout = pairs`, the products are of pairs of bf16, as there, and with
    `packs` of packs of values, which are made before the loop or in each block.

    What a mask hides is multiplied by 0: if a tangent is not finite, everything is
    computed once more by the reference lowering, which leaves it out (J4). What is
    not tiled is left to that as well, with a remark that says why.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_GRADIENT_PASSES_TD
