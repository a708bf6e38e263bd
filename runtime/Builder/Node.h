//===- Node.h - Expressions as graphs ---------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_NODE_H
#define ATTN_RUNTIME_BUILDER_NODE_H

#include "attn/masks.h"

#include <string>
#include <variant>
#include <vector>

namespace attn::detail {

enum class NodeType : std::uint8_t { index, real, boolean };

struct Scalar {
  DeclarationPtr declaration;
};
/// The operands are the indices.
struct Load {
  DeclarationPtr declaration;
};
/// Something that no kernel can compute.
struct Invalid {
  std::string text;    ///< As C++ writes it.
  std::string problem; ///< "expected ..., got ..."
};

/// A symbol, a constant of the node's type, an argument of the kernel, or an
/// operation.
struct Node {
  using Kind = std::variant<Symbol, std::int64_t, double, bool, Scalar, Load,
                            Operator, Invalid>;

  /// Deeper expressions are refused, so that what walks them may recurse.
  static constexpr unsigned maxDepth = 1000;
  /// So are larger ones. A kernel's region may not have more operations either.
  static constexpr unsigned maxOperations = 4096;

  NodeType type;
  Kind kind;
  std::vector<NodePtr> operands;
  unsigned depth = 0;

  /// Null unless the node is of kind T.
  template <typename T> const T *as() const { return std::get_if<T>(&kind); }
};

NodePtr createInvalid(NodeType type, std::string text, std::string problem);

/// The shortest spelling of a finite number that reads back as it, with a point
/// and thus a float in IR too.
std::string writeNumber(double value);

/// An expression as C++ writes it, for messages; what follows its beginning is
/// left out if it is long.
std::string describe(const Node &node);

} // namespace attn::detail

#endif // ATTN_RUNTIME_BUILDER_NODE_H
