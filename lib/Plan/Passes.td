//===- Passes.td - The plan of kernels ---------------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_PASSES_TD
#define ATTN_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanKernels : Pass<"attn-plan"> {
  let summary = "Decide how kernels compute their ops";
  let description = [{
    Attaches `#attn.plan` to every `attn.attention`, `attn.projection` and
    `attn.multi_token_attention` that kernels compute: how it is cut and laid out.
    The numbers come from `#attn.target` of the module, by a model of what has to
    fit into which cache, and from the types of the op and its mask. With `workgroups`, they are
    those of a GPU.

    What an op says already stays, if it can be carried out; otherwise an error says
    why not. What has no plan after it is left to the reference lowering. An
    `attn.online_attention` that a user has written gets the keys of its blocks.

    ```mlir
    %r = attn.attention ins(...) outs(...) {attn.plan = #attn.plan<keys = 32>}
    ```

    becomes, with the default target,

    ```mlir
    %r = attn.attention ins(...) outs(...)
        {attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 32, lanes = 8,
                                head_size = 64, keys = 32, chunk = 1024>}
    ```
  }];
  // Of code that asks the mask analysis, which none of is left.
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option<"workgroups", "workgroups", "bool", "false",
                        "Plan for workgroups of a GPU">];
}

#endif // ATTN_PLAN_PASSES_TD
