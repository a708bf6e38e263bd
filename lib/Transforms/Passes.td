//===- Passes.td - Passes that stay in the dialect ----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_PASSES_TD
#define ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ResultsToDestinations
    : Pass<"attn-results-to-destinations", "::mlir::ModuleOp"> {
  let summary = "Write the results of public functions into buffers of the "
                "caller";
  let description = [{
    Every ranked tensor that a public function returns becomes a trailing
    memref argument, in the order of the results, that the function writes with
    `bufferization.materialize_in_destination`. The buffer's last dimension is
    contiguous, its other strides are the caller's choice. Other results stay.
    Tensor arguments are marked read-only. Empty tensor elimination and
    bufferization then make the last operation write into the caller's buffer.

    A public function that is called in the module is an error, because its
    callers would have to provide buffers: inline first.

    ```mlir
    func.func @f(%x: tensor<?x8xf32>) -> tensor<?x8xf32>
    // becomes
    func.func @f(%x: tensor<?x8xf32> {bufferization.writable = false},
                 %out: memref<?x8xf32, strided<[?, 1]>>)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FoldTrivialComparisons : Pass<"attn-fold-trivial-comparisons"> {
  let summary = "Replace comparisons that do not compare by constants";
  let description = [{
    `arith.cmpf true` and `arith.cmpf false` become constants. Upstream's
    canonicalization of comparisons with converted integers crashes on them, so
    this runs before any other pass.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AddRuntimeChecks : Pass<"attn-add-runtime-checks"> {
  let summary = "Check at run time what no verifier can know";
  let description = [{
    Puts a `cf.assert` before every operation that would be undefined for some
    values of its operands: an index outside a tensor, sizes that do not fit
    together, a division by zero. Operations say what to check through the
    upstream `RuntimeVerifiableOpInterface`.

    Regions of attn ops are left alone. There, a value only counts where a
    position is kept, and the op's lowering sees to it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::index::IndexDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def BufferizeKernels : Pass<"attn-bufferize-kernels", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization for kernels";
  let description = [{
    Upstream's one-shot module bufferization with tensor arguments as the buffers
    that a kernel's caller passes: contiguous in the last dimension, any strides
    in the others. Upstream's pass offers no such layout.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // ATTN_TRANSFORMS_PASSES_TD
