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

    Rows that are appended to a cache are copied to where they belong, of all heads
    at once; bufferization writes them in place. Those that `attn.rope` computes for
    the cache alone are rotated one by one, where they are stored. `attn.cache_read`
    becomes a tensor of all positions that it reads.

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

def ConvertAttnToVector : Pass<"convert-attn-to-vector"> {
  let summary = "Convert the inner ops of attention to vector code";
  let description = [{
    Converts `attn.online_softmax`, `attn.all_finite` and `attn.block_range` on
    buffers to loops over vectors, and `math.exp2`, `math.tanh`, and `math.exp` with `afn`
    of whole vectors of f32. With `scalef` and 512 bits, `arith.divf` with `arcp` becomes
    a product with the reciprocal. In a softmax step, the lanes of vectors are the queries of a tile; score and mask
    regions are evaluated for all of them at once:

    - what does not depend on the query stays scalar, and what does not depend on
      the key is computed before the loop over keys;
    - positions stay `scalar + stride * lane` as long as they can, so that
      `j <= p` becomes a comparison of constant numbers of lanes with one scalar;
    - what only the distance `p - j` decides is computed once for each distance
      of the block, into a table of which a row reads consecutive elements, if
      that saves more than the loads cost;
    - scores are divided by what is the same everywhere through its reciprocal,
      unless a use of the quotient jumps, as a comparison does;
    - captured buffers are read with vector loads or gathers, or transposed before
      the loop; only where queries and keys exist.

    A region with an operation that has no vector form is evaluated position by
    position, with a remark. So is every region where `defined` is false; there, a
    value without a result (A12) becomes a failing `cf.assert`.

    ```mlir
    attn.online_softmax
        outs(%s, %m, %l, %c : memref<128x16xf32>, memref<16xf32>, memref<16xf32>,
                              memref<16xf32>)
        at(%b, %h, %p, %j) queries(%nq) keys(%nk)
        partial(%partial) defined(%true) exact(%exact)
        mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %keep = arith.cmpi sle, %j, %p : index
      attn.yield %keep : i1
    }
    ```

    becomes, for every row of scores,

    ```mlir
    %difference = ... // j - p in lane 0, clamped
    %threshold = vector.broadcast %difference : i32 to vector<16xi32>
    %keep = arith.cmpi sle, %threshold, %lane_numbers : vector<16xi32>
    %score = arith.select %keep, %dot, %minus_inf : vector<16xi1>, vector<16xf32>
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "Width of a vector register">,
    Option<"scalef", "scalef", "bool", "false",
           "Use AVX-512's vscalef and vreduce, on vectors of 512 bits">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ConvertMathToNVVM
    : Pass<"convert-math-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Convert math operations in kernels to instructions of GPUs";
  let description = [{
    Converts operations of the math dialect in a `gpu.module` that NVIDIA GPUs have
    instructions for to intrinsics, on vectors element by element: `absf`, `ceil`,
    `floor`, `trunc`, `roundeven`, `copysign` and `fma`, with `arith.maxnumf` and
    `arith.minnumf`; `sqrt` of f32 and f64; `ctlz`, `cttz` and `ctpop`; and of f32
    `exp2` and `rsqrt`, which are approximations with a relative error of about 2^-22,
    the first with subnormal numbers taken for 0.

    Others of f32 are computed by these and by polynomials, with a relative error of
    at most 2^-20 everywhere, but that a result below 2^-126 may be 0: `exp`, `sinh`,
    `cosh`, `log`, `log2`, `log10`, `log1p`, `tanh`, `asinh`, `acosh`, `atanh`, `erf`,
    `erfc`, `sin`, `cos`, `sincos`, `tan`, `asin`, `acos`, `atan`, `atan2`, `powf`,
    `fpowi`, `cbrt`, and `arith.remf`, which is exact. Those of f16 and bf16 are those of f32, rounded. `round`, `isnan`, `isfinite` and `absi`
    are arithmetic of their types.

    Every other operation of math is an error, as these are of f64: upstream's
    conversion makes them calls of libdevice, a library which is not linked.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertMemRefCopyToLinalg : Pass<"convert-memref-copy-to-linalg"> {
  let summary = "Convert memref.copy to linalg.copy";
  let description = [{
    A `memref.copy` between strided buffers would otherwise become a call of a
    library function that interprets their shapes. As loops, LLVM sees it.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ConvertNVVMToEmulator
    : Pass<"convert-nvvm-to-emulator", "::mlir::ModuleOp"> {
  let summary = "Convert kernels for NVIDIA GPUs to code for the emulator";
  let description = [{
    Converts kernels in the LLVM and NVVM dialects, the form that becomes PTX, to
    code of this machine's for one thread of theirs, which calls the runtime's
    emulator (`attn_emu_*`) for what threads do together. Functions of a
    `gpu.module` become functions of the module.

    - Operations of the NVVM dialect become calls. Their last argument is the
      operation with its place in the source, for messages.
    - Loads, stores and atomic operations are checked by `attn_emu_access` before
      they take place.
    - Variables in shared memory become offsets from `attn_emu_shared_memory()`,
      those of dynamic size behind all others; pointers of all address spaces
      become generic ones. An integer made from a pointer to shared memory is the
      offset, as on a GPU.
    - For each kernel `f`, `attn_emu_entry_f` calls it with arguments from an array
      of pointers to their values, as cuLaunchKernel takes them. Its attribute
      `attn.shared_bytes` is the static size of shared memory, and
      `attn.block_size`, where it is there, the only size of a block.
    - Of functions with the names of others all but one get new names.
    - `gpu.launch_func` in functions of the host, which stay as they are, becomes a
      call of `attn_emu_launch` with that entry, the sizes, and the arguments.
      `gpu.alloc` and `gpu.dealloc` become those of memref. Constants in a
      `gpu.module` are passed to each launch behind the arguments, as memrefs of
      their bytes: what a kernel may read is what memrefs cover.

    What is not emulated is an error at its place.

    ```mlir
    gpu.module @kernels {
      llvm.func @f(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
        nvvm.barrier0
        %id = nvvm.read.ptx.sreg.tid.x : i32
        llvm.store %id, %out : i32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    llvm.func @f(%out: !llvm.ptr) {
      llvm.call @attn_emu_barrier_sync(%c0, %c0, %site0)
          : (i32, i32, !llvm.ptr) -> ()
      %id = llvm.call @attn_emu_thread_id(%c0) : (i32) -> i32
      llvm.call @attn_emu_access(%out, %bytes, %alignment, %kind, %space, %site1)
          : (!llvm.ptr, i64, i64, i32, i32, !llvm.ptr) -> ()
      llvm.store %id, %out : i32, !llvm.ptr
      llvm.return
    }
    llvm.func @attn_emu_entry_f(%arguments: !llvm.ptr)
        attributes {attn.shared_bytes = 0 : i64} {
      ... // Loads %out.
      llvm.call @f(%out) : (!llvm.ptr) -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertLaunchToRuntime
    : Pass<"convert-launch-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Convert launches of kernels to calls of the runtime";
  let description = [{
    Converts every `gpu.launch_func` in functions of the host, which stay as they
    are, to a call of `attn_gpu_launch` with the names of the `gpu.module` and of
    the kernel, the sizes of the grid and of a block, the bytes of dynamic shared
    memory, and the kernel's arguments, as cuLaunchKernel takes them: an array of
    pointers to their values, of which a memref has two pointers, an offset, sizes
    and strides. Every `gpu.module` is erased: the runtime has compiled it before.

    A launch that is asynchronous, has clusters, or passes something else than the
    kernel takes is an error.

    ```mlir
    gpu.launch_func @m::@f blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%x : f32)
    ```

    becomes

    ```mlir
    llvm.call @attn_gpu_launch(%m, %f, %sizes, %arguments)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
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
    `math.expm1`, whose accuracy they lose: on scalars. On vectors, `math.exp` of
    f32, which would be a call for each lane, by upstream's polynomial.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExternalizeSharedMemory
    : Pass<"attn-externalize-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Declare dynamic shared memory as memory that a launch provides";
  let description = [{
    Gives every global of no elements in shared memory external linkage. Upstream
    lowers `gpu.dynamic_shared_memory` to an internal one, for which LLVM reserves
    a byte of static shared memory. A kernel that also has static buffers would then
    find them where it takes its dynamic memory to be.
  }];
}

def CheckLowered : Pass<"attn-check-lowered"> {
  let summary = "Refuse what no pass has lowered";
  let description = [{
    An operation that is neither of the LLVM nor of the NVVM dialect is an error:
    the first one, and a cast between types only if there is no other. Upstream's
    conversions leave what they do not know, and say nothing.
  }];
}

def KeepRounding : Pass<"attn-keep-rounding"> {
  let summary = "Round results of small floats before the next operation";
  let description = [{
    Removes the flags of `arith.extf` and `arith.truncf`. Upstream computes with f16
    and bf16 in f32 and lets its conversions be contracted, so that a result is not
    rounded where the next operation takes it.
  }];
}

def VectorizeContractions : Pass<"attn-vectorize-contractions"> {
  let summary = "Compute linalg contractions on buffers in vector registers";
  let description = [{
    Replaces C[m,n] += A[m,k] * B[k,n], where n is the contiguous, last dimension
    of B and C and has a static size that fills vectors, by loops around
    `vector.contract`s. A block of C stays in registers for all k, and starts as
    what an elementwise operation right before computes, such as a `linalg.fill`.
    A is read in place, one scalar at a time, whatever its strides. The block is
    as large as the registers allow.

    ```mlir
    linalg.fill ins(%zero : f32) outs(%s : memref<?x32xf32>)
    linalg.matmul ins(%k, %q : memref<?x64xf32>, memref<64x32xf32>)
                  outs(%s : memref<?x32xf32>)
    ```

    becomes, with 32 registers of 512 bits,

    ```mlir
    scf.for %i = %c0 to %whole step %c8 {
      %row = arith.minsi %i, %last : index
      %block:2 = scf.for %d = %c0 to %c64 step %c8
          iter_args(%acc0 = %zeros, %acc1 = %zeros) {
        // 8 times: loads of 8 scalars and 2 vectors, and
        %next0 = vector.contract %lhs, %rhs0, %acc0
            : vector<1x8xf32>, vector<1x16xf32> into vector<8x16xf32>
        %next1 = vector.contract %lhs, %rhs1, %acc1
            : vector<1x8xf32>, vector<1x16xf32> into vector<8x16xf32>
        scf.yield %next0, %next1
      }
      // 16 stores
    }
    // A loop over single rows, for fewer than 8.
    ```

    Where B is of bf16, and pairs along k lie side by side in A and B, A is of bf16
    as well and they are multiplied in pairs, or it is of f32 and B's are widened.

    Convolutions, C[r,j] += A[e,r+a,j+k] * B[e,a,k] of f32 and static sizes, keep a
    block of C's rows and a column of B in registers, and load each vector of A once
    for all of them.

    Contractions of other forms are left alone, with a remark.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "Width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "Number of vector registers">,
    Option<"bf16Dot", "bf16-dot", "bool", "false",
           "Use AVX512-BF16's dot product of pairs, on vectors of 512 bits">,
    Option<"bf16Tiles", "bf16-tiles", "bool", "false",
           "Use AMX-BF16's product of tiles of pairs, where they are filled">,
    Option<"i8Dot", "i8-dot", "bool", "false",
           "Use dot products of i8 (AVX512-VNNI, or AVX-VNNI on 256 bits)">
  ];
  let dependentDialects = [
    "::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect", "::mlir::x86vector::X86VectorDialect"
  ];
}

def VectorizeRows : Pass<"attn-vectorize-rows"> {
  let summary = "Compute linalg operations on buffers by vectors";
  let description = [{
    Replaces linalg operations on buffers that are elementwise along their last
    dimension, which is contiguous, by loops around vectors of at most four
    registers' width. Other dimensions may be reduced. Where the last one is, to one
    number for each row, a vector holds partial results, which are combined in the
    end.

    ```mlir
    linalg.generic ins(%c : memref<32xf32>) outs(%o : memref<64x32xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      linalg.yield %z : f32
    }
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %c64 step %c1 {
      %x = vector.load %c[%c0] : memref<32xf32>, vector<32xf32>
      %y = vector.load %o[%i, %c0] : memref<64x32xf32>, vector<32xf32>
      %z = arith.mulf %x, %y : vector<32xf32>
      vector.store %z, %o[%i, %c0] : memref<64x32xf32>, vector<32xf32>
    }
    ```

    An operand that is read transposed is loaded in parts of 128 bits, of elements
    or of pairs of 16 bits, that are transposed in registers; and two rows of f32
    that are rounded to a row of pairs of bf16 are interleaved there, as are two
    columns that are rounded to rows, before pairs are transposed. Operations of
    other forms are left alone, with a remark; among them those on buffers of i1,
    which has a byte in memory but a bit in a vector there.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "Width of a vector register">,
    Option<"bf16Dot", "bf16-dot", "bool", "false",
           "Write pairs of bf16 with AVX512-BF16, by vectors of 512 bits">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def MultiTokenToPanels : Pass<"attn-multi-token-to-panels"> {
  let summary = "Lower attn.multi_token_attention to parallel panels";
  let description = [{
    Each `attn.multi_token_attention` becomes an `scf.forall` over batch entries,
    groups of heads that are mixed with each other, and tiles of rows of the
    output. An iteration computes panels `(heads, rows, keys)` of f32: the scores of
    its rows and of those before them that convolutions see, with the keys that a
    row of them may see, or with a chunk of them after the other. Keys are
    transposed before, once, to blocks of 64. Every step is a linalg op on such a
    block whose last loop is over keys, or a product of matrices, so that
    `attn-vectorize-rows` and `attn-vectorize-contractions` compute it by vectors.

    Ops of f64, with dropout, and with regions that load or may have no value are
    left to the reference lowering, with a remark.
  }];
  let options = [
    Option<"tileRows", "tile-rows", "int64_t", "64",
           "Rows of the output of a tile at most">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
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

def ConvertOnlineToVector : Pass<"convert-online-to-vector"> {
  let summary = "Convert tiles of online attention to vectors for matrix units";
  let description = [{
    Where a GPU takes over from what all targets share: in an `scf.forall` over tiles
    of queries, tensors of the tile become vectors of the workgroup, in loops and
    branches too. What stays a tensor is memory: what is read by
    `vector.transfer_read` and written by `vector.transfer_write`, with as many rows
    as there are. Heads of a size that is no multiple of 16 are vectors of the next
    one, with zeros behind what is read and a write of the others.

    The `attn.online_attention` of a block of keys becomes two `vector.contract`, and
    vector code between them: reductions of rows, and the regions of score and mask
    as elementwise operations on vectors. There, an index of a query is
    `vector<Mx1xindex>`, one of a key `vector<1xNxindex>`, and what depends on both
    has a shape of `MxN`. A load from a captured tensor at positions, keys or neither,
    plus a number, is a `vector.transfer_read` of a rectangle, a row or a column; one
    whose last index alone varies in another way is a `vector.gather`.

    Where a region may be undefined somewhere in the block (A12), or has other loads,
    or divides by what may be 0, it is evaluated position by position instead: in an
    `scf.forall` over the block's scores, which are in workgroup memory, with loads
    that are guarded and an assertion of what is observable. A mask that keeps all of
    a block is not evaluated there.

    A block that is computed exactly (A13) goes through its keys one by one, with the
    weights in workgroup memory; -1 is the weight of a hidden position.

    It is an error if anything of `attn` is left in a tile, with the reason.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ConvertForallToGPU : Pass<"convert-forall-to-gpu"> {
  let summary = "Launch parallel tiles as workgroups, and elements as threads";
  let description = [{
    The `scf.forall` over batch entries, heads and tiles of queries becomes a
    `gpu.launch`, with a workgroup for each iteration: the last loop is `x`, the one
    before `y`. A workgroup has a warp for each 16 rows of the products in it.

    An `scf.forall` without vectors, over elements, becomes a `gpu.launch` with a
    thread for each iteration, 128 in a workgroup. So does an elementwise linalg
    operation on buffers outside of such loops.

    The launches of a function `f` name a module `f_kernels`, to which
    `gpu-kernel-outlining` outlines them all, and which is compiled at once.

    The host has no access to buffers of the device. What it allocates is memory of
    the GPU, `gpu.alloc`, freed where its block ends, or that around the branches
    which give it as a result. An assertion about what buffers
    hold is launched with what it reads: a loop of assertions with a workgroup for
    each iteration, and the loops in it with their iterations shared by 128 threads.
    Other code that touches buffers on the host, but for loads from constants, is an
    error.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertConstantsToKernels : Pass<"convert-constants-to-kernels"> {
  let summary = "Move constants to the kernels that read them";
  let description = [{
    A `memref.get_global` that a `gpu.launch` uses, with views of it, is moved into
    the launch. `gpu-kernel-outlining` copies the `memref.global` to the module of
    the kernel then, so that it is loaded with that, and in memory of the GPU.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def CopyToWorkgroup : Pass<"attn-copy-to-workgroup"> {
  let summary = "Copy factors of products to workgroup memory, ahead of their use";
  let description = [{
    In a `gpu.launch`, rows of f32, f16 or bf16 that a `vector.contract` multiplies
    as its second factor are read from a copy in workgroup memory, a `memref.alloca`
    of stages of tiles. Rows in it are 16 bytes longer than their elements, so that
    the 8 that `ldmatrix` reads at once are in different banks. So are rows of the
    first factor that are of f32, which matrix units do not multiply exactly, or of
    more than 128 elements, which are too many for registers.

    Where the rows depend on the iteration of a loop, an iteration starts the copies
    of a later one, if their places do not depend on what the loop carries: blocks
    of keys and values arrive while others are computed with. There are up to four
    stages as long as two workgroups with them fit 100 KB, else two if 96 KB have
    room for them. An iteration has one barrier. Other copies are waited for at once.

    A copy is an `nvgpu.device_async_copy` of 16 bytes, with 0 for rows and ends of
    rows that are not there, if a check at run time finds that each row begins at a multiple of 16
    bytes, else a loop over elements.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def DistributeToLanes : Pass<"attn-distribute-to-lanes"> {
  let summary = "Distribute vectors of a workgroup to the lanes of its warps";
  let description = [{
    Every vector in a `gpu.launch` becomes scalars of a thread. Which, its shape says,
    for M rows of queries, 16 of each warp, and N columns. Lane `4 * g + t` of warp
    `w` has, of rows `r = 16 * w + g + 8 * h` and columns `c = 8 * n + 2 * t + e`:

    | layout        | type    | elements                   | number  |
    |---------------|---------|----------------------------|---------|
    | fragment      | `MxN`   | all its rows and columns   | `N / 2` |
    | row slice     | `M`, `Mx1` | of its rows, in each of four lanes | 2 |
    | column slice  | `1xN`   | of its columns, in each lane with this `t` | `N / 4` |
    | in workgroup memory | `NxD`, `MxD` | none of its own      |         |

    A fragment is the accumulator of `mma.sync` m16n8k16, and at the same time its
    first operand, 16 columns at a time: weights become a factor without moving. A
    `vector.contract` reads its second operand, and its first if that is in
    workgroup memory too, by `ldmatrix`: see `attn-copy-to-workgroup`.

    Of f32 the fragment of the first operand is written to workgroup memory, too, and
    each lane adds up its elements of the product by FMAs, for `k` in their order:
    there is no TF32.

    Operations that are distributed: constants, elementwise ones, `vector.broadcast`,
    `vector.shape_cast` between `M` and `Mx1`, `vector.step`,
    `vector.multi_reduction` of columns or of all to i1, `vector.contract`,
    `vector.transfer_read`, `vector.transfer_write`, `vector.gather`, and loops and
    branches of `scf` that carry vectors. Any other one with a vector is an error that names it. Rows
    in pairs aside, elements are read one by one, from memory with any strides.

    Threads share the iterations of an `scf.forall` of scalar code, between two
    barriers.

    Workgroup memory is dynamic; the launch gets its size.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // ATTN_CONVERSION_PASSES_TD
