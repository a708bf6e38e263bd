//===- LaunchAttributes.h - What launches say -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_LAUNCHATTRIBUTES_H
#define ATTN_GPU_LAUNCHATTRIBUTES_H

#include "lib/Plan/Plan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::attn {

/// An attribute of loops over tiles, and of their launches: how many rows of a
/// tile each warp has, as the plan of what is in the loop says.
inline constexpr StringLiteral kWarpRowsAttr = "attn.warp_rows";

/// An attribute of the same: how many rows of a tile there are at most, if that
/// is known. Nobody has what lanes compute of others.
inline constexpr StringLiteral kMostRowsAttr = "attn.most_rows";

/// An attribute of the same: four warps multiply together.
inline constexpr StringLiteral kWarpgroupsAttr = "attn.warpgroups";

/// An attribute of launches: how many of their last threads are producers,
/// which copy for the others.
inline constexpr StringLiteral kProducersAttr = "attn.producers";

/// The numbers of barriers, where there are producers: for consumers alone, and
/// for all threads. Reductions have 0.
inline constexpr int64_t kBarrierOfConsumers = 1, kBarrierOfAll = 2;

/// An attribute of buffers in workgroup memory that share it with no other.
inline constexpr StringLiteral kKeptMemoryAttr = "attn.kept";

inline int64_t getNumProducers(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(kProducersAttr);
  return number ? number.getInt() : 0;
}

inline std::optional<int64_t> getMostRows(Operation *op) {
  auto rows = op->getAttrOfType<IntegerAttr>(kMostRowsAttr);
  return rows ? std::optional(rows.getInt()) : std::nullopt;
}

/// Rows of a tile for which products compute its transpose: those of mma.sync
/// have 16 rows, and 8 columns.
inline constexpr int64_t kRowsOfTranspose = 8;

inline bool computesTranspose(Operation *op, int64_t warpRows) {
  return warpRows == kRowsOfWarp && !op->hasAttr(kWarpgroupsAttr) &&
         getMostRows(op).value_or(kRowsOfWarp) <= kRowsOfTranspose;
}

/// Whether each iteration is one warp's, of those that share a workgroup: a
/// loop in that of the workgroups, whose `mapping` says so.
inline bool isLoopOfWarps(scf::ForallOp loop) {
  std::optional<ArrayAttr> mapping = loop.getMapping();
  return mapping && mapping->size() == 1 &&
         isa<gpu::GPUWarpMappingAttr>(mapping->getValue().front());
}

/// Those of one product, if nothing is said. Fails with an error for what no
/// warp can have.
inline FailureOr<int64_t> getWarpRows(Operation *op) {
  Attribute attribute = op->getAttr(kWarpRowsAttr);
  if (!attribute)
    return kRowsOfWarp;
  auto rows = dyn_cast<IntegerAttr>(attribute);
  if (!rows || rows.getInt() <= 0 || rows.getInt() % kRowsOfWarp != 0)
    return op->emitError("expected a multiple of ")
           << kRowsOfWarp << " as '" << kWarpRowsAttr << "', got " << attribute;
  return rows.getInt();
}

} // namespace mlir::attn

#endif // ATTN_GPU_LAUNCHATTRIBUTES_H
