//===- Transforms.h - The passes' work as functions -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_TRANSFORMS_H
#define ATTN_TRANSFORMS_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class ModuleOp;
class Operation;
class RewriterBase;
namespace func {
class FuncOp;
} // namespace func
namespace linalg {
class PackOp;
} // namespace linalg
namespace scf {
class ForallOp;
} // namespace scf
} // namespace mlir

namespace mlir::attn {

class AttentionOp;
class MultiHeadAttentionOp;
class OnlineAttentionOp;
class ProjectionOp;
class SharedOperands;

/// Type of the buffer that a kernel's caller passes for a tensor: contiguous in
/// the last dimension, any strides in the others.
MemRefType getKernelBufferType(RankedTensorType type);

/// Turns the ranked tensor results of `func` into trailing buffer arguments and
/// marks its tensor arguments read-only; but an argument that a result updates
/// becomes a buffer that the result is written into. Nothing may call `func`.
/// Emits an error for a writable argument that no result updates.
LogicalResult convertResultsToDestinations(func::FuncOp func);

/// Replaces comparisons in `root` that are always true or always false by
/// constants.
void foldTrivialComparisons(Operation *root);

/// Makes casts in `root` between an index and an integer of another width than
/// 64 bits casts of i64 and truncations or extensions.
void splitIndexCasts(Operation *root);

/// Replaces a layer by the ops that it is made of.
void decomposeLayer(RewriterBase &rewriter, MultiHeadAttentionOp op);

/// Inserts `cf.assert` before every operation in `root` that is undefined for
/// some values of its operands.
void addRuntimeChecks(Operation *root);

/// Replaces empty tensors that several results are computed from by buffers of
/// their own, as upstream's elimination of empty tensors expects.
void separateResults(Operation *root);

/// One-shot bufferization with tensor arguments of functions as buffers of
/// `getKernelBufferType`.
LogicalResult bufferizeKernels(ModuleOp module);

/// Replaces a packed batch by a loop over its sequences.
void splitSequences(RewriterBase &rewriter, AttentionOp op);

/// Whether only the reference path lowers `op`, whatever its sizes are.
bool needsReferenceLowering(AttentionOp op);

/// Puts beside an op on a dynamic number of queries the same op on one, and a
/// condition that chooses.
LogicalResult specializeQueries(RewriterBase &rewriter, AttentionOp op);

/// Makes the query heads of a group rows of one head, if these are no more than
/// `maximumRows`.
LogicalResult foldGroup(RewriterBase &rewriter, AttentionOp op,
                        int64_t maximumRows);

/// Pads the rows of query and key of bf16 attention with 0, in parallel, to a
/// multiple of `multiple` elements, which changes no score. Not if it will be
/// computed in rows, with vectors of `lanes`.
LogicalResult padHeads(RewriterBase &rewriter, AttentionOp op, int64_t multiple,
                       int64_t lanes);

/// Whether there is an online form of `op` in rows, for vectors of `lanes`.
bool canComputeInRows(AttentionOp op, int64_t lanes);

/// Whether there is an online form of `op` in pairs of bf16.
bool canComputeInPairs(AttentionOp op);

/// Computes the ranges of what the masks of `ops` load, in blocks of `queries`
/// and `keys`, right after the tables' definitions.
void summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                     int64_t queries, int64_t keys);

/// Replaces a pack of padded rows, whose other dimensions are kept, by a
/// parallel loop that transposes the rows of one pack after the other.
LogicalResult lowerPack(RewriterBase &rewriter, linalg::PackOp op);

/// Tiles batch, query heads and query rows by 1, 1 and `queries` into parallel
/// tiles. Fails, without a change, if the op can not be tiled.
LogicalResult tileAttention(RewriterBase &rewriter, AttentionOp op,
                            int64_t queries);

/// Replaces the attention of at most `maximumLanes` queries of one head by its
/// online form, on a number of lanes that is a multiple of `laneMultiple`. That
/// is in f32, with keys and values of f16 and bf16 from `shared`; with
/// `inPairs`, that of bf16 is in pairs where it can be, and with `inMatrices`
/// all is in rows, with queries as they are, for matrix units.
LogicalResult convertAttentionToOnline(RewriterBase &rewriter, AttentionOp op,
                                       int64_t maximumLanes,
                                       int64_t laneMultiple, bool inPairs,
                                       bool inMatrices, SharedOperands &shared);

/// Splits the keys of the only tile of a head into chunks that are computed in
/// parallel and merged. Fails, without a change, if it is not the only one, or
/// known to be of one chunk.
LogicalResult splitKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                        int64_t chunk);

/// Tiles the keys that the mask may keep into blocks.
LogicalResult tileKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                       int64_t block);

/// How keys of i8 are multiplied.
struct ScoreOptions {
  /// As integers, with queries that are rounded to i8, where `i8Dot` allows it.
  bool quantizeQueries = false;
  /// Numbers of i8 that a dot product of the target takes; 0: it has none.
  int64_t i8Dot = 0;
  /// Products of pairs are in AMX tiles, which can begin at zero.
  bool bf16Tiles = false;
};

/// Replaces the attention of one block of keys by contractions and a softmax
/// step. Fails if the number of keys has no constant bound.
LogicalResult decomposeOnline(RewriterBase &rewriter, OnlineAttentionOp op,
                              const ScoreOptions &options);

/// Prefetches the rows that the views of the next iteration of `loop` are of.
void prefetchTiles(scf::ForallOp loop);

} // namespace mlir::attn

#endif // ATTN_TRANSFORMS_TRANSFORMS_H
