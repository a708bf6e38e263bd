//===- Arguments.h - The arguments of a call --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ARGUMENTS_H
#define ATTN_TOOLS_ARGUMENTS_H

#include "attn/error.h"
#include "attn/kernel.h"
#include "runtime/Npy/Npy.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace attn::run {

/// One argument with its memory.
struct HostArgument {
  std::variant<NpyArray, std::int64_t, double> value;
  /// For people: the text of the command line, "random" or "zero".
  std::string source;

  const NpyArray *array() const { return std::get_if<NpyArray>(&value); }
  Argument argument() const;
};

/// Makes the arguments of a call from what --arg gave, in function order: a
/// .npy file, a scalar such as "3:index", the sizes of a tensor such as
/// "1x8x512x64", or "-" for nothing. What is not given, at the end or by "-",
/// is an error without `seed`; that, and what only has sizes, is filled:
/// floats from the standard normal distribution, integers with 0. A dynamic
/// size is then what the signature's constraints make of the sizes that are
/// given, and `unknownSize` if they leave it open. f32 files are rounded for
/// bf16 arguments.
///
/// `weights` has the dimensions of each argument over which products with it
/// are summed: where there are any, its numbers are divided by the square root
/// of how many are, so that the sums are as large as what they are made of.
///
/// Checks only what it needs; Kernel::run checks types and sizes.
Expected<std::vector<HostArgument>>
loadArguments(const Signature &signature, std::span<const std::string> given,
              std::optional<std::uint64_t> seed,
              std::span<const std::vector<int>> weights,
              std::int64_t unknownSize = 64);

/// "1x8x?x64xf32", or "f32" for a scalar.
std::string formatType(std::span<const std::int64_t> shape, ElementType type);

} // namespace attn::run

#endif // ATTN_TOOLS_ARGUMENTS_H
