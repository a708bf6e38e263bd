//===- KeyLoops.h - Loops over blocks of keys -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_KEYLOOPS_H
#define ATTN_GPU_KEYLOOPS_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// The block of keys of a loop that has one; null of any other.
OnlineAttentionOp findOnlyBlock(scf::ForOp loop);

/// How many columns a matrix of the block's scores has: its most keys, up to a
/// multiple of what units multiply. Nothing where there is no bound.
std::optional<int64_t> getBlockKeys(OnlineAttentionOp op);

/// Which value of a loop over keys is a part of the state before and after its
/// only block, if that alone does something with it.
std::optional<unsigned> findCarried(scf::ForOp loop, Value part, Value after);

/// Removes what tiling left: a block's state is inserted into all of what there
/// was.
void foldWholeInsertions(scf::ForOp loop);

} // namespace mlir::attn

#endif // ATTN_GPU_KEYLOOPS_H
