//===- DeviceKernels.cpp - Kernels that a GPU has loaded ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/DeviceKernels.h"
#include "runtime/JIT/LaunchSizes.h"
#include "runtime/Support/Call.h"

using namespace attn;
using namespace attn::jit;

Expected<std::shared_ptr<const DeviceKernels>>
DeviceKernels::load(cuda::Device device,
                    std::span<const DeviceModule> modules) {
  std::shared_ptr<DeviceKernels> result(new DeviceKernels(std::move(device)));
  for (const DeviceModule &module : modules) {
    Expected<cuda::Program> program =
        cuda::Program::load(result->device, module.code);
    if (!program)
      return std::move(program).error();
    if (!program->remark().empty())
      result->remarks.push_back(program->remark());
    result->programs.emplace(module.name, std::move(*program));
  }
  return std::shared_ptr<const DeviceKernels>(std::move(result));
}

Expected<cuda::Function>
DeviceKernels::getFunction(const std::string &module, const std::string &kernel,
                           unsigned sharedBytes) const {
  std::lock_guard lock(mutex);
  std::tuple key(module, kernel, sharedBytes);
  if (auto found = functions.find(key); found != functions.end())
    return found->second;
  auto program = programs.find(module);
  if (program == programs.end())
    return Error{"no kernels of module '" + module + "' are loaded", {}};
  Expected<cuda::Function> function =
      program->second.getFunction(kernel, sharedBytes);
  if (function)
    functions.emplace(std::move(key), *function);
  return function;
}

DeviceCall::~DeviceCall() {
  // Where the context is lost, so is its memory.
  for (cuda::CUdeviceptr buffer : buffers)
    (void)kernels.getDevice().freeInStream(buffer, stream);
}

Status DeviceCall::launch(const char *module, const char *kernel,
                          const std::int64_t *sizes, void **arguments) const {
  Expected<cuda::Function> function =
      kernels.getFunction(module, kernel, toLaunchSize(sizes[6]));
  if (!function)
    return std::move(function).error();
  return function->launch(
      {.grid = {toLaunchSize(sizes[0]), toLaunchSize(sizes[1]),
                toLaunchSize(sizes[2])},
       .block = {toLaunchSize(sizes[3]), toLaunchSize(sizes[4]),
                 toLaunchSize(sizes[5])}},
      arguments, stream);
}

Expected<cuda::CUdeviceptr> DeviceCall::allocate(std::size_t bytes) {
  Expected<cuda::CUdeviceptr> address =
      kernels.getDevice().allocateInStream(bytes, stream);
  if (address)
    buffers.push_back(*address);
  return address;
}

Status DeviceCall::free(cuda::CUdeviceptr address) {
  std::erase(buffers, address);
  return kernels.getDevice().freeInStream(address, stream);
}

/// Calls `function` with the current call, and ends that if it fails.
template <typename Function> static void callDevice(Function function) {
  const char *message;
  {
    Status status =
        function(*static_cast<DeviceCall *>(support::getCurrentCall().device));
    if (status)
      return;
    message = support::keepMessage(status.error().message);
  }
  attn_rt_fail(message);
}

void attn_gpu_launch(const char *module, const char *kernel,
                     const std::int64_t *sizes, void **arguments) {
  callDevice([&](DeviceCall &call) {
    return call.launch(module, kernel, sizes, arguments);
  });
}

void *attn_gpu_alloc(std::size_t size, std::size_t) {
  cuda::CUdeviceptr result = 0;
  callDevice([&](DeviceCall &call) -> Status {
    Expected<cuda::CUdeviceptr> address = call.allocate(size);
    if (!address)
      return std::move(address).error();
    result = *address;
    return {};
  });
  return reinterpret_cast<void *>(result);
}

void attn_gpu_free(void *pointer) {
  callDevice([&](DeviceCall &call) {
    return call.free(reinterpret_cast<cuda::CUdeviceptr>(pointer));
  });
}
