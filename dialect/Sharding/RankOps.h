//===- RankOps.h - What ranks say to each other -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from AttnOps.h: what computes on one machine knows nothing of these.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARDING_RANKOPS_H
#define ATTN_DIALECT_SHARDING_RANKOPS_H

#include "dialect/AttnDialect.h"
#include "dialect/AttnOps.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
/// Of a shard.sharding by rows: each rank `r` of the `n` along their axis has
/// two pieces of them, one after the other, `r` and `2 n - 1 - r` of `2 n`.
constexpr llvm::StringLiteral kZigzagName = "attn.zigzag";

/// Of an attn.attention whose rows of queries and of keys are split along one
/// axis, how each rank comes to the keys. Without it, blocks of them go
/// around.
constexpr llvm::StringLiteral kExchangeName = "attn.exchange";
constexpr llvm::StringLiteral kRing = "ring";
/// All ranks get all keys and values first.
constexpr llvm::StringLiteral kGather = "gather";
/// Rows become heads, and what is computed of them rows again.
constexpr llvm::StringLiteral kUlysses = "ulysses";
} // namespace mlir::attn

#define GET_OP_CLASSES
#include "dialect/Sharding/RankOps.h.inc"

#endif // ATTN_DIALECT_SHARDING_RANKOPS_H
