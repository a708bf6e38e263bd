//===- EmulatedKernel.h - A kernel of a GPU, run on the CPU -- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_EMULATEDKERNEL_H
#define ATTN_RUNTIME_JIT_EMULATEDKERNEL_H

#include "runtime/Emulator/Launch.h"

#include <memory>

namespace mlir {
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace attn::jit {

class LinkedCode;

/// A kernel for NVIDIA GPUs that this machine executes, thread by thread, from
/// the same IR of the LLVM and NVVM dialects that PTX is generated from.
class EmulatedKernel {
public:
  /// Compiles the kernel `name` of `kernels`, in the dialects that
  /// `buildGPUToNVVMPipeline` takes, in a context that has those of
  /// `registerDeviceDialects`. `kernels` stays as it is.
  static Expected<EmulatedKernel> compile(mlir::gpu::GPUModuleOp kernels,
                                          const std::string &name);

  /// Executes the kernel. An element of `arguments` points to the value of a
  /// parameter of the function in the LLVM dialect, as for cuLaunchKernel: a
  /// memref is its descriptor's fields. Safe to call from several threads.
  Status launch(void **arguments, const emulator::LaunchOptions &options) const;

  /// What the kernel is and requires.
  const emulator::KernelCode &getCode() const { return kernel; }

private:
  EmulatedKernel(emulator::KernelCode kernel, std::shared_ptr<LinkedCode> code)
      : kernel(std::move(kernel)), code(std::move(code)) {}

  emulator::KernelCode kernel;
  std::shared_ptr<LinkedCode> code;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_EMULATEDKERNEL_H
