//===- Attention.h - Variants of attention in Python ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_ATTENTION_H
#define ATTN_PYTHON_SRC_ATTENTION_H

#include "attn/attention.h"

#include <nanobind/nanobind.h>

#include <string>

namespace attn::python {

/// The IR of a variant. Throws attn.Error, which names members as Python does.
std::string writeText(const Attention &attention);

/// Adds Attention and Dropout.
void bindAttention(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_ATTENTION_H
