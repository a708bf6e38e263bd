//===- RegisterBlocking.h - Blocks that fit into registers ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_REGISTERBLOCKING_H
#define ATTN_CPU_LINALGTOVECTOR_REGISTERBLOCKING_H

#include <cstdint>

namespace mlir::attn {

/// The vector registers of a machine.
struct VectorRegisters {
  unsigned bits = 256;
  unsigned count = 16;

  /// Elements of `elementBits` in a register.
  int64_t getWidth(unsigned elementBits) const { return bits / elementBits; }
  /// Whether sums of products leave few for anything else.
  bool isFew() const { return count <= 16; }
};

/// The part of a matrix that a loop over a reduction keeps in registers.
struct RegisterBlock {
  int64_t rows;
  /// Registers in each row.
  int64_t vectors;
};

/// The block for a product of A and B of `numRows` rows, which may be dynamic,
/// of `numVectors` registers each. Of a static number of rows it may leave a
/// smaller rest. `needsPointers`: each row of A has its own address.
RegisterBlock chooseRegisterBlock(int64_t numRows, int64_t numVectors,
                                  bool needsPointers, unsigned numRegisters);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_REGISTERBLOCKING_H
