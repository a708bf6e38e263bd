//===- Conversions.h - Parts of the conversion to lanes ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_VECTORTOLANES_CONVERSIONS_H
#define ATTN_GPU_VECTORTOLANES_CONVERSIONS_H

#include "dialect/AttnOps.h"
#include "lib/GPU/VectorToLanes/LaneValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {

// Each function emits, at the builder of `lanes`, what one lane does of an
// operation, which stays, without users. All fail with a diagnostic where the
// operation has no form for lanes.

/// Says so, and fails.
LogicalResult rejectForLanes(Operation *op);

/// Converts what a region moved to.
using ConvertBlock = function_ref<LogicalResult(Block &)>;

LogicalResult convertLoop(scf::ForOp loop, LaneValues &lanes,
                          ConvertBlock convert);
LogicalResult convertWhile(scf::WhileOp loop, LaneValues &lanes,
                           ConvertBlock convert);
LogicalResult convertBranch(scf::IfOp branch, LaneValues &lanes,
                            ConvertBlock convert);

/// Iterations without vectors, of constant number, which the threads of the
/// workgroup share. What they write to workgroup memory is there after them.
LogicalResult convertForall(scf::ForallOp loop, LaneValues &lanes);

/// Reductions of rows take shuffles between the lanes that have a row, one of
/// all elements a barrier.
LogicalResult convertToLanes(vector::MultiDimReductionOp op, LaneValues &lanes);

/// A vote of the warp.
LogicalResult convertToLanes(AnyInWarpOp op, LaneValues &lanes);

/// Converts a comparison of the index of a column with something of its row or
/// of all; returns false for another one, which is elementwise.
bool convertColumnComparison(arith::CmpIOp op, LaneValues &lanes);

/// Whether a read is of rows in workgroup memory that products contract, which
/// they read themselves.
bool isShared(vector::TransferReadOp read);
LogicalResult convertSharedRead(vector::TransferReadOp read, LaneValues &lanes);
LogicalResult convertToLanes(vector::ContractionOp op, LaneValues &lanes);
/// The same of rows that warpgroups contract.
LogicalResult convertToLanes(ReadPanelsOp read, LaneValues &lanes);

/// A `memref.alloc` or `memref.alloca` in workgroup memory.
template <typename Op> LogicalResult convertBuffer(Op op, LaneValues &lanes);
LogicalResult convertToLanes(vector::TransferReadOp read, LaneValues &lanes);
LogicalResult convertToLanes(vector::GatherOp gather, LaneValues &lanes);
LogicalResult convertToLanes(vector::TransferWriteOp write, LaneValues &lanes);

} // namespace mlir::attn

#endif // ATTN_GPU_VECTORTOLANES_CONVERSIONS_H
