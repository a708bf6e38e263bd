//===- Program.cpp - Kernels on a GPU, and how to launch them -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Program.h"

#include <algorithm>
#include <charconv>
#include <optional>

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

/// The CUDA that is the first with a version of PTX, as cuDriverGetVersion
/// gives it, where that is 8.0 or later; from the release notes in the PTX ISA.
static std::optional<int> findDriverOf(std::string_view ptx) {
  constexpr std::string_view before = ".version ";
  std::size_t at = ptx.find(before);
  if (at == std::string_view::npos)
    return std::nullopt;
  const char *end = ptx.data() + ptx.size();
  int major = 0, minor = 0;
  auto [dot, error] =
      std::from_chars(ptx.data() + at + before.size(), end, major);
  if (error != std::errc() || dot == end || *dot != '.' ||
      std::from_chars(dot + 1, end, minor).ec != std::errc() || major < 8)
    return std::nullopt;
  // 8.0 to 8.5 came with 12.0 to 12.5, 8.6 to 8.8 with 12.7 to 12.9, and 9.0
  // with 13.0.
  int later = major == 8 && minor > 5 ? 1 : 0;
  return (major + 4) * 1000 + (minor + later) * 10;
}

/// Has the driver load machine code or PTX. `code` is its answer.
static Status loadImage(const DeviceState &device, const std::string &image,
                        const std::string &what, CUmodule &module,
                        CUresult &code) {
  char log[4096] = "";
  int options[] = {jitErrorLogBuffer, jitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  code = device.driver->moduleLoadDataEx(&module, image.c_str(),
                                         std::size(options), options, values);
  Status status = device.driver->check(code, what);
  if (status)
    return status;
  Error error = std::move(status).error();
  log[sizeof(log) - 1] = '\0';
  if (*log)
    error.message += "\n" + std::string(log);
  return error;
}

Expected<Program> Program::load(const Device &device, const DeviceCode &code) {
  const std::shared_ptr<const DeviceState> &state = device.shared();
  ContextScope scope(*state);
  if (!scope.status())
    return scope.status().error();

  std::string what =
      "cannot load kernels for " + code.architecture + " on " + state->name;
  CUmodule module = nullptr;
  auto finish = [&](std::string remark) {
    return Program(std::make_shared<const Handle<CUmodule>>(
                       state, module, &Driver::moduleUnload),
                   std::move(remark));
  };
  std::string remark = code.remark;
  if (!code.cubin.empty()) {
    CUresult result = 0;
    Status status = loadImage(*state, code.cubin, what, module, result);
    if (status)
      return finish(std::move(remark));
    // What a driver says of machine code that is younger than it is.
    bool isTooYoung = result == invalidImage || result == noBinaryForGPU ||
                      result == unsupportedPTXVersion;
    if (code.ptx.empty() || !isTooYoung)
      return std::move(status).error();
    remark = "is compiled by the driver, which does not take the machine code "
             "of ptxas: " +
             status.error().message;
  }
  std::optional<int> needed = findDriverOf(code.ptx);
  if (needed && state->driverVersion < *needed)
    return Error{what + ": expected a driver of CUDA " + spellVersion(*needed) +
                     " or later, got one of CUDA " +
                     spellVersion(state->driverVersion),
                 {}};
  CUresult result = 0;
  Status status = loadImage(*state, code.ptx, what, module, result);
  if (!status)
    return std::move(status).error();
  return finish(std::move(remark));
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
