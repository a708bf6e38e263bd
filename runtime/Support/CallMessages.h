//===- CallMessages.h - How call errors name things -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_CALLMESSAGES_H
#define ATTN_RUNTIME_SUPPORT_CALLMESSAGES_H

#include "attn/kernel.h"

#include <string>

namespace attn::support {

/// "argument 1 'key'".
std::string describeArgument(const Signature &signature, std::size_t index);
/// "result 0".
std::string describeResult(std::size_t index);

/// "size 2 of argument 1 'key' + 4".
std::string describeSize(const Signature &signature, const SizeExpr &size);

/// For `constraint`, whose sides are `lhs` and `rhs` in this call.
Error describeViolation(const Signature &signature,
                        const Signature::Constraint &constraint,
                        std::int64_t lhs, std::int64_t rhs);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_CALLMESSAGES_H
