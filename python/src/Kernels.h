//===- Kernels.h - Engines and kernels in Python ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_KERNELS_H
#define ATTN_PYTHON_SRC_KERNELS_H

#include <nanobind/nanobind.h>

namespace attn::python {

/// Adds Engine, Kernel and BlockMap.
void bindKernels(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_KERNELS_H
