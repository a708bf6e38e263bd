//===- DeviceFunctions.h - What code for devices calls ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_DEVICEFUNCTIONS_H
#define ATTN_RUNTIME_JIT_DEVICEFUNCTIONS_H

#include <utility>
#include <vector>

namespace attn::jit {

/// The functions of the runtime that code for GPUs and for the emulator calls
/// by name, with their addresses: none in a build without GPUs.
std::vector<std::pair<const char *, void *>> getDeviceFunctions();

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_DEVICEFUNCTIONS_H
