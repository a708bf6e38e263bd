//===- KernelCode.h - What copies of a kernel share -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_KERNELCODE_H
#define ATTN_RUNTIME_JIT_KERNELCODE_H

#include "runtime/JIT/DeviceKernels.h"
#include "runtime/JIT/LazyForms.h"
#include "runtime/JIT/Linker.h"

#include "runtime/Support/ParallelFor.h"

#include "attn/kernel.h"

namespace attn::detail {

struct KernelCode {
  Signature signature;
  std::unique_ptr<jit::LinkedCode> code;
  std::shared_ptr<const support::Threads> threads; ///< What calls run on.
  std::string pipeline;
  /// What it launches; null unless the pipeline is "gpu".
  std::shared_ptr<const jit::DeviceKernels> device;
  std::vector<Diagnostic> remarks;
  /// What computes few queries; null if this does.
  std::unique_ptr<jit::LazyForms> forms;

  /// Checks and makes a call on `device`, whose tensors are in its memory.
  Status launch(std::span<const Argument> arguments,
                std::span<const TensorView> results,
                cuda::CUstream stream) const {
    jit::DeviceCall call(*device, stream);
    return support::callKernel(signature, code->getEntry(), threads.get(),
                               arguments, results, &call);
  }
};

} // namespace attn::detail

#endif // ATTN_RUNTIME_JIT_KERNELCODE_H
