//===- Specs.h - Random kernels and calls of them ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_SPECS_H
#define ATTN_TEST_EXECUTION_SPECS_H

#include "attn/kernel.h"
#include "runtime/Reference/Attention.h"
#include "test/Execution/Forms.h"

#include <set>

namespace attn::test {

/// One kernel: all that its text depends on.
struct KernelSpec {
  enum class Scale { byDefault, constant, operand };
  enum class Offset { none, scalar, perBatch, bottomRight };
  /// Sequences with numbers of queries of their own (A7): packed, with packed
  /// keys or a batch of them, or a batch of which some rows count.
  enum class Ragged { none, packed, packedQueries, counts };
  /// Sizes that are written in the types; `?` where they are missing.
  struct FixedSizes {
    std::optional<Index> batch, queryLength, keyLength;
  };

  ElementType type = ElementType::f32;
  Index queryHeads = 1, keyValueHeads = 1, keySize = 1, valueSize = 1;
  Scale scale = Scale::byDefault;
  double scaleFactor = 1;
  Offset offset = Offset::none;
  std::string offsetType; ///< "index", "i32" or "i64".
  std::optional<ElementType> sink;
  bool logSumExp = false;
  Ragged ragged = Ragged::none;
  std::string countsType; ///< "i32" or "i64".
  std::optional<double> dropoutRate;
  bool hasManyQueries = false; ///< Tiles of 128, and blocks of as many keys.
  FixedSizes fixedSizes;
  std::vector<ScoreForm> scores;
  std::vector<MaskForm> masks;

  ElementType accumulation() const {
    return type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  }
  bool hasPackedQueries() const {
    return ragged == Ragged::packed || ragged == Ragged::packedQueries;
  }
  bool indexesPosition() const;
  bool indexesRow() const;
  /// Queries that read one key/value head, if they are few: what decoding is
  /// computed for.
  std::optional<Index> decodedRows() const;
  /// Function @attention.
  std::string text() const;
  /// Names of everything that is in it.
  std::set<std::string> features() const;
};

/// Which specs there are.
struct SpecChoice {
  std::optional<ElementType> type; ///< Any where it is missing.
  /// What is lowered for GPUs, but for scores and masks, which may be any.
  bool forGPU = false;
  /// What warpgroups of GPUs multiply.
  bool inWarpgroups = false;
  /// A score and a mask, both random expressions, and no others.
  bool onlyRegions = false;
};
KernelSpec createKernelSpec(Random &random, const SpecChoice &choice);

/// Mostly short, sometimes of several tiles and blocks; what i8 can hold.
Index pickLength(Random &random);
/// Lengths of which there are several tiles, and several blocks of keys.
Index pickManyQueries(Random &random);
Index pickManyKeys(Random &random);

/// Arguments and results of one call of a kernel, and what it should compute.
struct Call {
  std::vector<Value> values;
  TestTensor output;
  std::optional<TestTensor> logSumExp;
  reference::AttentionProblem problem;
  std::set<std::string> features;

  std::vector<Argument> arguments() const;
  std::vector<TensorView> results() const;
};

Call createCall(const KernelSpec &spec, Random &random);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_SPECS_H
