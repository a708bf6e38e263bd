//===- DeviceCode.h - The machine code of kernels for GPUs ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_DEVICECODE_H
#define ATTN_TEST_UNIT_DEVICECODE_H

#include "attn/error.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::test {

struct DeviceInstruction {
  std::string mnemonic; ///< Such as "HMMA.16816.F32".
  bool isPredicated = false;
  std::optional<size_t> target; ///< The number of where a branch goes.
  std::string operands;
};

/// What a warp executes of the loop of a kernel with the most products, in an
/// iteration in which nothing rare happens: of the paths with the most
/// products, and of those with the most copies that are in no loop of their
/// own, the shortest. Products are of matrices, HGMMA of warpgroups or HMMA of
/// warps, and FFMA where a kernel has none of those, as of f32.
struct HotPath {
  long instructions = 0;
  long integer = 0; ///< Of integers, and not uniform.
  long products = 0;
  long matrixLoads = 0; ///< LDSM
  long asyncCopies = 0; ///< LDGSTS, as cp.async is called.
  long barriers = 0;    ///< Of workgroups.
  long shuffles = 0;
  long spills = 0; ///< Loads and stores of registers that are in memory.
  /// The most exponentials between one mma and the next, beside which nothing
  /// is computed: others are in the shadow of products. Of warpgroups, all of
  /// which no product is pending. None are counted without mma, which nothing
  /// can be in the shadow of.
  long exposedExponentials = 0;
  long sharedLoads = 0; ///< LDS, but for the one that is in a fence.
  long waits = 0;       ///< For products of warpgroups.
  /// Accesses of 1 or 2 bytes to global memory, from the start of the kernel
  /// through this path to the end. Of the ways there and from there that access
  /// all rows, those with the fewest count.
  long narrowAccesses = 0;
};

/// The instructions of a kernel in the text that `nvdisasm -c` prints. Empty if
/// it has no such kernel.
std::vector<DeviceInstruction> readKernel(const std::string &disassembly,
                                          const std::string &kernel);

/// Nothing if no loop that ends has a product.
std::optional<HotPath> findHotPath(const std::vector<DeviceInstruction> &code);

/// What PTX says of a kernel without an assembler: of all its instructions,
/// those of rare paths as well, since what is hot is seen in machine code
/// alone.
struct PTXCounts {
  long instructions = 0;
  long products =
      0; ///< As in `HotPath`: mma, of a warp or a warpgroup, or fma.
  long narrowAccesses = 0; ///< Of 1 or 2 bytes, to global memory.
};

/// Nothing if the text has no such kernel.
std::optional<PTXCounts> countPTX(const std::string &ptx,
                                  const std::string &kernel);

/// Runs nvdisasm on machine code.
Expected<std::string> disassemble(const std::string &nvdisasm,
                                  const std::string &cubin);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_DEVICECODE_H
