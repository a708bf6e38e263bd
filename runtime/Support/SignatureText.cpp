//===- SignatureText.cpp - Signatures in files ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers, each followed by a space; lists and strings after their length.
// Compiled kernels carry it, so reading takes nothing but the standard library.
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/SignatureText.h"

#include <charconv>

using namespace attn;
using namespace attn::support;

// A compiled kernel may meet a library of another version.
static constexpr std::string_view versionLine = "attn " ATTN_VERSION "\n";

namespace {

class Writer {
public:
  void write(std::int64_t number) { text += std::to_string(number) + ' '; }
  void write(const std::string &string) {
    write(std::int64_t(string.size()));
    text += string;
  }
  void write(const SizeExpr::Term &term) {
    write(term.coefficient);
    write(term.argument);
    write(term.dimension);
  }
  void write(const SizeExpr &expr) {
    write(expr.constant);
    write(expr.terms);
  }
  void write(const Parameter &parameter) {
    write(parameter.name);
    write(std::int64_t(parameter.isTensor));
    write(std::int64_t(parameter.type));
    write(parameter.shape);
    write(std::int64_t(parameter.updates));
  }
  void write(const Signature::Constraint &constraint) {
    write(constraint.lhs);
    write(constraint.rhs);
    write(constraint.text);
  }
  template <typename T> void write(const std::vector<T> &list) {
    write(std::int64_t(list.size()));
    for (const T &element : list)
      write(element);
  }

  std::string text;
};

/// Each function is false if there is no such thing in the text.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  bool atEnd() const { return text.empty(); }

  template <typename T>
    requires std::integral<T>
  bool read(T &number) {
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data() + text.size() || *end != ' ')
      return false;
    text.remove_prefix(std::size_t(end - text.data()) + 1);
    return true;
  }
  bool read(std::string &string) {
    std::size_t size;
    if (!read(size) || size > text.size())
      return false;
    string = text.substr(0, size);
    text.remove_prefix(size);
    return true;
  }
  bool read(SizeExpr::Term &term) {
    return read(term.coefficient) && read(term.argument) &&
           read(term.dimension);
  }
  bool read(SizeExpr &expr) { return read(expr.constant) && read(expr.terms); }
  bool read(Parameter &parameter) {
    int isTensor, type;
    if (!read(parameter.name) || !read(isTensor) || !read(type) ||
        !read(parameter.shape) || !read(parameter.updates) || type < 0 ||
        type > int(lastElementType))
      return false;
    parameter.isTensor = isTensor != 0;
    parameter.type = ElementType(type);
    return true;
  }
  bool read(Signature::Constraint &constraint) {
    return read(constraint.lhs) && read(constraint.rhs) &&
           read(constraint.text);
  }
  template <typename T> bool read(std::vector<T> &list) {
    std::size_t size;
    if (!read(size))
      return false;
    for (std::size_t i = 0; i < size; ++i)
      if (!read(list.emplace_back()))
        return false;
    return true;
  }

private:
  std::string_view text;
};

} // namespace

std::string support::writeSignature(const Signature &signature) {
  Writer writer;
  writer.text = versionLine;
  writer.write(signature.entry);
  writer.write(signature.arguments);
  writer.write(signature.results);
  writer.write(signature.resultSizes);
  writer.write(signature.constraints);
  return std::move(writer.text);
}

std::optional<Signature> support::readSignature(std::string_view text) {
  if (!text.starts_with(versionLine))
    return std::nullopt;
  Reader reader(text.substr(versionLine.size()));
  Signature signature;
  if (!reader.read(signature.entry) || !reader.read(signature.arguments) ||
      !reader.read(signature.results) || !reader.read(signature.resultSizes) ||
      !reader.read(signature.constraints) || !reader.atEnd())
    return std::nullopt;
  for (const Parameter &result : signature.results)
    if (result.updates >= int(signature.arguments.size()))
      return std::nullopt;
  return signature;
}

std::string support::writeSize(const SizeExpr &size) {
  Writer writer;
  writer.write(size);
  return std::move(writer.text);
}

std::optional<SizeExpr> support::readSize(std::string_view text) {
  Reader reader(text);
  SizeExpr size;
  if (!reader.read(size) || !reader.atEnd())
    return std::nullopt;
  return size;
}
