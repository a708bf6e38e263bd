//===- Calls.h - Calls of kernels from Python -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_CALLS_H
#define ATTN_PYTHON_SRC_CALLS_H

#include "attn/kernel.h"

#include <nanobind/nanobind.h>

#include <functional>
#include <span>

namespace attn::python {

/// Runs a kernel on arrays and numbers, in the order of the function or by
/// name, and gives the results that update no argument: one, a tuple of them,
/// or None. They are written to `out`, an array or a list of them, or if that
/// is None to new arrays. Throws attn.Error, or a TypeError for a wrong number
/// of either.
nanobind::object callKernel(const Kernel &kernel,
                            const nanobind::args &arguments,
                            nanobind::handle out,
                            const nanobind::kwargs &named);

/// What is done with the views of a call, without the interpreter's lock.
using CallUser = std::function<Status(std::span<const Argument>,
                                      std::span<const TensorView>)>;
/// The same, but that `user` does it.
nanobind::object callKernel(const Kernel &kernel,
                            const nanobind::args &arguments,
                            nanobind::handle out, const nanobind::kwargs &named,
                            const CallUser &user);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_CALLS_H
