//===- KernelSizes.h - Which sizes a kernel's callers provide ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_KERNELSIZES_H
#define ATTN_KERNEL_KERNELSIZES_H

#include "lib/Kernel/LinearSize.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// What a kernel's callers must know about sizes.
struct KernelSizes {
  /// Two sizes that must be equal in every call. `text` says why, e.g.
  /// "key/value length of attn.attention".
  struct Constraint {
    LinearSize lhs, rhs;
    std::string text;
  };

  /// Of every dimension of every result.
  std::vector<std::vector<LinearSize>> results;
  std::vector<Constraint> constraints;
};

/// Reads the sizes off a prepared function whose results are ranked tensors.
/// Emits an error where a result's size does not follow from the arguments.
FailureOr<KernelSizes> computeKernelSizes(func::FuncOp entry);

} // namespace mlir::attn

#endif // ATTN_KERNEL_KERNELSIZES_H
