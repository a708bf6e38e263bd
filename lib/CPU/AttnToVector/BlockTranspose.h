//===- BlockTranspose.h - Transposing blocks in registers -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_BLOCKTRANSPOSE_H
#define ATTN_CPU_ATTNTOVECTOR_BLOCKTRANSPOSE_H

#include "lib/CPU/AttnToVector/LaneBuilder.h"

namespace mlir::attn {

/// Whether blocks of this element type can be transposed by pieces of the
/// builder's width.
bool canTransposeBlocks(LaneBuilder &b, Type elementType);

/// The number of columns of a block.
int64_t getBlockColumns(Type elementType);

/// Loads `width` rows of a block and returns its columns, each as a piece of
/// elements widened to 32 bits. `load(row)` loads the 16 bytes of a row, as any
/// vector. Elements have 8, 16 or 32 bits; those
/// of 8 bits are only known to become zero if they are and nonzero if not.
Pieces buildTransposedBlock(LaneBuilder &b, Type elementType,
                            function_ref<Value(int64_t)> load);

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_BLOCKTRANSPOSE_H
