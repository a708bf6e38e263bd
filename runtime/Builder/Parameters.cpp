//===- Parameters.cpp - The arguments of a kernel -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/Parameters.h"

#include <algorithm>
#include <string_view>

using namespace attn;
using namespace attn::builder;
using detail::Declaration;
using std::string;

string builder::writeType(const Declaration &declaration) {
  string element(nameOf(declaration.type));
  if (!declaration.isTensor)
    return element;
  string result = "tensor<";
  for (std::int64_t size : declaration.shape)
    result += (size == dynamic ? "?" : std::to_string(size)) + "x";
  return result + element + ">";
}

static bool isIdentifier(std::string_view name) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && isLetter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return isLetter(c) || (c >= '0' && c <= '9');
         });
}

Status Parameters::add(const detail::DeclarationPtr &declaration) {
  string what = "argument '" + declaration->name + "': expected ";
  if (!isIdentifier(declaration->name))
    return Error{what + "a name of letters, digits and '_' that does not begin "
                        "with a digit",
                 {}};
  for (std::int64_t size : declaration->shape)
    if (size < 0 && size != dynamic)
      return Error{what + "sizes of at least 0, or dynamic, got " +
                       std::to_string(size),
                   {}};
  auto found =
      std::find_if(declarations.begin(), declarations.end(),
                   [&](const auto &d) { return d->name == declaration->name; });
  if (found == declarations.end())
    declarations.push_back(declaration);
  else if (**found != *declaration)
    return Error{what + "one type for one name, got " + writeType(**found) +
                     " and " + writeType(*declaration),
                 {}};
  return {};
}

string Parameters::write() const {
  string result;
  for (const detail::DeclarationPtr &declaration : declarations)
    result += (result.empty() ? "%" : ",\n    %") + declaration->name + ": " +
              writeType(*declaration);
  return result;
}
