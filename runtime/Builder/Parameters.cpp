//===- Parameters.cpp - The arguments of a kernel -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/Parameters.h"

#include <algorithm>
#include <bit>
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

string builder::writeTable(const Declaration &tensor) {
  // The '.' keeps it apart from arguments.
  return "%" + tensor.name + (tensor.blocks.empty() ? "" : ".summarized");
}

Declaration builder::declareRanges(const Declaration &tensor) {
  Declaration ranges = {tensor.name + "_ranges", tensor.type, true, {2}};
  for (std::size_t dim = 0; dim < tensor.blocks.size(); ++dim) {
    std::int64_t size = tensor.shape[dim], block = tensor.blocks[dim];
    ranges.shape.push_back(
        size == dynamic ? dynamic : size / block + (size % block != 0));
  }
  return ranges;
}

static Status checkBlocks(const Declaration &declaration) {
  for (std::int64_t block : declaration.blocks)
    if (block < 1 || !std::has_single_bit(std::uint64_t(block)))
      return Error{"argument '" + declaration.name +
                       "': expected sizes of blocks that are powers of two, "
                       "got " +
                       std::to_string(block),
                   {}};
  return {};
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
  // Of the kernel's own, which are there before, caches may be.
  if (numReserved > 0 && isFloat8(declaration->type))
    return Error{what + "a type that not only caches have, got " +
                     string(nameOf(declaration->type)),
                 {}};
  if (Status checked = checkBlocks(*declaration); !checked)
    return checked;
  auto found =
      std::find_if(declarations.begin(), declarations.end(),
                   [&](const auto &d) { return d->name == declaration->name; });
  if (found - declarations.begin() < std::ptrdiff_t(numReserved))
    return Error{what + "a name that is not one of the kernel's own arguments",
                 {}};
  if (found != declarations.end()) {
    if (**found == *declaration)
      return {};
    string first = writeType(**found), second = writeType(*declaration);
    if (first == second)
      return Error{what + "the same blocks in all places", {}};
    return Error{
        what + "one type for one name, got " + first + " and " + second, {}};
  }
  declarations.push_back(declaration);
  if (declaration->blocks.empty())
    return {};
  return add(detail::DeclarationPtr(declareRanges(*declaration)));
}

string Parameters::writeSummaries() const {
  string result;
  for (const detail::DeclarationPtr &declaration : declarations) {
    if (declaration->blocks.empty())
      continue;
    Declaration ranges = declareRanges(*declaration);
    string blocks;
    for (std::int64_t block : declaration->blocks)
      blocks += (blocks.empty() ? "" : ", ") + std::to_string(block);
    result += "  " + writeTable(*declaration) + " = attn.with_block_range %" +
              declaration->name + ", %" + ranges.name + " blocks [" + blocks +
              "]\n      : " + writeType(*declaration) + ", " +
              writeType(ranges) + "\n";
  }
  return result;
}

string Parameters::write() const {
  string result;
  for (const detail::DeclarationPtr &declaration : declarations)
    result +=
        (result.empty() ? "%" : ",\n    %") + declaration->name + ": " +
        writeType(*declaration) +
        (declaration->isUpdated ? " {bufferization.writable = true}" : "");
  return result;
}
