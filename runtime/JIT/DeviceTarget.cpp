//===- DeviceTarget.cpp - The GPU of an engine ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/DeviceTarget.h"

#include "lib/Plan/CacheModel.h"
#include "lib/Registration/Registration.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Matchers.h"

using namespace attn;
using namespace attn::jit;

bool DeviceTarget::hasMemoryFor(mlir::ModuleOp module) const {
  std::int64_t most = device.sharedBytes() - mlir::attn::kReservedOfWorkgroup;
  auto walk = module.walk([&](mlir::gpu::LaunchFuncOp launch) {
    llvm::APInt bytes;
    mlir::Value size = launch.getDynamicSharedMemorySize();
    if (most <= 0 || !size ||
        !mlir::matchPattern(size, mlir::m_ConstantInt(&bytes)) ||
        bytes.getSExtValue() <= most)
      return mlir::WalkResult::advance();
    launch.emitError() << "needs " << bytes.getSExtValue()
                       << " bytes of workgroup memory, of which this GPU has "
                          "at most "
                       << most << ": heads of fewer elements need less";
    return mlir::WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

Expected<cuda::DeviceCode>
DeviceTarget::compile(mlir::gpu::GPUModuleOp kernels) const {
  return compiler.compile(kernels);
}

const mlir::DialectRegistry &jit::getDeviceRegistry() {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry result;
    mlir::attn::registerKernelDialects(result);
    mlir::attn::registerDeviceDialects(result);
    return result;
  }();
  return registry;
}

Expected<std::shared_ptr<const DeviceTarget>> LazyDeviceTarget::get() {
  std::lock_guard lock(mutex);
  if (target)
    return target;
  Expected<cuda::Device> device = cuda::Device::open(options);
  if (!device)
    return std::move(device).error();
  std::optional<cuda::Ptxas> ptxas = cuda::Ptxas::find();
  std::string architecture = device->architecture();
  std::string parameters;
  // What `#attn.target` would refuse is as good as not known.
  if (device->multiprocessors() > 0)
    parameters +=
        ", gpu_multiprocessors = " + std::to_string(device->multiprocessors());
  if (device->sharedBytes() >= 1 << 10)
    parameters +=
        ", gpu_shared_bytes = " + std::to_string(device->sharedBytes());
  if (architecture == "sm_90a")
    parameters += ", gpu_warpgroups = true";
  std::string identity = architecture + parameters +
                         (ptxas ? ", " + ptxas->version() : std::string());
  Expected<cuda::DeviceCompiler> compiler = cuda::DeviceCompiler::create(
      {.architecture = architecture, .ptxas = std::move(ptxas)});
  if (!compiler)
    return std::move(compiler).error();
  target = std::make_shared<const DeviceTarget>(
      std::move(*device), std::move(*compiler), std::move(parameters),
      std::move(identity));
  return target;
}
