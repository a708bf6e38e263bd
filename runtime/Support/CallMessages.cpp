//===- CallMessages.cpp - How call errors name things ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/CallMessages.h"

using namespace attn;
using namespace attn::support;

std::string support::describeArgument(const Signature &signature,
                                      std::size_t index) {
  std::string result = "argument " + std::to_string(index);
  if (const std::string &name = signature.arguments[index].name; !name.empty())
    result += " '" + name + "'";
  return result;
}

std::string support::describeResult(std::size_t index) {
  return "result " + std::to_string(index);
}

/// "dimension 2 of argument 1 'key'", or "argument 3 'n'" for a scalar.
static std::string describeTerm(const Signature &signature,
                                const SizeExpr::Term &term) {
  std::string result = describeArgument(signature, term.argument);
  if (term.dimension >= 0)
    result = "dimension " + std::to_string(term.dimension) + " of " + result;
  return result;
}

std::string support::describeSize(const Signature &signature,
                                  const SizeExpr &size) {
  std::string result;
  for (const SizeExpr::Term &term : size.terms) {
    if (!result.empty())
      result += " + ";
    if (term.coefficient != 1)
      result += std::to_string(term.coefficient) + " * ";
    result += describeTerm(signature, term);
  }
  if (result.empty())
    return std::to_string(size.constant);
  if (size.constant > 0)
    result += " + " + std::to_string(size.constant);
  if (size.constant < 0)
    result += " - " + std::to_string(size.constant).substr(1);
  return result;
}

/// The one size that `expr` stands for; null if it is a sum.
static const SizeExpr::Term *getOnlyTerm(const SizeExpr &expr) {
  if (expr.constant != 0 || expr.terms.size() != 1 ||
      expr.terms.front().coefficient != 1)
    return nullptr;
  return &expr.terms.front();
}

Error support::describeViolation(const Signature &signature,
                                 const Signature::Constraint &constraint,
                                 std::int64_t lhs, std::int64_t rhs) {
  std::string message;
  const SizeExpr::Term *size = getOnlyTerm(constraint.lhs);
  if (!size) {
    message =
        describeSize(signature, constraint.lhs) + " is " + std::to_string(lhs);
  } else {
    message = describeArgument(signature, size->argument) + ": ";
    if (size->dimension >= 0)
      message += "dimension " + std::to_string(size->dimension) + " is ";
    else
      message += "value is ";
    message += std::to_string(lhs);
  }
  message += ", expected " + std::to_string(rhs) + " (" + constraint.text;
  if (const SizeExpr::Term *reference = getOnlyTerm(constraint.rhs);
      reference && size && reference->dimension == size->dimension)
    message += ", as in " + describeArgument(signature, reference->argument);
  else if (!constraint.rhs.terms.empty())
    message += ", as in " + describeSize(signature, constraint.rhs);
  return {message + ")", {}};
}
