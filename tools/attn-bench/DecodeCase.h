//===- DecodeCase.h - One decode step to measure -------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_DECODECASE_H
#define ATTN_TOOLS_ATTN_BENCH_DECODECASE_H

#include "tools/attn-bench/AttentionCase.h"
#include "tools/attn-bench/ColdCaches.h"

#include <memory>

namespace attn::bench {

class DecodeCase;
using DecodePointer = std::shared_ptr<const DecodeCase>;

/// A few new tokens of each sequence, the last of those whose keys and values
/// are in memory already.
class DecodeCase {
public:
  std::string name;
  Index batches, queryHeads, keyValueHeads, queryLength;

  static constexpr Index headSize = 128;

  DecodeCase(std::string name, Index batches, Index queryHeads,
             Index keyValueHeads, Index queryLength = 1)
      : name(std::move(name)), batches(batches), queryHeads(queryHeads),
        keyValueHeads(keyValueHeads), queryLength(queryLength) {}
  virtual ~DecodeCase() = default;

  std::vector<Index> querySizes() const {
    return {batches, queryHeads, queryLength, keySize()};
  }
  std::vector<Index> outputSizes() const {
    return {batches, queryHeads, queryLength, valueSize()};
  }
  virtual Index keySize() const { return headSize; }
  virtual Index valueSize() const { return headSize; }
  /// Whether the value of a position is the first elements of its key, so that
  /// the memory of values is not read.
  virtual bool hasValuesInKeys() const { return false; }
  /// Of the memory of the keys, and of that of the values. Rows of heads follow
  /// one another in it.
  virtual std::vector<Index> cacheSizes() const = 0;
  /// Positions of a sequence.
  virtual Index keyLength(Index batch) const = 0;
  /// Which row of the memory a position has, if it is seen.
  virtual Index rowOf(Index batch, Index head, Index position) const = 0;
  virtual bool sees(Index batch, Index query, Index position) const;
  /// Rows of one head that have to be read, of all sequences together.
  virtual Index countRows() const;

  /// What the kernel takes after the query.
  virtual std::vector<TensorView> viewsOf(const ColdCaches::Cache &cache) const;
  /// What it takes after that.
  virtual std::vector<Operand> operands() const { return {}; }
  /// A module with one function on (query, views..., operands...).
  virtual std::string text(ElementType type) const = 0;

  /// Two products of two operations each for every visible pair and dimension.
  double countFlops() const;
  /// Keys and values that have to be read, with their scales.
  double countBytes(ElementType type) const;
};

/// Of queries and outputs: that of the caches, or f32 if they are of 8 bits.
ElementType getActivationType(ElementType cacheType);

/// What a step is compared with, for each visible pair: another one in the same
/// process, run in between.
struct DecodeBaseline {
  std::string counter; ///< Name of the quotient of the speeds, or of the times.
  DecodePointer decode;
  bool isOfTimes = false;
};

struct DecodeBenchmark {
  DecodePointer decode; ///< May be null.
  std::vector<DecodeBaseline> baselines;
  DecodePointer quantized; ///< The same on caches of 8 bits; may be null.
  /// What that is compared with.
  std::vector<DecodeBaseline> quantizedBaselines = {};
};

const std::vector<DecodeBenchmark> &getDecodeBenchmarks();
/// What stands between one query of few heads and a prompt: several queries,
/// heads that are more than a tile has rows, and both in one step.
const std::vector<DecodeBenchmark> &getServingBenchmarks();

/// Every key and value in its place, (B, Hkv, Skv, D). More than one query are
/// the nodes of a tree of guesses, of which each sees its ancestors.
DecodePointer makeDenseStep(std::string name, Index batches, Index queryHeads,
                            Index keyValueHeads, Index keyLength,
                            Index queryLength = 1);
/// One sequence, whose last tokens are the queries, causally masked. A kernel
/// may be compiled for their number or for any, and then in one order of sums
/// for all.
DecodePointer makeDraftStep(std::string name, Index queryHeads,
                            Index keyValueHeads, Index keyLength,
                            Index queryLength, bool isDynamic,
                            bool isBatchInvariant = false);
/// A step of sequences with different numbers of new tokens, `counts`, of which
/// each has `length` with those, in pages: in one call, or, apart, in one for
/// the first sequence and one for the others, which have a token each.
DecodePointer makeRaggedStep(std::string name, std::vector<Index> counts,
                             Index length, bool isApart);
/// Multi-head latent attention of one sequence in its absorbed form: 128 heads
/// on one key of 576 elements, the first 512 of which are the value. Keys are
/// in their place, or in pages.
DecodePointer makeLatentStep(std::string name, Index length, bool isPaged);
/// A dense step with one query, read with attn.cache_read.
DecodePointer makeContiguousStep(std::string name, Index batches,
                                 Index keyLength);
/// Sequences of 100 to 8000 tokens, in pages of 16 that are in no order.
DecodePointer makePagedStep(std::string name);
/// Positions of a page; 0: keys lie in one piece.
struct PageSize {
  Index positions = 0;
  bool isStatic = true; ///< The kernel knows it.
};
/// One sequence in a contiguous cache, or in pages in no order, whose last
/// tokens are the queries, causally masked, with the heads of D1. A kernel may
/// be compiled for their number or for any.
DecodePointer makeCachedDraftStep(std::string name, Index length,
                                  Index queryLength, bool isDynamic,
                                  PageSize pages);
/// A window of 1024 tokens in a ring, long after it was full.
DecodePointer makeRingStep(std::string name);
/// Sequences that begin with the same 4096 tokens, which are attended to for
/// all of them at once, and have 64 of their own.
DecodePointer makeSharedPrefixStep(std::string name);
/// The same without making use of it.
DecodePointer makeUnsharedStep(std::string name);

/// "tensor<" sizes "x" type ">".
std::string tensorText(const std::string &sizes, ElementType type);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_DECODECASE_H
