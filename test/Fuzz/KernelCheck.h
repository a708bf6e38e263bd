//===- KernelCheck.h - Compiles, runs and checks any text -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_KERNELCHECK_H
#define ATTN_TEST_FUZZ_KERNELCHECK_H

#include "attn/engine.h"

#include <string>

namespace attn::test {

/// What the error of a text begins with that the compiler crashed on.
inline constexpr const char *crashMessage = "the compiler crashed";

/// What came of a text.
struct KernelOutcome {
  enum Kind {
    refused, ///< By the compiler, the kernel or the interpreter.
    skipped, ///< Too large to run here, or it may never end.
    passed,  ///< It gives what the interpreter gives.
    differs, ///< It gives something else.
    failed   ///< The compiler crashed.
  };
  Kind kind = refused;
  std::string message; ///< Why, for all but those that passed.
};

/// Does what `attn-run --check --random` does, with sizes that are not given
/// and random numbers that come from `seed`. An error is no failure, but one
/// that says that the compiler crashed.
KernelOutcome checkKernel(const Engine &engine, const std::string &text,
                          const CompileOptions &options, std::uint64_t seed);

} // namespace attn::test

#endif // ATTN_TEST_FUZZ_KERNELCHECK_H
