//===- Passes.td - Passes of vector code for CPUs ----------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_PASSES_TD
#define ATTN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToVector : Pass<"convert-attn-to-vector"> {
  let summary = "Convert the inner ops of attention to vector code";
  let description = [{
    Converts `attn.online_softmax`, `attn.all_finite` and `attn.block_range` on
    buffers to loops over vectors, and `math.exp2`, `math.tanh`, and `math.exp` with `afn`
    of whole vectors of f32. With `scalef` and 512 bits in the target, `arith.divf` with `arcp` becomes
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
    value without a result (A12) becomes an `attn.report`.

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
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def VectorizeContractions : Pass<"attn-vectorize-contractions"> {
  let summary = "Compute linalg contractions on buffers in vector registers";
  let description = [{
    Replaces C[m,n] += A[m,k] * B[k,n], where n is the contiguous, last dimension
    of B and C and has a static size that fills vectors, the last one maybe in
    part, by loops around `vector.contract`s. A block of C stays in registers for
    all k, and starts as what an elementwise operation right before computes, such
    as a `linalg.fill`. A is read in place, one scalar at a time, whatever its
    strides. The block is as large as the registers allow.

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
    end. The sums of a product that `attn-vectorize-contractions` left, as its columns
    fill no register or its elements have another type than the sums, are taken by
    its columns, and fused.

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
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // ATTN_CPU_PASSES_TD
