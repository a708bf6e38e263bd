//===- DeviceTarget.h - The GPU of an engine --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_DEVICETARGET_H
#define ATTN_RUNTIME_JIT_DEVICETARGET_H

#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/DeviceCompiler.h"

#include <mutex>

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace attn::jit {

/// A GPU, and what compiles for it.
struct DeviceTarget {
  cuda::Device device;
  cuda::DeviceCompiler compiler;
  /// What lowerings may know of it, as parameters of `#attn.target`, each after
  /// a comma.
  std::string parameters;
  /// What decides, besides the kernels, which code comes out.
  std::string identity;

  /// Whether launches in `module` ask for no more workgroup memory than a
  /// workgroup may have; else there is an error at the first that does.
  bool hasMemoryFor(mlir::ModuleOp module) const;
  /// What `compiler` makes of `kernels`.
  Expected<cuda::DeviceCode> compile(mlir::gpu::GPUModuleOp kernels) const;
};

/// Every kernel dialect and those of kernels of GPUs, with which lowering for
/// CPUs takes longer.
const mlir::DialectRegistry &getDeviceRegistry();

/// The GPU of an engine, which is opened when the first kernel needs it. May be
/// used from several threads at once.
class LazyDeviceTarget {
public:
  explicit LazyDeviceTarget(cuda::DeviceOptions options)
      : options(std::move(options)) {}

  /// Errors as for cuda::Device::open. After one, the next call tries again.
  Expected<std::shared_ptr<const DeviceTarget>> get();

private:
  const cuda::DeviceOptions options;
  std::mutex mutex;
  std::shared_ptr<const DeviceTarget> target;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_DEVICETARGET_H
