//===- CallChecks.h - What is checked before a kernel runs ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_CALLCHECKS_H
#define ATTN_RUNTIME_SUPPORT_CALLCHECKS_H

#include "attn/kernel.h"

#include <optional>

namespace attn::support {

/// Why these arguments do not fit the signature; nothing if they do. Allocates
/// only to say what is wrong.
std::optional<Error> checkArguments(const Signature &signature,
                                    std::span<const Argument> arguments);

/// Whether there is a tensor in memory that is argument `index`, where others
/// may not fit.
bool isArgument(const Signature &signature, std::span<const Argument> arguments,
                std::size_t index);

/// The same for the results of a call whose arguments fit.
std::optional<Error> checkResults(const Signature &signature,
                                  std::span<const Argument> arguments,
                                  std::span<const TensorView> results);

/// Value of `expr` in a call, whose arguments need not fit; nothing if they
/// lack what it is made of, or if it does not fit.
std::optional<std::int64_t> evaluate(const SizeExpr &expr,
                                     std::span<const Argument> arguments);

/// Size of dimension `dim` of result `index` for arguments that fit.
Expected<std::int64_t> computeResultSize(const Signature &signature,
                                         std::span<const Argument> arguments,
                                         std::size_t index, std::size_t dim);

/// Sizes of all results; an error for arguments that do not fit.
Expected<std::vector<std::vector<std::int64_t>>>
computeResultShapes(const Signature &signature,
                    std::span<const Argument> arguments);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_CALLCHECKS_H
