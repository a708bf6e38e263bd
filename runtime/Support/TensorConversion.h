//===- TensorConversion.h - Tensors from C ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_TENSORCONVERSION_H
#define ATTN_RUNTIME_SUPPORT_TENSORCONVERSION_H

#include "attn/error.h"
#include "attn/tensor_c.h"
#include "attn/tensor_view.h"

#include <concepts>
#include <string>

namespace attn::support {

/// Why there is no view of `tensor`, which may be null; empty if there is one.
std::string findProblem(const attn_tensor *tensor);

/// A view of a tensor without problems.
TensorView makeView(const attn_tensor &tensor, bool readOnly);

/// The view of a tensor that `describe` names in messages, as in "result 0".
Expected<TensorView> convertTensor(const attn_tensor *tensor, bool readOnly,
                                   std::invocable auto describe) {
  if (std::string problem = findProblem(tensor); !problem.empty())
    return Error{describe() + ": " + problem, {}};
  return makeView(*tensor, readOnly);
}

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_TENSORCONVERSION_H
