//===- KernelSeeds.h - Kernels to make others of ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_KERNELSEEDS_H
#define ATTN_TEST_FUZZ_KERNELSEEDS_H

#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// The modules of every .mlir file of test/ and examples/, in a fixed order,
/// cut where the file says "// -----", without comments. Those of more than
/// `maxSeedSize` bytes are left out.
std::vector<std::string> readKernelSeeds();
inline constexpr std::size_t maxSeedSize = 16384;

/// Names of the functions that `text` defines, without '@'.
std::vector<std::string> findFunctions(std::string_view text);

} // namespace attn::test

#endif // ATTN_TEST_FUZZ_KERNELSEEDS_H
