//===- DeviceCode.h - Compiled kernels of a GPU -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICECODE_H
#define ATTN_RUNTIME_CUDA_DEVICECODE_H

#include <string>
#include <vector>

namespace attn::cuda {

/// What one kernel takes of a multiprocessor, as ptxas reports it.
struct KernelResources {
  std::string name;
  unsigned registers = 0;         ///< Of a thread.
  unsigned staticSharedBytes = 0; ///< Of a block; dynamic ones come on top.
  unsigned stackBytes = 0;        ///< Of a thread, in local memory.
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
  bool operator==(const KernelResources &) const = default;
};

/// The kernels of one gpu.module.
struct DeviceCode {
  std::string architecture; ///< Such as "sm_80".
  std::string ptx;
  /// Machine code; empty where it was compiled without ptxas. The driver then
  /// compiles the PTX.
  std::string cubin;
  /// Of every kernel; empty where there is no machine code.
  std::vector<KernelResources> resources;
  /// Why there is no machine code although there is a ptxas, for users to read;
  /// else empty.
  std::string remark;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_DEVICECODE_H
