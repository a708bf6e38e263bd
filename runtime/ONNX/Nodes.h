//===- Nodes.h - What is imported -------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_NODES_H
#define ATTN_RUNTIME_ONNX_NODES_H

#include "runtime/ONNX/NodeImport.h"

namespace attn::onnx {

/// An operator that is imported.
struct Operator {
  StringRef domain, name;
  /// The versions of the domain's operator set whose meaning of it is imported.
  std::int64_t first, last;
  /// How many inputs have to be there, and may.
  unsigned minInputs, maxInputs, maxOutputs;
  /// Sets the outputs that are wanted, or emits an error.
  LogicalResult (*import)(NodeImport &);
};

/// The newest version of ONNX's own operator set that is known.
inline constexpr std::int64_t newestOpset = 28;

inline constexpr llvm::StringLiteral microsoftDomain = "com.microsoft";
inline constexpr llvm::StringLiteral previewDomain = "ai.onnx.preview";

/// What each file imports.
ArrayRef<Operator> getAttentionOperators();
ArrayRef<Operator> getContribOperators();
ArrayRef<Operator> getFlexAttentionOperators();
ArrayRef<Operator> getRowOperators();
ArrayRef<Operator> getElementwiseOperators();
ArrayRef<Operator> getShapeOperators();
ArrayRef<Operator> getProductOperators();

/// The operator of a node; null if it is not known.
const Operator *findOperator(StringRef domain, StringRef name);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_NODES_H
