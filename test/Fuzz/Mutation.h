//===- Mutation.h - Changes IR text as mistakes do --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_MUTATION_H
#define ATTN_TEST_FUZZ_MUTATION_H

#include "test/Execution/Random.h"

#include <string>
#include <string_view>

namespace attn::test {

/// `text` with one change, or a few: a byte flipped, tokens or lines swapped,
/// removed or repeated, a token that comes from elsewhere in `text` or from
/// `other`, a number blown up, a size or a type that is another one, here or
/// everywhere. Most of it is close to `text`; not all differs from it.
std::string mutate(std::string_view text, std::string_view other,
                   Random &random);

} // namespace attn::test

#endif // ATTN_TEST_FUZZ_MUTATION_H
