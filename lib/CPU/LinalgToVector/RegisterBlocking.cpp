//===- RegisterBlocking.cpp - Blocks that fit into registers --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/RegisterBlocking.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

/// Two FMAs a cycle with a latency of four: fewer than eight accumulators wait
/// for each other, and eight do whenever one is late.
static constexpr int64_t leastAccumulators = 10;

/// Vectors in a row of a block: the more, the fewer scalars are broadcast. Of
/// 16 registers, 4 would leave too few accumulators.
static int64_t chooseVectors(int64_t numVectors, unsigned numRegisters) {
  int64_t vectors = numRegisters >= 32 ? 4 : 2;
  while (numVectors % vectors != 0)
    --vectors;
  return vectors;
}

/// Rows of a block of `vectors` registers a row. One register is for a scalar
/// of A on its way, and some are for a row of B:
///
///   registers | 1 vector | 2 vectors | 3 vectors | 4 vectors
///   32        | 24       | 12        | 8         | 6
///   32, rows  | 18       | 9         | 6         | 4
///   16        | 12       | 6         | 4         |
///   16, rows  | 10       | 5         | 3         |
///
/// "rows": A has its rows apart, and each needs a pointer; LLVM then spills
/// sooner. On a Sapphire Rapids, blocks of at least 2 vectors by 8 rows reach
/// the peak of FMAs, and those of 1 vector 85-94 % of it, for all the
/// broadcasts.
static int64_t getMostRows(int64_t vectors, unsigned numRegisters,
                           bool needsPointers) {
  int64_t accumulators = numRegisters * 3 / 4;
  if (needsPointers)
    accumulators =
        std::min<int64_t>(accumulators, numRegisters >= 32 ? 18 : 10);
  int64_t available = static_cast<int64_t>(numRegisters) - 1 - vectors;
  return std::max<int64_t>(std::min(accumulators, available) / vectors, 1);
}

/// Of `n` rows, the number in a block of at most `most`: one that leaves no
/// rest, if that keeps enough accumulators, else blocks of about equal size.
static int64_t divideRows(int64_t n, int64_t vectors, int64_t most) {
  if (n <= most)
    return n;
  for (int64_t rows = most; rows * vectors >= leastAccumulators; --rows)
    if (n % rows == 0)
      return rows;
  return llvm::divideCeil(n, llvm::divideCeil(n, most));
}

RegisterBlock attn::chooseRegisterBlock(int64_t numRows, int64_t numVectors,
                                        bool needsPointers,
                                        unsigned numRegisters) {
  int64_t vectors = chooseVectors(numVectors, numRegisters);
  int64_t most = getMostRows(vectors, numRegisters, needsPointers);
  if (!ShapedType::isDynamic(numRows))
    return {divideRows(numRows, vectors, most), vectors};
  // Dynamic numbers of rows are mostly powers of two, as keys in a block are.
  auto even = static_cast<int64_t>(llvm::bit_floor<uint64_t>(most));
  bool isEnough = even * vectors >= numRegisters / 2;
  return {isEnough ? even : most, vectors};
}
