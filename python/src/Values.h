//===- Values.h - Python objects as symbolic values -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_VALUES_H
#define ATTN_PYTHON_SRC_VALUES_H

#include "attn/expression.h"

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <variant>

namespace attn::python {

using Value = std::variant<Index, Real, Bool>;

/// A symbolic value, or a number of Python's as one: bool, int and float, and
/// what has `__index__` or `__float__`, such as a number of NumPy's. Nothing
/// for other objects. Throws OverflowError for an integer of more than 64 bits.
std::optional<Value> toValue(nanobind::handle object);

/// The same as a Real, which an Index becomes. Throws a TypeError that says
/// what was `expected`, and where.
Real toReal(nanobind::handle object, const std::string &expected);

/// An integer of Python's that is no bool, or of what has `__index__`. Throws a
/// TypeError that says what was `expected`, and where.
std::int64_t toInteger(nanobind::handle object, const std::string &expected);

/// The name of an object's type, for messages.
std::string typeName(nanobind::handle object);

/// A bool of Python, or one of NumPy, which is no integer.
bool isBool(nanobind::handle object);

[[noreturn]] void throwTypeError(const std::string &message);

/// Adds Index, Real, Bool, and functions of them.
void bindExpressions(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_VALUES_H
