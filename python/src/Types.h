//===- Types.h - Element types by name --------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_TYPES_H
#define ATTN_PYTHON_SRC_TYPES_H

#include "attn/element_type.h"

#include <string>

namespace attn::python {

/// The type of a name that MLIR gives it. Throws a ValueError that names `what`
/// for others.
ElementType parseType(const char *what, const std::string &name);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_TYPES_H
