//===- PagedCaches.h - Caches in pages in Python ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_PAGEDCACHES_H
#define ATTN_PYTHON_SRC_PAGEDCACHES_H

#include <nanobind/nanobind.h>

namespace attn::python {

/// Adds PagedCache and CacheStep.
void bindPagedCaches(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_PAGEDCACHES_H
