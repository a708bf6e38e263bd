//===- Passes.td - Passes of kernels as a whole ------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_PASSES_TD
#define ATTN_KERNEL_PASSES_TD

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

    A tensor argument that is `bufferization.writable` is updated in place: it
    becomes a buffer, and the one result that destination-style operations compute
    from it is written there, instead of into a buffer of its own.

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

def TransposesToViews
    : Pass<"attn-transposes-to-views", "::mlir::func::FuncOp"> {
  let summary = "Read and write transposed tensors by their strides";
  let description = [{
    Heads that a caller has behind lengths, `(B, S, H, D)` or `(B, S, H * D)`, are
    read where they are: a `linalg.transpose` of a read-only argument, or of a
    reshape, a slice or a cast of one, becomes a `memref.transpose` of its buffer.
    A result that is transposed is written by the strides of the caller's buffer
    in the same way, also where dimensions of it are collapsed, and so is one that
    only has dimensions collapsed. Rows have to stay
    rows: a transposition that moves the last dimension is left, as kernels read
    and write contiguous rows.

    It runs behind `attn-results-to-destinations`, which says what is read-only.

    ```mlir
    %heads = tensor.expand_shape %x [[0], [1], [2, 3]] ...
        : tensor<?x?x64xf32> into tensor<?x?x4x16xf32>
    %q = linalg.transpose ins(%heads : ...) outs(%e : ...) permutation = [0, 2, 1, 3]
    // becomes
    %b = bufferization.to_buffer %heads read_only : ...
    %t = memref.transpose %b (d0, d1, d2, d3) -> (d0, d2, d1, d3) : ...
    %q = bufferization.to_tensor %t restrict : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def CheckConstantOperands : Pass<"attn-check-constant-operands"> {
  let summary = "Refuse constant operands that leave an operation undefined";
  let description = [{
    `tensor.dim` with a constant index outside of the tensor's rank is an error at
    its operation, and so are `scf.for` with a constant step that is not positive,
    `tensor.pad` with constant padding that is negative, and `tensor.expand_shape`
    of a dimension to several dynamic sizes or to 0. Analyses read foreign memory
    at the first, the second never ends, the third becomes a slice that lies
    outside of its tensor, and at the last upstream divides by what is not there.
    Values that are not constants are left to `attn-add-runtime-checks`.
  }];
}

def CheckLimits : Pass<"attn-check-limits", "::mlir::ModuleOp"> {
  let summary = "Refuse what would take too long to compile";
  let description = [{
    Each of these is an error at its operation:

    - integers of more than 128 bits, which folding would compute with;
    - types of a rank above 32, vectors of more than 1024 elements, and functions
      of more than 1024 arguments or 256 results, with whose square work grows;
    - a function of more than 100000 operations, or of more than 512 of the attn
      dialect outside of regions of others, with those of all that it calls:
      functions that each call the next one twice double with every one of them;
    - a score or mask region of more than 4096 operations, or of more than 64
      functions of the math dialect. Passes make a dozen operations of each, and
      some hundred of a function, for every kind of block that a kernel has.

    Every pipeline begins with it: canonicalization alone may take minutes.
  }];
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

def SplitIndexCasts : Pass<"attn-split-index-casts"> {
  let summary = "Truncate and extend indices as i64";
  let description = [{
    `arith.index_cast` and `arith.index_castui` from an index to an integer of fewer
    or more than 64 bits, or from one of more, become a cast of i64 and an
    `arith.trunci`, `arith.extsi` or `arith.extui`. Upstream's canonicalization
    replaces a cast of a cast by what was cast first, whatever the width in between:
    an index that was truncated to i8 would be the index again. So this runs before
    any canonicalization.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def DecomposeAggregates : Pass<"attn-decompose-aggregates"> {
  let summary = "Rewrite linalg ops that stand for several to those";
  let description = [{
    `linalg.softmax`, of upstream's `AggregatedOpInterface`, becomes the operations
    that it says it is made of; `linalg.pack` and `linalg.unpack` become a padding or
    a slice, a reshape and a transpose. They are no structured operations, and no
    other pass takes them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AddRuntimeChecks : Pass<"attn-add-runtime-checks"> {
  let summary = "Check at run time what no verifier can know";
  let description = [{
    Puts a `cf.assert` before every operation that would be undefined for some
    values of its operands: an index outside a tensor, sizes that do not fit
    together, a division by zero, a loop whose step is not positive. Operations say
    what to check through the upstream `RuntimeVerifiableOpInterface`. What later
    passes fold to a constant that leaves the operation undefined, an index of
    `tensor.dim` or a step, is brought into its range behind the check. Sizes and offsets are computed as early
    as they can be, so that what is wrong with them is found before anything is
    written.

    Regions of attn ops are left alone. There, a value only counts where a
    position is kept, and the op's lowering sees to it. An attention to rows of an
    `attn.cache_read` is checked to keep none that is absent: the range of keys
    that the mask may keep is compared with what is stored, and the mask evaluated
    where the one leaves the other.

    With `only-read`, checks write no memory, as counts of what stands in a table:
    what a GPU checks, its threads share. With `most-rows`, an attention to longer
    sequences is refused: what is computed of positions of fewer rows fits 32 bits.
  }];
  let options = [Option<"onlyRead", "only-read", "bool", "false",
                        "Have checks write no memory">,
                 Option<"mostRows", "most-rows", "int64_t", "0",
                        "How many rows the sequences of an attention may have, "
                        "0 for any number">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::index::IndexDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SeparateResults : Pass<"attn-separate-results"> {
  let summary = "Keep results out of the buffers of other results";
  let description = [{
    A `tensor.empty` from which several results of a function are computed, such as
    the destination of a `linalg.fill` that two products start from, becomes a
    `bufferization.alloc_tensor`. Upstream's elimination of empty tensors would
    replace it by the buffer of the first result, which is then written before the
    second, that is in it too, is read.

    Before, empty and filled tensors that a loop around only writes to are created
    within the loop.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def BufferizeKernels : Pass<"attn-bufferize-kernels", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization for kernels";
  let description = [{
    Upstream's one-shot module bufferization with tensor arguments as the buffers
    that a kernel's caller passes: contiguous in the last dimension, any strides
    in the others. Upstream's pass offers no such layout.

    Empty and filled tensors that a loop around only writes to are created within
    the loop, or every iteration would copy them.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
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
    - `attn.report` to a branch around `attn_rt_report(text, numbers)`,
      which returns. The text is that message, and the reasons, a line each.
    - `memref.alloc` to `attn_rt_alloc(bytes, alignment)`, which does not return
      when there is no such memory. A size that does not fit 64 bits becomes the
      largest one.
    - `memref.dealloc` to `attn_rt_free(pointer)`.
    - `gpu.alloc` and `gpu.dealloc`, which are not asynchronous, to the same for
      memory of a GPU, `attn_gpu_alloc` and `attn_gpu_free`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandMath : Pass<"attn-expand-math"> {
  let summary = "Expand math operations that upstream does not lower well";
  let description = [{
    Expands `math.isinf`, `math.isnormal` and `math.ipowi`, which upstream's
    conversions to LLVM do not know, `math.clampf`, whose bounds they mix up, and
    `math.expm1`, whose accuracy they lose. On vectors of f32, functions which
    would be a call for each element become arithmetic, too: `math.exp`, `math.erf`
    and `math.erfc` by upstream's approximations, whose relative errors are below
    3e-7, the others by those of `lib/Math`, which kernels for GPUs have as well.
    Upstream's are not taken for them, since logarithms of subnormal numbers are off
    by 9e-2 there, arc tangents by 4e-6, and sines of large numbers by more than 1.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def CheckLowered : Pass<"attn-check-lowered"> {
  let summary = "Refuse what no pass has lowered";
  let description = [{
    An operation that is neither of the LLVM nor of the NVVM dialect is an error:
    the first one, and a cast between types only if there is no other. Operations of
    warpgroups in a `gpu.module`, such as NVVM has none of, may be left. Upstream's
    conversions leave what they do not know, and say nothing. A module loses its
    `attn.target`, which nothing reads any more.
  }];
}

def ExpandArith : Pass<"attn-expand-arith"> {
  let summary = "Expand what the target has no instruction for";
  let description = [{
    Runs upstream's `arith-expand`, with the conversions between bf16 and f32 unless
    the target of the module multiplies pairs of bf16: it then rounds to bf16 in one
    instruction (AVX512-BF16), which has the same bits but for 0 where a subnormal
    number is rounded. Without it, x86 calls a function of the compiler's own
    run-time library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandFloat8 : Pass<"attn-expand-float8"> {
  let summary = "Expand conversions of floats of 8 bits";
  let description = [{
    Replaces `arith.extf` from f8E4M3FN and f8E5M2, and `arith.truncf` to them, on
    numbers and vectors, by arithmetic of wider types, as the target may have no
    instruction for them. Numbers are rounded to nearest even, once; from beyond the
    largest number, and from infinities, they become the largest number. NaN stays
    NaN.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def KeepRounding : Pass<"attn-keep-rounding"> {
  let summary = "Round results of small floats before the next operation";
  let description = [{
    Removes the flags of `arith.extf` and `arith.truncf`. Upstream computes with f16
    and bf16 in f32 and lets its conversions be contracted, so that a result is not
    rounded where the next operation takes it.
  }];
}

def OutlineParallelLoops
    : Pass<"attn-outline-parallel-loops", "::mlir::ModuleOp"> {
  let summary = "Outline scf.forall for the threads of the runtime";
  let description = [{
    Moves the body of each `scf.forall` on buffers to a function of its own,
    which runs ranges of the loop's iterations, counted with the last dimension
    fastest, and hands it to the runtime's `attn_rt_parallel_ranges`. The
    runtime calls the function once on a thread, with a range, and the function
    asks for the next ones, until there are none. Loops within a parallel loop
    run in order. Iterations must not depend on each other.

    ```mlir
    func.func @f(%buffer: memref<?xf32>, %value: f32, %n: index) {
      scf.forall (%i) in (%n) {
        memref.store %value, %buffer[%i] : memref<?xf32>
      }
      return
    }
    ```

    becomes, with conversions of the captured values left out,

    ```mlir
    func.func @f(%buffer: memref<?xf32>, %value: f32, %n: index) {
      %context = llvm.alloca ... x !llvm.struct<(..., f32)> : (i64) -> !llvm.ptr
      ... // Stores %buffer and %value there.
      llvm.call @attn_rt_parallel_ranges(%f_parallel_0, %context, %n)
      return
    }
    func.func private @f_parallel_0(%context: !llvm.ptr, %first: !llvm.ptr) {
      ... // Loads %buffer and %value.
      scf.while (%range = %first) : (!llvm.ptr) -> !llvm.ptr {
        ... // Loads %begin and %end of the range.
        scf.for %i = %begin to %end step %c1 {
          memref.store %value, %buffer[%i] : memref<?xf32>
        }
        %next = llvm.call @attn_rt_next_range(%range)
        %more = llvm.icmp "ne" %next, %null : !llvm.ptr
        scf.condition(%more) %next : !llvm.ptr
      } do {
      ^bb0(%range: !llvm.ptr):
        scf.yield %range : !llvm.ptr
      }
      return
    }
    ```

    Constants are copied instead. A buffer of constant size that is allocated and
    deallocated in the body is allocated once for a thread.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // ATTN_KERNEL_PASSES_TD
