//===- Stages.h - What lowerings have in common ------------------*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_STAGES_H
#define ATTN_PIPELINES_STAGES_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::attn {

/// Results to buffers of the caller, operations on tensors to linalg, and the
/// checks that belong before everything else, and that a GPU makes if `onGPU`.
void addTensorStage(OpPassManager &pm, bool onGPU = false);

/// Tensors to buffers, without the copies of a buffer to itself that this
/// leaves.
void addBufferStage(OpPassManager &pm);

/// Buffers are freed where they die.
void addDeallocationStage(OpPassManager &pm);

/// linalg to loops, loops to branches, and addresses as arithmetic.
void addLoopStage(OpPassManager &pm);

/// How numbers are rounded to bf16: exactly, or as the target of the module
/// does, where it has an instruction for it (see attn-expand-arith).
enum class Rounding { Exact, OfTarget };

/// Operations on bf16 and f16 as operations on f32 that round once.
void addSmallFloatStage(OpPassManager &pm, Rounding rounding);

/// What is left to the LLVM dialect.
void addLLVMStage(OpPassManager &pm);

/// The contents of every gpu.module to the LLVM and NVVM dialects, without
/// transfers of vectors, of which lanes have none.
void addNVVMStage(OpPassManager &pm);

/// Functions that compute sizes and launch kernels, on every target, to the
/// LLVM dialect.
void addHostStage(OpPassManager &pm);

} // namespace mlir::attn

#endif // ATTN_PIPELINES_STAGES_H
