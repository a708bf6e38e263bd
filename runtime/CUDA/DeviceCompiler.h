//===- DeviceCompiler.h - gpu.module to PTX and machine code ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICECOMPILER_H
#define ATTN_RUNTIME_CUDA_DEVICECOMPILER_H

#include "attn/error.h"
#include "runtime/Bridge/FileCache.h"
#include "runtime/CUDA/DeviceCode.h"
#include "runtime/CUDA/Ptxas.h"

#include <optional>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace attn::cuda {

struct DeviceCompilerOptions {
  /// "sm_80" or a later one that LLVM knows, such as "sm_90a".
  std::string architecture;
  /// Where it is, and does not fail, machine code is made here. Otherwise the
  /// driver makes it.
  std::optional<Ptxas> ptxas;
  /// Directory of compiled code, shared by processes; created when missing.
  /// Empty: nothing is kept.
  std::string cacheDirectory;
};

/// Compiles kernels of GPUs. Needs no GPU.
class DeviceCompiler {
public:
  static Expected<DeviceCompiler> create(DeviceCompilerOptions options);

  /// Code of `kernels`, which is on memref, vector, gpu, nvgpu and nvvm or
  /// lower, and stays as it is. Its context has the dialects of
  /// mlir::attn::registerDeviceDialects. An error if ptxas says that the code
  /// is slow. Safe to call from several threads, for different contexts.
  Expected<DeviceCode> compile(mlir::gpu::GPUModuleOp kernels) const;

private:
  DeviceCompiler(DeviceCompilerOptions options, std::optional<FileCache> cache,
                 std::string identity)
      : options(std::move(options)), cache(std::move(cache)),
        identity(std::move(identity)) {}

  DeviceCompilerOptions options;
  std::optional<FileCache> cache;
  /// Everything but the kernels that decides what code comes out.
  std::string identity;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_DEVICECOMPILER_H
