//===- Passes.td - Passes of kernels of GPUs ---------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_PASSES_TD
#define ATTN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def FillEmptyAttention : Pass<"attn-fill-empty-attention"> {
  let summary = "Replace attention to no keys by what it is";
  let description = [{
    An `attn.attention` whose type has no keys is 0, and its log-sum-exp the sink,
    or -inf (A14); one that has no queries is nothing. Of a row that is of no
    sequence, the log-sum-exp is -inf, also with a sink (A7).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def CheckForGPU : Pass<"attn-check-for-gpu"> {
  let summary = "Refuse what is not lowered for GPUs";
  let description = [{
    What the pipeline for GPUs cannot lower is an error at the operation that was
    written, and says what of it that is, before passes make other operations of
    it: attention in f64, packed keys and values in a cache, pages and rings whose
    size is no multiple of 8, other operations of the dialect, and operations on
    tensors that do not go element by element. Parallel loops are not looked into.
  }];
}

def OwnDestinations : Pass<"attn-own-destinations"> {
  let summary = "Give each attention a destination of its own";
  let description = [{
    An `attn.attention`, `attn.merge`, `attn.multi_token_attention` or `attn.rope` that writes into a `tensor.empty` that has
    other uses, into a constant or into an argument gets a `tensor.empty` of its
    own. Otherwise bufferization would allocate a buffer for the second one where
    it is written, which may be in a branch that nothing leaves but the result.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def RowsToElements : Pass<"attn-rows-to-elements"> {
  let summary = "Rotate rows and append them to caches element by element";
  let description = [{
    An `attn.rope` or `attn.cache_append` becomes an `scf.forall` over the elements
    of its rows, each of which is a thread's on a GPU: one computes its element of the
    output, or finds the place of its element in the cache and stores it there, if its
    row is new. To a cache of i8, a loop over rows stores scales before, and each
    thread goes through the elements of its row for it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MultiTokenToElements : Pass<"attn-multi-token-to-elements"> {
  let summary = "Lower multi-token attention element by element";
  let description = [{
    Each `attn.multi_token_attention` on tensors becomes an `scf.forall` for each of its
    steps, whose iterations are threads of a GPU: over the scores `(B, Hq, rows, Skv)`
    of the rows of the output, and of those before them that convolutions see; over
    what each stage makes of them; over rows, for the maximum and the sum of each;
    over probabilities; and over the elements of the output. An iteration loops over
    the elements of a head, a kernel, the heads that are mixed, or keys.

    All of these are in memory, in f32, which is said in a remark.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def SplitDecoding : Pass<"attn-split-decoding"> {
  let summary = "Compute parts of the keys of few queries in parallel";
  let description = [{
    Few queries have as many `scf.forall` iterations as there are batch
    entries and heads, too few for a GPU, so the keys of each are split as well. An
    `scf.forall` over batch entries, heads and parts computes the state of each part
    by an `attn.online_attention` for matrix units, whose rows are the queries of all
    heads that share keys, as of `attn-fold-groups`. Another one, whose iterations are
    single elements, merges them into the output, a third one into the
    log-sum-exp, if it is asked for. A sink takes part in the merge.

    Where these rows are those of one warp, up to four warps share the keys of a part: an
    `scf.forall` in that of the parts, whose `mapping` is `#gpu.warp`, has a state for
    each in workgroup memory, and loops over single elements behind it merge them.

    Split are ops whose `attn.plan` has a `chunk`: about as many keys as a part has
    at least. There are at most as many parts, of all heads, as the
    `gpu_multiprocessors` of `#attn.target` have room for at once in their
    `gpu_shared_bytes`. Parts are of the keys that the mask may keep and, of a cache, that
    are stored, and begin at multiples of 64. Of few such keys, the last parts are
    empty, with a maximum of -inf and so the weight 0. How many there are depends on
    sizes alone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RangesToElements : Pass<"attn-ranges-to-elements"> {
  let summary = "Find the ranges of blocks of tables, each in a thread";
  let description = [{
    An `attn.block_range` on tensors becomes an `scf.forall` over the blocks, each of
    which is a thread's on a GPU. It loads eight elements of a row at a time, the last
    one more than once where there are fewer. The mask analysis finds the ranges by
    the op, so that this is behind it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
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
    - So do those of warpgroups. The sums of `attn.warpgroup_mma` are in memory of
      its own, and before `attn.warpgroup_wait` NaNs, or 1 in every other launch.
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

def DelayProducts : Pass<"attn-delay-products"> {
  let summary = "Add the product of weights and values one block of keys later";
  let description = [{
    Where the plan says `warpgroups`, has an iteration of a loop over keys add the product
    of the block before, as in FlashAttention-3 (arXiv:2407.08608): a warpgroup multiplies
    while it makes the weights of its own block. The `attn.online_attention` of the loop
    becomes `delayed`, and the loop carries its weights, in the query's type, and begins
    with weights of 0 and no values. So it has one more iteration, if it has any, whose
    block has no keys of its own, and takes the positions and sizes of the last one.

    Left as they are: loops that carry anything but the state of one block, or write to
    memory; the exact round (A13), values with scales, and dropout; blocks without a
    constant bound of keys; and values that cannot be found for another iteration.
  }];
  let dependentDialects = ["linalg::LinalgDialect", "tensor::TensorDialect"];
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

    Where a loop over keys has one `bounded` block, it carries exponents of powers of 2
    instead of maxima, which its weights are relative to, and 8 sums of each row, which
    need no reduction in it.

    What weights are relative to, the state's m, is the maximum, or, unless a block is
    computed exactly or has dropout, less by at most 5, as on a CPU. So in most blocks
    nothing is rescaled, which is in a branch on `attn.any_in_warp`, before weights are
    computed. What a row becomes does not depend on others.

    Of a block that is `delayed`, both products come before what makes weights, and what a
    product is rescaled by waits until it is there: what warpgroups multiply is under way
    while weights are computed.

    Loops over tiles are mapped to workgroups, and stay loops where they have one
    iteration. Their `attn.warp_rows` is how many rows a warp has, the `lanes` of the
    `attn.plan` of what is in them; their `attn.most_rows`, how many rows their tiles
    have at most, where each `queries` is a constant. It is an error if anything of `attn` is left in a tile, with the reason.
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
    before `y`. A workgroup has a warp for each 16 rows of the products in it, or for as
    many as the loop's `attn.warp_rows` says, which becomes the launch's. Where
    the end of a loop in it depends on the iteration of the last loop, as that over
    keys does under a causal mask, the last iterations are the first workgroups: they
    have most to do. A loop in it over a few numbers whose `mapping` is `#gpu.warp` is for
    as many warps, each with all rows of its own vectors: the workgroup has them along `y`,
    and the loop stays until `attn-distribute-to-lanes`.

    An `scf.forall` without vectors, over elements, becomes a `gpu.launch` with a
    thread for each iteration, 128 in a workgroup. So does an elementwise linalg
    operation on buffers outside of such loops.

    The launches of a function `f` name a module `f_kernels`, to which
    `gpu-kernel-outlining` outlines them all, and which is compiled at once.

    The host has no access to buffers of the device. What it allocates is memory of
    the GPU, `gpu.alloc`, freed where its block ends, or that around the branches
    which give it as a result. An assertion about what buffers
    hold is launched with what it reads: a loop of assertions with a workgroup for
    each iteration, and the loops in it with their iterations shared by 128 threads;
    one of which only memory tells how many iterations it has, with one workgroup.
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
    more than 128 elements, which are too many for registers, or more than 64 where a
    warp has 32 of them, or 256 where a tile has 8 at most.

    Where the rows depend on the iteration of a loop, an iteration starts the copies
    of a later one, if their places do not depend on what the loop carries: blocks
    of keys and values arrive while others are computed with. There are up to four
    stages as long as the workgroups of a multiprocessor have room for them, beside
    the first factors, in its `gpu_shared_bytes` of `#attn.target`, three of heads of
    up to 64 elements, with 16 rows in a warp, and two of others, or 48 KB have; else two if 96 KB have
    room for them. Of workgroups of fewer warps, there are as many as have 8 warps,
    if these have room for two stages; else tiles are copied in turns, each
    behind the barrier after which nobody reads the tile of the iteration before. That
    takes iterations which are through with keys before they read values. Else, an
    iteration has one barrier. Other copies are waited for at once.

    Rows that become numbers of the first factor's type before they are multiplied,
    as narrower floats and i8 with scales do, are converted when they are copied.

    Other copies are of 16 bytes, with 0 for rows and ends of rows that are not there, if a
    check at run time, before the loop, finds that each row begins at a multiple of 16
    bytes, else a loop copies elements. Where all rows of a tile are there, a thread
    starts its copies one behind another, as `nvvm.cp.async`, else in a loop, as
    `nvgpu.device_async_copy`.

    In a launch of `attn.warpgroups`, tiles are panels, which `attn.read_panels` reads, and
    first factors of more than 64 elements are among them. There, the copies of a loop
    are in `attn.producers`, with two mbarriers for each stage.

    A loop with the attribute `attn.rare` copies nothing ahead: its tiles are copied
    when they are read.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def BoundRegisters : Pass<"attn-bound-registers", "::mlir::ModuleOp"> {
  let summary = "Say how many workgroups a multiprocessor is to have at once";
  let description = [{
    Kernels whose loops carry few values need few registers, and several workgroups
    hide each other's waits: `nvvm.minctasm` of a kernel is how many have room for
    their workgroup memory in the `gpu_shared_bytes` of `#attn.target`, and for 168
    registers of each thread.
    Kernels that carry more may take all registers.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def DistributeToLanes : Pass<"attn-distribute-to-lanes"> {
  let summary = "Distribute vectors of a workgroup to the lanes of its warps";
  let description = [{
    Every vector in a `gpu.launch` becomes scalars of a thread. Which, its shape says,
    for M rows of queries and N columns. Each warp has R rows, 16 or the multiple of it
    that `attn.warp_rows` of the launch says. Lane `4 * g + t` of warp `w` has H = R / 8
    rows `r = R * w + g + 8 * h`, and columns `c = 8 * n + 2 * t + e`:

    | layout        | type    | elements                   | number  |
    |---------------|---------|----------------------------|---------|
    | fragment      | `MxN`   | all its rows and columns   | `H * N / 4` |
    | row slice     | `M`, `Mx1` | of its rows, in each of four lanes | `H` |
    | column slice  | `1xN`   | of its columns, in each lane with this `t` | `N / 4` |
    | in workgroup memory | `NxD`, `MxD` | none of its own      |         |

    Of 16 rows, a fragment is the accumulator of `mma.sync` m16n8k16, and at the same time
    its first operand, 16 columns at a time: weights become a factor without moving. A
    `vector.contract` reads its second operand, once for all rows of a warp, and its
    first if that is in workgroup memory too, by `ldmatrix`: see
    `attn-copy-to-workgroup`.

    Rows of a fragment are read and written 16 bytes at a time where they are aligned,
    or as many as divide a row: the lanes of a row exchange pairs by `gpu.shuffle`, so
    that each has neighbours. Other rows are read and written element by element.

    Where `attn.most_rows` of the launch is 8 at most, as it is in decoding, products
    compute the transpose: `mma.sync` has 16 rows and 8 columns. Then a lane has rows
    `r = R * w + 2 * t + e` and columns `c = 8 * n + g`, which are `N / 4` elements of a
    fragment, 2 of a row slice, and `N / 8` of a column slice. The first operand of a
    `vector.contract` takes an `attn.transpose_in_warp` of each 8 columns, and so do rows
    of 16 bits that are read or written, but for those that are read to be a first
    operand alone.

    `attn.any_in_warp` is a vote of the lanes of a warp.

    Of rows in panels, a warpgroup computes the product: `attn.warpgroup_mma`, with
    descriptors of the panels, and `attn.warpgroup_wait` right behind it. Loops and
    branches carry fragments of 16 bits in pairs.

    Of f32 the fragment of the first operand is written to workgroup memory, too, and
    each lane adds up its elements of the product by FMAs, for `k` in their order:
    there is no TF32.

    Operations that are distributed: constants, elementwise ones, `vector.broadcast`,
    `vector.shape_cast` between `M` and `Mx1`, `vector.step`,
    `vector.multi_reduction` of columns or of all to i1, `attn.any_in_warp`,
    `vector.contract`,
    `vector.transfer_read`, `vector.transfer_write`, `vector.gather`, and loops and
    branches of `scf` that carry vectors. Any other one with a vector is an error that names it,
    but vectors of one dimension of fewer than 16 elements, which are a thread's own. Rows
    of fragments aside, elements are read one by one, from memory with any strides.

    Threads share the iterations of an `scf.forall` of scalar code, between two
    barriers. One whose `mapping` is `#gpu.warp` is executed once by each of the warps that
    are along `y`: barriers in it are of a warp, the vote on all elements is, too, and so is
    workgroup memory that nothing else uses. Other memory, which the warps leave to what
    follows, may be where theirs was, behind a barrier of all.

    Workgroup memory is dynamic; the launch gets its size.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def DelayWaits : Pass<"attn-delay-waits"> {
  let summary = "Wait for products of warpgroups where their results are used";
  let description = [{
    Moves each `attn.warpgroup_wait` down its block, to the first operation that uses
    one of its results, or that may write memory or wait for other warps: until then,
    the warpgroup computes beside its matrix unit. Where a branch alone uses them, both of
    its sides begin with the wait. Products that begin on the way stay `pending`.
  }];
}

def NarrowIndices : Pass<"attn-narrow-indices", "::mlir::func::FuncOp"> {
  let summary = "Compute positions in kernels in 32 bits";
  let description = [{
    A GPU computes with 32 bits, and takes two instructions for 64. In a
    `gpu.launch`, integers and indices that are known to fit 32 bits with a sign are
    computed in as many, and so are the counters of loops. Upstream's analysis of integer
    ranges knows it, from what a `cf.assert` of `arith.cmpi ule` in front of the launch says of sizes
    and other values of the host, and of addresses in workgroup memory. Sums and
    products of which only addresses are made, and their counters, stay as they are.

    ```mlir
    %some = arith.cmpi ule, %keys, %c1073741823 : index
    cf.assert %some, "too many keys"
    gpu.launch ... {
      scf.for %i = %c0 to %keys step %c32 { ... }
    }
    ```

    becomes

    ```mlir
    %some = arith.cmpi ule, %keys, %c1073741823 : index
    cf.assert %some, "too many keys"
    gpu.launch ... {
      %end = arith.index_castui %keys : index to i32
      scf.for %i = %c0_i32 to %end step %c32_i32 : i32 { ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SplitRoles : Pass<"attn-split-roles"> {
  let summary = "Give producers and consumers of a workgroup code of their own";
  let description = [{
    In a launch with `attn.producers`, the last so many threads execute what is in its
    `attn.producers` operations, in the loops and branches around them, with the
    values that these need; other threads execute the rest, and wait for each other at
    barriers of their own. Of three warpgroups, one of producers gives registers to the
    others (`setmaxnreg`). A launch without such operations has no producers. It is an error if producers need
    what has effects.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def WarpgroupsToPTX : Pass<"attn-warpgroups-to-ptx"> {
  let summary = "Lower what NVVM does not have of warps to PTX";
  let description = [{
    `attn.warpgroup_mma` and `attn.warpgroup_wait` become inline assembly, for sm_90a:
    `wgmma.mma_async` with the first factor in registers, which `nvvm.wgmma.mma_async`
    takes from workgroup memory alone, or in that. So does `attn.transpose_in_warp`, for
    all GPUs: `movmatrix`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_GPU_PASSES_TD
