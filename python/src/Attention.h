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

/// A text that was written. Throws attn.Error, which names members as Python
/// does, if it is wrong.
std::string unwrapText(Expected<std::string> text);

/// Adds Attention and Dropout.
void bindAttention(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_ATTENTION_H
