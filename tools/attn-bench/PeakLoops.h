//===- PeakLoops.h - What a machine's arithmetic can do ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PEAKLOOPS_H
#define ATTN_TOOLS_ATTN_BENCH_PEAKLOOPS_H

#include "attn/element_type.h"

#include <cstdint>
#include <vector>

namespace attn::bench {

/// A loop over independent vector operations on registers, which nothing but
/// the arithmetic units limits.
struct PeakLoop {
  const char *name;
  double flopsPerIteration;
  /// Gives a number that depends on all operations.
  float (*run)(std::int64_t iterations);
};

/// The loops that this machine can run and that a kernel on this element type
/// can be made of: f32 FMA for every type, since sums are accumulated in f32
/// and narrower inputs can be widened (of f64, twice what FMA does), and the
/// dot products of bf16, on vectors and on tiles. The peak of the type is that
/// of the fastest. Whatever the compiler of this file was told about a machine
/// does not matter.
std::vector<PeakLoop> getPeakLoops(ElementType type);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_PEAKLOOPS_H
