//===- Layers.h - Layers and steps on caches in Python ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_LAYERS_H
#define ATTN_PYTHON_SRC_LAYERS_H

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

namespace attn::python {

/// The IR of an object that stands for a kernel: of an Attention, a
/// CachedAttention, a MultiHeadAttention or a MultiTokenAttention. Nothing for
/// others. Throws attn.Error, which names members as Python does.
std::optional<std::string> findText(nanobind::handle source);

/// Adds CachedAttention, MultiHeadAttention, MultiTokenAttention and what they
/// are made of.
void bindLayers(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_LAYERS_H
