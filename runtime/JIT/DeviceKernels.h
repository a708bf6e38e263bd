//===- DeviceKernels.h - Kernels that a GPU has loaded ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_DEVICEKERNELS_H
#define ATTN_RUNTIME_JIT_DEVICEKERNELS_H

#include "runtime/CUDA/Program.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace attn::jit {

/// The kernels of one gpu.module.
struct DeviceModule {
  std::string name;
  cuda::DeviceCode code;
};

/// What a compiled function launches, on a GPU. May be used from several
/// threads at once.
class DeviceKernels {
public:
  static Expected<std::shared_ptr<const DeviceKernels>>
  load(cuda::Device device, std::span<const DeviceModule> modules);

  const cuda::Device &getDevice() const { return device; }
  /// Why the driver has compiled kernels although there is a ptxas.
  const std::vector<std::string> &getRemarks() const { return remarks; }

  /// A kernel of a module with this much dynamic shared memory.
  Expected<cuda::Function> getFunction(const std::string &module,
                                       const std::string &kernel,
                                       unsigned sharedBytes) const;

private:
  explicit DeviceKernels(cuda::Device device) : device(std::move(device)) {}

  cuda::Device device;
  std::map<std::string, cuda::Program> programs; ///< By module.
  std::vector<std::string> remarks;
  mutable std::mutex mutex;
  /// By module, kernel and shared memory: the driver is asked for each once.
  mutable std::map<std::tuple<std::string, std::string, unsigned>,
                   cuda::Function>
      functions;
};

/// One call of generated code, for which it launches kernels and has memory on
/// the GPU. What it has not freed, because it failed, is freed at the end.
class DeviceCall {
public:
  /// A null stream is the default one.
  DeviceCall(const DeviceKernels &kernels, cuda::CUstream stream)
      : kernels(kernels), stream(stream) {}
  ~DeviceCall();
  DeviceCall(const DeviceCall &) = delete;
  DeviceCall &operator=(const DeviceCall &) = delete;

  /// `sizes` and `arguments` are those of attn_gpu_launch.
  Status launch(const char *module, const char *kernel,
                const std::int64_t *sizes, void **arguments) const;
  Expected<cuda::CUdeviceptr> allocate(std::size_t bytes);
  Status free(cuda::CUdeviceptr address);

private:
  const DeviceKernels &kernels;
  cuda::CUstream stream;
  std::vector<cuda::CUdeviceptr> buffers; ///< Not freed yet.
};

} // namespace attn::jit

extern "C" {
/// What `convert-launch-to-runtime` makes of `gpu.launch_func`: launches a
/// kernel on the GPU of the call's DeviceCall, or nothing if the grid is empty.
/// Ends the call if the launch fails.
///
/// `sizes` are the grid's x, y and z, the block's, and the bytes of dynamic
/// shared memory. An element of `arguments` points to the value of a parameter,
/// as for cuLaunchKernel.
void attn_gpu_launch(const char *module, const char *kernel,
                     const std::int64_t *sizes, void **arguments);

/// What `convert-to-runtime-calls` makes of `gpu.alloc`: at least `size` bytes
/// of the GPU at a multiple of `alignment`, a power of two up to 256, in the
/// order of the call's stream. Ends the call if there is no such memory.
void *attn_gpu_alloc(std::size_t size, std::size_t alignment);
/// Frees what `attn_gpu_alloc` returned in the same call.
void attn_gpu_free(void *pointer);
}

#endif // ATTN_RUNTIME_JIT_DEVICEKERNELS_H
