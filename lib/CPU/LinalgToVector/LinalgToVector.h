//===- LinalgToVector.h - linalg on buffers as vectors ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_LINALGTOVECTOR_H
#define ATTN_CPU_LINALGTOVECTOR_LINALGTOVECTOR_H

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// The vector registers of a machine.
struct VectorRegisters {
  unsigned bits = 256;
  unsigned count = 16;

  /// Elements of `elementBits` in a register.
  int64_t getWidth(unsigned elementBits) const { return bits / elementBits; }
  /// Whether sums of products leave few for anything else.
  bool isFew() const { return count <= 16; }
};

/// A buffer for every thread, allocated outside of the loops over tiles around
/// the insertion point.
Value allocateForThread(OpBuilder &b, Location loc, MemRefType type);

/// What contractions are made of on a machine.
struct ContractionTarget {
  VectorRegisters registers;
  /// There are dot products of pairs of bf16, on vectors of 512 bits
  /// (AVX512-BF16).
  bool dot = false;
  /// There are products of tiles of pairs of bf16 as well (AMX-BF16).
  bool tiles = false;
  /// There are dot products of i8, unsigned and signed, on vectors of 256
  /// (AVX-VNNI) or 512 bits (AVX512-VNNI).
  bool i8Dot = false;
};

/// The size of a dimension of a buffer, at most; 0: any.
int64_t getMost(Value buffer, int64_t dim);

/// Whether the body is c + a * b, of numbers that may be converted first.
bool multipliesAndAdds(linalg::LinalgOp op);

/// Whether all operands are buffers of f32 of static sizes, none of which is 0.
bool isOfStaticF32(linalg::LinalgOp op);

/// Replaces C[r,j] += sum over e, a and k of A[e,r+a,j+k] * B[e,a,k], of f32 on
/// buffers of static sizes, by loops that keep a block of C in registers.
/// Fails, having changed nothing, on others.
LogicalResult vectorizeConvolution(RewriterBase &rewriter, linalg::LinalgOp op,
                                   const VectorRegisters &registers);

/// Whether `op` is B[e,a,k] += sum over r and j of A[e,r+a,j+k] * C[r,j], the
/// gradient of such a kernel.
bool isKernelGradient(linalg::LinalgOp op);
/// Replaces it, of f32 on buffers of static sizes, by loops that keep sums of a
/// column of the kernel in registers. Fails, having changed nothing, on others.
LogicalResult vectorizeKernelGradient(RewriterBase &rewriter,
                                      linalg::LinalgOp op,
                                      const VectorRegisters &registers);

/// Replaces C[m,n] += A[m,k] * B[n,k] on buffers, where n are static and no
/// more than a vector has lanes and k fill vectors, by loops around vectors of
/// k. The operation must be a sum of products, of f32 or, where the target
/// multiplies them, of i8 in i32. Fails, having changed nothing, on others.
LogicalResult vectorizeDots(RewriterBase &rewriter, linalg::LinalgOp op,
                            const ContractionTarget &target);

/// Replaces an operation on buffers that reduces its last dimension, which is
/// contiguous, to one number for each row by loops around vectors. Numbers are
/// combined in another order than one by one. Fails, having changed nothing, on
/// others.
LogicalResult vectorizeReduction(RewriterBase &rewriter, linalg::LinalgOp op,
                                 const VectorRegisters &registers);

/// Replaces an elementwise operation on matrices of static sizes that reads one
/// of them transposed by loops around blocks that are transposed in registers.
/// Fails, having changed nothing, on others.
LogicalResult vectorizeTranspose(RewriterBase &rewriter, linalg::LinalgOp op,
                                 const VectorRegisters &registers);

/// Replaces an operation on buffers that writes pairs of 16 bits by loops
/// around vectors of 512 bits: one that transposes a matrix of pairs, and one
/// that rounds two rows of f32 to a row of pairs of bf16, with an instruction
/// of AVX512-BF16. Fails, having changed nothing, on others.
LogicalResult vectorizePairs(RewriterBase &rewriter, linalg::LinalgOp op);

/// Replaces an operation on buffers that widens pairs of bf16 to two rows of
/// f32 by loops around vectors: what a target without products of pairs makes
/// of a weight in pairs. Fails, having changed nothing, on others.
LogicalResult widenPairs(RewriterBase &rewriter, linalg::LinalgOp op,
                         const VectorRegisters &registers);

/// Replaces an elementwise operation that writes rows of bf16, rounded from
/// columns of f32, by loops around squares of pairs that are transposed in
/// registers of 512 bits: half as much as before the rounding. Fails, having
/// changed nothing, on others.
LogicalResult vectorizeRoundedColumns(RewriterBase &rewriter,
                                      linalg::LinalgOp op);

/// A register of pairs of bf16, from one of 16 elements of f32, bf16 or i8 for
/// the first elements and one for the second.
Value emitPairs(ImplicitLocOpBuilder &b, Value first, Value second);

/// A view of `buffer` with its last two dimensions, the last of which is of
/// contiguous pairs, as one.
TypedValue<MemRefType> joinPairs(ImplicitLocOpBuilder &b,
                                 TypedValue<MemRefType> buffer);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_LINALGTOVECTOR_H
