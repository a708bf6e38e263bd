//===- Functions.h - Calls of a model's functions ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_FUNCTIONS_H
#define ATTN_RUNTIME_ONNX_FUNCTIONS_H

#include "runtime/ONNX/Model.h"

namespace attn::onnx {

/// Replaces nodes that call functions of the model by the nodes of these, which
/// get the name of the call before their own. An error if a function calls
/// itself, if a call does not fit to it, and if there are more than 100000
/// nodes and calls.
Status inlineFunctions(Model &model);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_FUNCTIONS_H
