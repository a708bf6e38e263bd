//===- StaticHeader.cpp - The header of a kernel in C ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/StaticEntry.h"

#include "runtime/Support/CallMessages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::jit;

static bool isKeyword(llvm::StringRef name) {
  // Of C17 and C++20, but for those that are no lower-case words.
  static const llvm::StringSet<> keywords = {"alignas",
                                             "alignof",
                                             "and",
                                             "and_eq",
                                             "asm",
                                             "auto",
                                             "bitand",
                                             "bitor",
                                             "bool",
                                             "break",
                                             "case",
                                             "catch",
                                             "char",
                                             "char8_t",
                                             "char16_t",
                                             "char32_t",
                                             "class",
                                             "co_await",
                                             "co_return",
                                             "co_yield",
                                             "compl",
                                             "concept",
                                             "const",
                                             "const_cast",
                                             "consteval",
                                             "constexpr",
                                             "constinit",
                                             "continue",
                                             "decltype",
                                             "default",
                                             "delete",
                                             "do",
                                             "double",
                                             "dynamic_cast",
                                             "else",
                                             "enum",
                                             "explicit",
                                             "export",
                                             "extern",
                                             "false",
                                             "float",
                                             "for",
                                             "friend",
                                             "goto",
                                             "if",
                                             "inline",
                                             "int",
                                             "long",
                                             "mutable",
                                             "namespace",
                                             "new",
                                             "noexcept",
                                             "not",
                                             "not_eq",
                                             "nullptr",
                                             "operator",
                                             "or",
                                             "or_eq",
                                             "private",
                                             "protected",
                                             "public",
                                             "register",
                                             "reinterpret_cast",
                                             "requires",
                                             "restrict",
                                             "return",
                                             "short",
                                             "signed",
                                             "sizeof",
                                             "static",
                                             "static_assert",
                                             "static_cast",
                                             "struct",
                                             "switch",
                                             "template",
                                             "this",
                                             "thread_local",
                                             "throw",
                                             "true",
                                             "try",
                                             "typedef",
                                             "typeid",
                                             "typename",
                                             "typeof",
                                             "union",
                                             "unsigned",
                                             "using",
                                             "virtual",
                                             "void",
                                             "volatile",
                                             "wchar_t",
                                             "while",
                                             "xor",
                                             "xor_eq"};
  return keywords.contains(name);
}

static bool isIdentifierCharacter(char c) {
  return llvm::isAlnum(c) || c == '_';
}

Status jit::checkStaticName(const std::string &name) {
  if (name.empty() || llvm::isDigit(name[0]) ||
      !llvm::all_of(name, isIdentifierCharacter) || isKeyword(name) ||
      name[0] == '_')
    return Error{"name: expected an identifier of C and C++ that does not "
                 "start with '_', got '" +
                     name + "'",
                 {}};
  if (llvm::StringRef(name).starts_with("attn_") || name == "main")
    return Error{"name: expected one that is not taken, got '" + name + "'",
                 {}};
  return {};
}

/// Names of the parameters: as in the text, as far as C allows.
static std::vector<std::string> nameParameters(const Signature &signature) {
  std::vector<std::string> names;
  llvm::StringSet<> taken = {"error", "error_size"};
  auto add = [&](std::string name, const std::string &otherwise) {
    for (char &c : name)
      if (!isIdentifierCharacter(c))
        c = '_';
    if (name.empty() || llvm::isDigit(name[0]))
      name = otherwise;
    while (isKeyword(name) || taken.contains(name))
      name += '_';
    taken.insert(name);
    names.push_back(std::move(name));
  };
  for (auto [index, parameter] : llvm::enumerate(signature.arguments))
    add(parameter.name, "argument" + std::to_string(index));
  for (std::size_t i = 0; i < signature.results.size(); ++i)
    add("result" + std::to_string(i), "");
  return names;
}

/// "f32, 1 x 9 x ? x 64".
static std::string describeType(const Parameter &parameter,
                                const std::vector<std::string> &sizes) {
  std::string text(nameOf(parameter.type));
  if (!parameter.isTensor)
    return text;
  return text + ", " +
         (sizes.empty() ? "one element" : llvm::join(sizes, " x "));
}

/// Nothing ends a comment early.
static std::string inComment(std::string text) {
  for (char &c : text)
    if (!llvm::isPrint(c) || c == '*')
      c = ' ';
  return text;
}

std::string jit::writeStaticHeader(const std::string &name,
                                   const std::string &source,
                                   const Signature &signature) {
  std::vector<std::string> names = nameParameters(signature);
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string guard = "ATTN_KERNEL_" + name + "_H";
  os << "/* " << name << ": compiled from " << inComment(source)
     << ". Link its object file, attn-runtime and m. */\n\n#ifndef " << guard
     << "\n#define " << guard
     << "\n\n#include \"attn/static_kernel.h\"\n\n#ifdef __cplusplus\n"
        "extern \"C\" {\n#endif\n\n/**\n";
  std::size_t next = 0;
  for (const Parameter &parameter : signature.arguments) {
    std::vector<std::string> sizes;
    for (std::int64_t size : parameter.shape)
      sizes.push_back(size == Parameter::dynamic ? "?" : std::to_string(size));
    os << " * " << names[next++] << ": " << describeType(parameter, sizes)
       << "\n";
  }
  for (auto [parameter, exprs] :
       llvm::zip_equal(signature.results, signature.resultSizes)) {
    std::vector<std::string> sizes;
    for (const SizeExpr &expr : exprs)
      sizes.push_back(expr.terms.empty()
                          ? std::to_string(expr.constant)
                          : "(" + support::describeSize(signature, expr) + ")");
    os << " * " << names[next++] << ": " << describeType(parameter, sizes)
       << "; is written";
    if (parameter.updates >= 0)
      os << ", and the same as " << names[std::size_t(parameter.updates)];
    os << "\n";
  }
  for (const Signature::Constraint &constraint : signature.constraints)
    os << " * "
       << inComment(support::describeSize(signature, constraint.lhs) + " is " +
                    support::describeSize(signature, constraint.rhs) + ": " +
                    constraint.text)
       << "\n";
  os << " *\n * Checks all of it, strides and overlaps before it writes "
        "anything. Returns 0;\n * or 1, and says why in `error`, cut off to "
        "fit `error_size` bytes with its\n * final 0. `error` may be null. May "
        "be called from several threads at once.\n */\nint "
     << name << "(";
  next = 0;
  for (const Parameter &parameter : signature.arguments) {
    if (parameter.isTensor)
      os << "const attn_tensor *";
    else
      os << (isFloat(parameter.type) ? "double " : "int64_t ");
    os << names[next++] << ",\n    ";
  }
  while (next < names.size())
    os << "const attn_tensor *" << names[next++] << ",\n    ";
  os << "char *error, size_t error_size);\n\n#ifdef __cplusplus\n}\n#endif\n\n"
        "#endif /* "
     << guard << " */\n";
  return text;
}
