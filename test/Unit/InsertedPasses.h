//===- InsertedPasses.h - Kernels to insert passes into ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_INSERTEDPASSES_H
#define ATTN_TEST_UNIT_INSERTEDPASSES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn::test {

/// Upstream's simplifications that a user may put between any two passes.
inline const std::vector<std::string> kInserted = {"canonicalize", "cse",
                                                   "loop-invariant-code-motion",
                                                   "fold-memref-alias-ops"};

/// A tensor that a kernel is called with. Floats are drawn by who calls it.
struct InsertedArgument {
  std::string type; ///< f32, bf16 or i32.
  std::vector<std::int64_t> sizes;
  std::vector<std::int32_t> integers = {};
};

struct InsertedKernel {
  std::string name;
  bool hasTiles; ///< Whether the target has products of tiles of bf16.
  std::string text;
  /// Of the function, and behind them results that are not in place.
  std::vector<InsertedArgument> arguments;
};

std::vector<InsertedKernel> listInsertedKernels();

/// Which of `kInserted` a kernel meets at its `place`: all where
/// `runsAllCases`, otherwise one, by turns, so that each meets every place in
/// several of the kernels.
std::vector<std::string> selectInserted(const InsertedKernel &kernel,
                                        std::size_t place);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_INSERTEDPASSES_H
