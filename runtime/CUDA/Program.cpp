//===- Program.cpp - Kernels on a GPU, and how to launch them -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Program.h"

#include <algorithm>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void LaunchArguments::addMemRef(CUdeviceptr address,
                                std::span<const std::int64_t> sizes,
                                std::span<const std::int64_t> strides) {
  add(address); // As allocated, for a deallocation that kernels do not have.
  add(address);
  add(std::int64_t(0)); // The offset of the first element.
  for (std::int64_t size : sizes)
    add(size);
  for (std::int64_t stride : strides)
    add(stride);
}

std::vector<void *> LaunchArguments::pointers() const {
  std::vector<void *> result;
  for (const Value &value : values)
    result.push_back(const_cast<Value *>(&value)); // It only reads them.
  return result;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Expected<Program> Program::load(const Device &device, const DeviceCode &code) {
  const std::shared_ptr<const DeviceState> &state = device.shared();
  const Driver &driver = *state->driver;
  ContextScope scope(*state);
  if (!scope.status())
    return scope.status().error();

  const std::string &image = code.cubin.empty() ? code.ptx : code.cubin;
  char log[4096] = "";
  int options[] = {jitErrorLogBuffer, jitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUmodule module = nullptr;
  Status status = driver.check(
      driver.moduleLoadDataEx(&module, image.c_str(), std::size(options),
                              options, values),
      "cannot load kernels for " + code.architecture + " on " + state->name);
  if (!status) {
    Error error = std::move(status).error();
    log[sizeof(log) - 1] = '\0';
    if (*log)
      error.message += "\n" + std::string(log);
    return error;
  }
  return Program(std::make_shared<const Handle<CUmodule>>(
      state, module, &Driver::moduleUnload));
}

Expected<Function> Program::getFunction(const std::string &name,
                                        unsigned dynamicSharedBytes) const {
  const DeviceState &device = *module->owner();
  const Driver &driver = *device.driver;
  ContextScope scope(device);
  if (!scope.status())
    return scope.status().error();
  CUfunction function = nullptr;
  Status status = driver.check(
      driver.moduleGetFunction(&function, module->get(), name.c_str()),
      "cannot find kernel '" + name + "'");
  // Kernels have 48 KiB without being asked.
  constexpr unsigned free = 48 * 1024;
  if (status && dynamicSharedBytes > free)
    status = driver.check(
        driver.funcSetAttribute(function, maxDynamicSharedSizeBytes,
                                int(dynamicSharedBytes)),
        "kernel '" + name + "' cannot have " +
            std::to_string(dynamicSharedBytes) + " bytes of shared memory");
  if (!status)
    return std::move(status).error();
  return Function(module, function, name, dynamicSharedBytes);
}

Status Function::launch(const LaunchSize &size,
                        const LaunchArguments &arguments,
                        const Stream &stream) const {
  return launch(size, arguments.pointers().data(), stream.raw());
}

Status Function::launch(const LaunchSize &size, void **arguments,
                        CUstream stream) const {
  // The driver refuses empty grids.
  if (*std::ranges::min_element(size.grid) == 0)
    return {};
  const DeviceState &device = *module->owner();
  const Driver &driver = *device.driver;
  ContextScope scope(device);
  if (!scope.status())
    return scope.status();
  const auto &[gridX, gridY, gridZ] = size.grid;
  const auto &[blockX, blockY, blockZ] = size.block;
  return driver.check(driver.launchKernel(function, gridX, gridY, gridZ, blockX,
                                          blockY, blockZ, dynamicSharedBytes,
                                          stream, arguments,
                                          /*extra=*/nullptr),
                      "cannot launch kernel '" + name + "'");
}
