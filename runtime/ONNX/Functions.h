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
/// itself or reads what it neither has as an input nor computes, if a call does
/// not fit to it, if there are more than 100000 nodes and calls, if calls are
/// nested more than 64 deep, and if names get longer than 4096 bytes.
Status inlineFunctions(Model &model);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_FUNCTIONS_H
