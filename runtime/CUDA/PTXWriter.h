//===- PTXWriter.h - Kernels in LLVM and NVVM to PTX ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_PTXWRITER_H
#define ATTN_RUNTIME_CUDA_PTXWRITER_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace attn::cuda {

inline constexpr llvm::StringLiteral gpuTriple = "nvptx64-nvidia-cuda";

/// PTX of `kernels`, which are on the dialects that LLVM IR is translated from,
/// for an architecture such as "sm_80". Where there is none, diagnostics say
/// why, or `failure` has the errors of LLVM's code generator.
std::optional<std::string> translateToPTX(mlir::gpu::GPUModuleOp kernels,
                                          llvm::StringRef architecture,
                                          llvm::StringRef features,
                                          std::string &failure);

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_PTXWRITER_H
