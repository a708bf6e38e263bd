//===- Module.cpp - The Python module attn._attn --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host API for Python: every member is one of C++, under Python's name for
// it.
//
//===----------------------------------------------------------------------===//

#include "python/src/Attention.h"
#include "python/src/Captures.h"
#include "python/src/Errors.h"
#include "python/src/Kernels.h"
#include "python/src/Layers.h"
#include "python/src/MasksAndScores.h"
#include "python/src/PagedCaches.h"
#include "python/src/Values.h"

NB_MODULE(_attn, module) {
  // Operators of PyTorch, and the forms that attn.torch has compiled, keep
  // kernels until the process ends.
  nanobind::set_leak_warnings(false);
  attn::python::bindErrors(module);
  attn::python::bindExpressions(module);
  attn::python::bindCaptures(module);
  attn::python::bindMasksAndScores(module);
  attn::python::bindAttention(module);
  attn::python::bindLayers(module);
  attn::python::bindPagedCaches(module);
  attn::python::bindKernels(module);
}
