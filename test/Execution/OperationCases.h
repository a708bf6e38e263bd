//===- OperationCases.h - What single operations give -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that a region may hold with operands and the result they give,
// written out by hand. The interpreter and every lowering are held to them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_OPERATIONCASES_H
#define ATTN_TEST_EXECUTION_OPERATIONCASES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// A value of a scalar type, written "i8 -3" or "f32 0.5"; "i8 undefined" has
/// none (A12).
struct TypedNumber {
  std::string type;
  std::optional<double> number;
  bool isFloat() const { return type[0] == 'f' || type[0] == 'b'; }
};

/// `body` computes %r from %a, %b and %c.
struct OperationCase {
  std::string body;
  std::vector<TypedNumber> arguments;
  TypedNumber result;
};

/// The cases of one family of operations: "integer", "division", "shift",
/// "conversion", "float", "math", "logic", "poison" or "load".
std::vector<OperationCase> getOperationCases(std::string_view family);

/// A case as it is written, for messages.
std::string describe(const OperationCase &operation);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_OPERATIONCASES_H
