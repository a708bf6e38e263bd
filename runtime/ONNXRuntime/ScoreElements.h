//===- ScoreElements.h - Operators on elements of scores --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_SCOREELEMENTS_H
#define ATTN_RUNTIME_ONNXRUNTIME_SCOREELEMENTS_H

#include "attn/expression.h"
#include "runtime/ONNXRuntime/Graph.h"

#include <variant>

namespace attn::ort {

/// An element of a tensor: an integer, a number, or a boolean.
using Element = std::variant<Index, Real, Bool>;

Real toReal(const Element &element);

/// What a node makes of one element, of two of one type, and of two by a
/// condition. Operators that there are none of here are declined.
Element evaluateUnary(const GraphNode &node, const Element &a);
Element evaluateBinary(const GraphNode &node, const Element &a,
                       const Element &b);
Element evaluateSelect(const GraphNode &node, const Bool &condition,
                       const Element &a, const Element &b);

[[noreturn]] void declineNode(const GraphNode &node);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_SCOREELEMENTS_H
