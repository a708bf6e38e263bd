//===- Families.h - The benchmarks by family --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family is a file that registers benchmarks, whose names begin with the
// family's.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_FAMILIES_H
#define ATTN_TOOLS_ATTN_BENCH_FAMILIES_H

#include "tools/attn-bench/Workload.h"

namespace attn::bench {

/// Attention over whole sequences.
void registerPrefill(const Options &options);

/// The same with dropout, against that without.
void registerDropout(const Options &options);
void registerNeighbours(const Options &options);

/// A few queries against long caches, which come from memory.
void registerDecode(const Options &options);

/// Linear maps of one token, whose weight comes from memory, and of many.
void registerProjection(const Options &options);

/// A whole layer of attention, against its parts.
void registerLayer(const Options &options);
/// Function @layer of these benchmarks, as MLIR.
std::string getLayerText(ElementType type);

/// Storing what is new in long caches, which come from memory.
void registerAppend(const Options &options);

/// The variants of examples/variants, against a causal mask.
void registerVariants(const Options &options);

/// Their gradients.
void registerVariantGradients(const Options &options);

/// Multi-token attention, with stages before and after the softmax.
void registerMultiToken(const Options &options);

/// Calls of kernels that have next to nothing to compute.
void registerCall(const Options &options);

/// Compiling the kernels of some of the prefill cases, and loading them from a
/// cache.
void registerCompile(const Options &options);

/// The prefill cases, by name.
const std::vector<AttentionCase> &getPrefillCases();
/// One of them.
const AttentionCase &getPrefillCase(const std::string &name);

/// Gradients of these, beside them.
void registerGradient(const Options &options);
/// Gradients of multi-token attention.
void registerMultiTokenGradient(const Options &options);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_FAMILIES_H
