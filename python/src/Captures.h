//===- Captures.h - Tensors and scalars in Python ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_CAPTURES_H
#define ATTN_PYTHON_SRC_CAPTURES_H

#include "attn/tensor.h"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

namespace attn::python {

// Tensors of C++ have their type and rank as template arguments. Here both are
// known when Python runs, so that masks and scores are made of declarations, as
// the templates make them.

/// attn.Tensor.
struct Captured {
  detail::DeclarationPtr declaration;
};

/// What attn.rows gives.
struct CapturedRows {
  detail::DeclarationPtr declaration;
};

/// An attn.scalar of integers, which an offset may be.
struct IndexScalar : Index {
  detail::DeclarationPtr declaration;
};

bool isBoolean(ElementType type);
bool isReal(ElementType type);
bool isInteger(ElementType type);

/// Name, rank and type, for messages.
std::string describe(const detail::Declaration &tensor);

/// Throws a TypeError unless a tensor has this rank and `isRight` says yes to
/// its type, one of `types`.
void checkTensor(const char *what, const detail::Declaration &tensor,
                 std::size_t rank, bool (*isRight)(ElementType),
                 const char *types);

/// Adds Tensor, rows and scalar.
void bindCaptures(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_CAPTURES_H
