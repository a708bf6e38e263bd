//===- DeviceFunctions.cpp - What code for devices calls ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/DeviceFunctions.h"
#include "runtime/JIT/DeviceKernels.h"
#include "runtime/JIT/EmulatedLaunch.h"

#include "runtime/Emulator/Functions.h"

using namespace attn;

std::vector<std::pair<const char *, void *>> jit::getDeviceFunctions() {
  std::vector<std::pair<const char *, void *>> functions;
  auto add = [&](const char *name, auto *function) {
    functions.emplace_back(name, reinterpret_cast<void *>(function));
  };
  add("attn_gpu_launch", &attn_gpu_launch);
  add("attn_gpu_alloc", &attn_gpu_alloc);
  add("attn_gpu_free", &attn_gpu_free);
  add("attn_emu_launch", &attn_emu_launch);
  for (const emulator::Function &function : emulator::getFunctions())
    functions.emplace_back(function.name, function.address);
  return functions;
}
