//===- VariantRun.h - A call of a variant -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_VARIANTRUN_H
#define ATTN_TEST_EXECUTION_VARIANTRUN_H

#include "attn/attention.h"
#include "attn/kernel.h"

#include <functional>
#include <span>
#include <vector>

namespace attn::test {

/// The arguments of a call, in the order of the signature.
using CreateArguments = std::function<std::vector<Argument>(const Signature &)>;

/// Compiles a variant and calls it, in this process or, linked with another
/// file, on several. True if `results` were written; an error fails the test.
bool runVariant(const Attention &attention,
                const CreateArguments &createArguments,
                std::span<const TensorView> results);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_VARIANTRUN_H
