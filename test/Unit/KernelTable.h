//===- KernelTable.h - What kernels for GPUs may take -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_KERNELTABLE_H
#define ATTN_TEST_UNIT_KERNELTABLE_H

#include "attn/error.h"
#include "runtime/CUDA/Ptxas.h"

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attn::test {

/// A kernel of attention for an architecture: a row of the table. Numbers are
/// of all its launches: instructions in sum, registers and memory of the
/// largest.
struct KernelConfiguration {
  std::string element; ///< "f32", "f16" or "bf16".
  int headSize;
  std::string variant; ///< A name of `getVariants`.
  std::string architecture;
  auto operator<=>(const KernelConfiguration &) const = default;
};

/// Columns of the table with numbers, of which those from `registers` on are
/// known where there is ptxas only.
enum KernelNumber {
  sharedBytes, ///< Of a block, dynamic.
  mma,
  ldmatrix,
  ex2,
  shfl,
  cpAsync,
  barriers, ///< And so on: instructions in PTX, each counted once.
  registers,
  spillBytes, ///< Stored and loaded.
  numKernelNumbers
};
using KernelNumbers = std::array<long, numKernelNumbers>;

/// The names of the columns, and of the variants of masks and scores.
const char *getNumberName(int number);
std::vector<std::string> getVariants();

/// A kernel, and what compiling all of it took.
struct MeasuredKernel {
  KernelNumbers numbers = {};
  std::chrono::duration<double, std::milli> toPTX = {}, toMachineCode = {};
};

/// Lowers and compiles attention of each of `architectures`, with ptxas if
/// there is one.
Expected<std::vector<MeasuredKernel>>
measureKernels(const std::string &element, int headSize,
               const std::string &variant,
               const std::vector<std::string> &architectures,
               const std::optional<cuda::Ptxas> &ptxas);

using KernelTable = std::map<KernelConfiguration, KernelNumbers>;

/// Reads a table, with a comma between columns and a line of their names.
Expected<KernelTable> readKernelTable(const std::string &path);
std::string printKernelTable(const KernelTable &table);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_KERNELTABLE_H
