//===- Arrays.h - Arrays of Python as views ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_ARRAYS_H
#define ATTN_PYTHON_SRC_ARRAYS_H

#include "attn/tensor_view.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <string>

namespace attn::python {

/// The memory of an array while a kernel uses it.
struct Borrowed {
  nanobind::ndarray<nanobind::ro> memory;
  TensorView view;
};

/// Borrows the memory of an array that has `__dlpack__`, or of a NumPy array of
/// bf16. Throws attn.Error, which begins with `what`, for an object that is no
/// such array; for memory that is not the CPU's, or read-only if it is to be
/// written; for an element type that kernels do not have; and for a negative
/// stride.
Borrowed borrow(nanobind::handle array, bool isWritten,
                const std::string &what);

/// An array of NumPy on the memory of a view, as writable as that, which
/// `owner` keeps, if it is not None.
nanobind::object viewArray(const TensorView &view, nanobind::handle owner);

/// A new array, of PyTorch if `like` is a tensor of that, otherwise of NumPy.
nanobind::object allocate(nanobind::handle like, ElementType type,
                          std::span<const std::int64_t> sizes);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_ARRAYS_H
