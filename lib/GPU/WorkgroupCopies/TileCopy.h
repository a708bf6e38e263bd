//===- TileCopy.h - A tile copied by a workgroup ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_WORKGROUPCOPIES_TILECOPY_H
#define ATTN_GPU_WORKGROUPCOPIES_TILECOPY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// The threads of a workgroup, which copy together.
struct WorkgroupThreads {
  gpu::LaunchOp launch;
  int64_t number;
  int64_t first = 0;
  bool inWarpgroups = false; ///< Whether warpgroups multiply what is copied.
};

/// A buffer in workgroup memory for `stages` tiles (rows, columns) of f32, f16
/// or bf16, at the start of the launch. Rows are 16 bytes longer than their
/// elements, so that the 8 that `ldmatrix` reads at once are in different
/// banks. For warpgroups, tiles are panels of `attn.read_panels`.
Value allocateTiles(WorkgroupThreads threads, int64_t stages, VectorType tile);

/// What a buffer of one tile takes, in bytes.
int64_t getTileBytes(WorkgroupThreads threads, VectorType tile);

/// The tile of `stage` in such a buffer.
Value emitTileView(ImplicitLocOpBuilder &builder, Value buffer, Value stage,
                   VectorType tile);

/// Where rows are copied from.
struct TileSource {
  Value rows;   ///< A matrix, whose rows are of a known number of elements.
  Value scales; ///< What elements of i8 are multiplied by, row by row, or null.
};

/// Bytes of one copy.
inline constexpr int64_t kChunkBytes = 16;

/// Whether each row of `memory`, and of views of it that begin with a row, is
/// aligned to so many bytes, because the pointer, the offset and the strides
/// are. A power of 2.
Value emitIsAligned(ImplicitLocOpBuilder &builder, Value memory,
                    int64_t alignment);

/// The same of rows that are copied to `tile`: as many bytes as one copy takes,
/// of which elements of another type become 16.
Value emitIsAlignedFor(ImplicitLocOpBuilder &builder, Value memory,
                       ShapedType tile);

/// Whether rows of `memory` are of another type than those of a tile.
bool isConvertedTile(Value memory, ShapedType tile);

/// Starts to copy the rows that `source` has to `tile`, with 0 after them and
/// after the last element of each, by all threads of a workgroup. Rows of
/// another type, and those that are not `isAligned`, as `emitIsAlignedFor` has
/// it, are copied at once; others arrive with the group that is created next.
void emitTileCopy(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
                  TileSource source, Value tile, Value isAligned);

/// Whether `source` has all rows of `tile`, so that `emitWholeTileCopy` can
/// copy them.
Value emitIsWholeTile(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
                      TileSource source, Value tile);

/// The same of a whole tile of aligned rows. The address, in bytes, is that of
/// what this thread copies first, or null if it has yet to be computed.
void emitWholeTileCopy(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
                       TileSource source, Value tile, Value firstAddress);
Value emitFirstAddress(ImplicitLocOpBuilder &builder, WorkgroupThreads threads,
                       TileSource source, Value tile);

/// Makes the rows of a read, which are as many as there are, with as many
/// columns, those of `tile`.
void readTile(vector::TransferReadOp read, Value tile);

} // namespace mlir::attn

#endif // ATTN_GPU_WORKGROUPCOPIES_TILECOPY_H
