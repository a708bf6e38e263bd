//===- Elementwise.h - Operators of single elements -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_ELEMENTWISE_H
#define ATTN_RUNTIME_ONNX_ELEMENTWISE_H

#include "runtime/ONNX/Tensors.h"

#include <optional>

namespace attn::onnx {

/// An operator that computes an element of its result from one of each input,
/// without attributes.
struct Pointwise {
  unsigned arity;
  bool isPredicate;
  bool takesFloats, takesIntegers, takesBooleans;
};
std::optional<Pointwise> findPointwise(StringRef name);

/// Its code for one element, of f32, f64, integers or booleans.
Value computePointwise(OpBuilder &b, Location loc, StringRef name,
                       ValueRange operands);

/// A number of one type as another, as a C++ cast has it.
Value convertElement(OpBuilder &b, Location loc, Value value, Type type);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_ELEMENTWISE_H
