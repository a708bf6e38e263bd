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
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Operation;
} // namespace mlir

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

/// Columns of the table with numbers: first those that are known without an
/// assembler, the memory of a block and `PTXCounts`, then those of machine
/// code. Of `PTXCounts` and `HotPath`, of all launches in sum.
enum KernelNumber {
  sharedBytes, ///< Of a block, dynamic.
  warps,       ///< Of a block.
  ptxInstructions,
  ptxProducts,
  ptxNarrow,
  firstOfMachineCode,
  registers = firstOfMachineCode,
  spillBytes, ///< Stored and loaded.
  workgroups, ///< That a multiprocessor has room for, at least.
  instructions,
  integer,
  products, ///< Of matrices; of f32, multiplications with additions.
  ldmatrix,
  cpAsync,
  barriers,
  shfl,
  spills, ///< Loads and stores of registers that are in memory.
  exposedEx2,
  narrow, ///< Accesses of 1 or 2 bytes.
  lds,
  waits,
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

/// What makes machine code, and what reads it.
struct DeviceTools {
  cuda::Ptxas ptxas;
  std::string nvdisasm; ///< Its path.

  /// Those of the Python environment of tests. Says what is missing.
  static Expected<DeviceTools> find();
};

/// What is done to a module behind a pass, given by its argument.
struct Mutation {
  std::string pass;
  std::function<void(mlir::Operation *module)> apply;
};

/// Lowers and compiles attention of each of `architectures`. Without tools the
/// numbers before `firstOfMachineCode` are known.
Expected<std::vector<MeasuredKernel>>
measureKernels(const std::string &element, int headSize,
               const std::string &variant,
               const std::vector<std::string> &architectures,
               const DeviceTools *tools, const Mutation *mutation = nullptr);

using KernelTable = std::map<KernelConfiguration, KernelNumbers>;

/// Reads a table, with a comma between columns and a line of their names.
Expected<KernelTable> readKernelTable(const std::string &path);
std::string printKernelTable(const KernelTable &table);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_KERNELTABLE_H
