//===- HostTensors.h - A call on a GPU with tensors of the host -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_HOSTTENSORS_H
#define ATTN_RUNTIME_JIT_HOSTTENSORS_H

#include "runtime/JIT/KernelCode.h"

namespace attn::jit {

/// Runs a kernel of a GPU on tensors of the host's memory: copies them to the
/// GPU, runs, copies the results back, and waits.
Status runOnHostTensors(const detail::KernelCode &code,
                        std::span<const Argument> arguments,
                        std::span<const TensorView> results);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_HOSTTENSORS_H
