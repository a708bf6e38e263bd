//===- KernelCode.h - What copies of a kernel share -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_KERNELCODE_H
#define ATTN_RUNTIME_JIT_KERNELCODE_H

#include "runtime/JIT/Linker.h"

#include "runtime/Support/ParallelFor.h"

#include "attn/kernel.h"

namespace attn::detail {

struct KernelCode {
  Signature signature;
  std::unique_ptr<jit::LinkedCode> code;
  std::shared_ptr<const support::Threads> threads; ///< What calls run on.
};

} // namespace attn::detail

#endif // ATTN_RUNTIME_JIT_KERNELCODE_H
