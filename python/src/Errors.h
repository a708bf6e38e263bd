//===- Errors.h - Errors as exceptions --------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_ERRORS_H
#define ATTN_PYTHON_SRC_ERRORS_H

#include "attn/error.h"

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>
#include <utility>

namespace attn::python {

/// Throws attn.Error.
[[noreturn]] void throwError(const Error &error);
[[noreturn]] void throwError(const std::string &message);

/// Throws attn.Error with a message that ends in that of `cause`.
[[noreturn]] void throwFrom(nanobind::python_error &cause,
                            const std::string &message);

/// The value, or attn.Error.
template <typename T> T unwrap(Expected<T> expected) {
  if (!expected)
    throwError(expected.error());
  if constexpr (!std::is_void_v<T>)
    return *std::move(expected);
}

/// Adds Error and Diagnostic.
void bindErrors(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_ERRORS_H
