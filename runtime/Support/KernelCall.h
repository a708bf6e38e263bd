//===- KernelCall.h - A checked call of a kernel ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_KERNELCALL_H
#define ATTN_RUNTIME_SUPPORT_KERNELCALL_H

#include "attn/kernel.h"

#include <span>

namespace attn::support {

struct Threads;

/// A kernel's function. An element of `arguments` points to a memref descriptor
/// or to a scalar; arguments first, then results.
using KernelEntry = void (*)(void **arguments);

/// Checks a call against the signature as `Kernel::run` says, and makes it.
/// `device` is CallRecord's.
Status callKernel(const Signature &signature, KernelEntry entry,
                  const Threads *threads, std::span<const Argument> arguments,
                  std::span<const TensorView> results, void *device = nullptr);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_KERNELCALL_H
