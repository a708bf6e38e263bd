//===- TargetDescription.h - What lowerings know of a machine ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_TARGETDESCRIPTION_H
#define ATTN_PLAN_TARGETDESCRIPTION_H

#include <cstdint>

namespace mlir::attn {

/// The machine that a kernel is compiled for. The runtime finds out what it is
/// compiling for; the tools, whose output should not depend on where they run,
/// start from these defaults: AVX2 with FMA, which most machines can execute.
struct TargetDescription {
  /// Width of a vector register.
  unsigned vectorBits = 256;
  /// Number of vector registers.
  unsigned vectorRegisters = 16;
  /// There is x * 2^floor(y) in one instruction (AVX512F's vscalef).
  bool scalef = false;
  /// There are dot products of pairs of bf16, on vectors of 512 bits
  /// (AVX512-BF16), that beat converting them to f32.
  bool bf16Dot = false;
  /// There are products of tiles of pairs of bf16 (AMX-BF16), besides
  /// AVX512-BF16.
  bool bf16Tiles = false;
  /// There are dot products of four i8, unsigned and signed (AVX512-VNNI, or
  /// AVX-VNNI on vectors of 256 bits).
  bool i8Dot = false;
  /// Not the machine's, but its user's choice: keys in caches of i8 are
  /// multiplied as integers where the machine has dot products of them, with
  /// queries that are rounded to i8. Faster, and less exact.
  bool quantizeQueries = false;

  /// Whether bf16 is multiplied in pairs.
  bool hasPairs() const { return vectorBits == 512 && (bf16Dot || bf16Tiles); }
  /// How many elements of rows are then multiplied at once.
  int64_t getPairMultiple() const { return bf16Tiles ? 32 : 2; }
};

} // namespace mlir::attn

#endif // ATTN_PLAN_TARGETDESCRIPTION_H
