//===- error.h - Errors and results without exceptions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ERROR_H
#define ATTN_ERROR_H

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attn {

/// One message of the compiler about a place in the source text. `line` and
/// `column` start at 1; 0 means that the place is not known.
struct Diagnostic {
  enum class Severity { error, warning, remark, note };
  Severity severity = Severity::error;
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string message;
  bool operator==(const Diagnostic &) const = default;
};

/// As compilers print it: "file:3:5: remark: message", without the place if
/// that is not known.
inline std::string formatDiagnostic(const Diagnostic &diagnostic) {
  static constexpr const char *severities[] = {"error", "warning", "remark",
                                               "note"};
  std::string text;
  if (!diagnostic.file.empty())
    text += diagnostic.file + ":";
  if (diagnostic.line)
    text += std::to_string(diagnostic.line) + ":" +
            std::to_string(diagnostic.column) + ":";
  if (!text.empty())
    text += " ";
  return text + severities[int(diagnostic.severity)] + ": " +
         diagnostic.message;
}

/// Why something failed: one line for people, and the compiler's diagnostics in
/// the order in which they came (notes follow what they explain).
struct Error {
  std::string message;
  std::vector<Diagnostic> diagnostics;
};

/// The message, and in lines after it the diagnostics that it does not have.
inline std::string formatError(const Error &error) {
  std::string text = error.message;
  for (const Diagnostic &diagnostic : error.diagnostics)
    if (error.message.find(diagnostic.message) == std::string::npos)
      text += "\n" + formatDiagnostic(diagnostic);
  return text;
}

/// Either a value or an Error.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value. Only when ok().
  T &operator*() & { return *std::get_if<0>(&state); }
  const T &operator*() const & { return *std::get_if<0>(&state); }
  T &&operator*() && { return std::move(*std::get_if<0>(&state)); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }

  /// The error. Only when not ok().
  const Error &error() const & { return *std::get_if<1>(&state); }
  Error &&error() && { return std::move(*std::get_if<1>(&state)); }

private:
  std::variant<T, Error> state;
};

/// Success or an Error.
template <> class [[nodiscard]] Expected<void> {
public:
  Expected() = default;
  Expected(Error error) : state(std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error &error() const & { return *std::get_if<1>(&state); }
  Error &&error() && { return std::move(*std::get_if<1>(&state)); }

private:
  std::variant<std::monostate, Error> state;
};

using Status = Expected<void>;

} // namespace attn

#endif // ATTN_ERROR_H
