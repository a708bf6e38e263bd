//===- WithoutDevice.cpp - A build without GPUs ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/DeviceFunctions.h"
#include "runtime/JIT/DeviceKernels.h"
#include "runtime/JIT/DeviceTarget.h"
#include "runtime/JIT/HostTensors.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/ErrorHandling.h"

using namespace attn;
using namespace attn::jit;

Expected<std::shared_ptr<const DeviceTarget>> LazyDeviceTarget::get() {
  return Error{"no GPU: this build of Attn is without them; configure it with "
               "-DATTN_GPU=ON",
               {}};
}

std::vector<std::pair<const char *, void *>> jit::getDeviceFunctions() {
  return {};
}

// What needs a target, which there is none of.

bool DeviceTarget::hasMemoryFor(mlir::ModuleOp) const {
  llvm_unreachable("no target");
}

Expected<cuda::DeviceCode> DeviceTarget::compile(mlir::gpu::GPUModuleOp) const {
  llvm_unreachable("no target");
}

const mlir::DialectRegistry &jit::getDeviceRegistry() {
  llvm_unreachable("no lowering uses a device");
}

Expected<std::shared_ptr<const DeviceKernels>>
DeviceKernels::load(cuda::Device, std::span<const DeviceModule>) {
  llvm_unreachable("no target");
}

DeviceCall::~DeviceCall() = default;

Status jit::runOnHostTensors(const detail::KernelCode &,
                             std::span<const Argument>,
                             std::span<const TensorView>) {
  llvm_unreachable("no target");
}
