//===- Passes.td - Passes that leave a dialect --------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_PASSES_TD
#define ATTN_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToLinalg : Pass<"convert-attn-to-linalg"> {
  let summary = "Lower attn ops on tensors to linalg and loops";
  let description = [{
    The reference lowering: each op becomes what its documentation says, row by
    row, with one row of scores in memory at a time. It supports everything that
    the ops can say, and does not try to be fast.

    A value of a score or mask region without a result (A12) becomes a failing
    `cf.assert`. Sizes are not checked here but by `attn-add-runtime-checks`,
    before it.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def ConvertMemRefCopyToLinalg : Pass<"convert-memref-copy-to-linalg"> {
  let summary = "Convert memref.copy to linalg.copy";
  let description = [{
    A `memref.copy` between strided buffers would otherwise become a call of a
    library function that interprets their shapes. As loops, LLVM sees it.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ConvertToRuntimeCalls
    : Pass<"convert-to-runtime-calls", "::mlir::ModuleOp"> {
  let summary = "Convert failing checks and memory to calls of the runtime";
  let description = [{
    Converts what generated code needs from its host:

    - `cf.assert` to a branch around `attn_rt_fail(message)`, which does not
      return. The message begins with the operation's place in the source, where
      it is known.
    - `memref.alloc` to `attn_rt_alloc(bytes, alignment)`, which does not return
      when there is no such memory. A size that does not fit 64 bits becomes the
      largest one.
    - `memref.dealloc` to `attn_rt_free(pointer)`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandMath : Pass<"attn-expand-math"> {
  let summary = "Expand math operations that upstream does not lower well";
  let description = [{
    Expands `math.isinf`, `math.isnormal` and `math.ipowi`, which upstream's
    conversions to LLVM do not know, `math.clampf`, whose bounds they mix up, and
    `math.expm1`, whose accuracy they lose. Only on scalars.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // ATTN_CONVERSION_PASSES_TD
