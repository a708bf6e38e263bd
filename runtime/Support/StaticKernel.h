//===- StaticKernel.h - Kernels compiled ahead of time ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_STATICKERNEL_H
#define ATTN_RUNTIME_SUPPORT_STATICKERNEL_H

#include "attn/static_kernel.h"

#include "runtime/Support/KernelCall.h"

#include <atomic>

/// What an object file has of its kernel, which `attn-compile` writes as LLVM
/// IR of the same layout.
struct attn_rt_static_kernel {
  attn::support::KernelEntry entry;
  /// Text of the signature.
  const char *signature;
  std::size_t signatureSize;
  /// LLVM's names of the vector extensions that it is compiled for, between
  /// commas.
  const char *features;
  /// The signature once it has been read, which is never freed.
  std::atomic<const attn::Signature *> decoded;
};

extern "C" {
/// A call from C. `arguments`, and after them the results, point to an
/// attn_tensor, to the `int64_t` of an integer, or to the `double` of a
/// floating-point number. Returns 0; or 1, and writes why to `error`, cut off
/// to fit `errorSize` bytes with its final 0. `error` may be null.
ATTN_EXPORT int attn_rt_call_static_kernel(attn_rt_static_kernel *kernel,
                                           const void *const *arguments,
                                           char *error, std::size_t errorSize);
}

#endif // ATTN_RUNTIME_SUPPORT_STATICKERNEL_H
