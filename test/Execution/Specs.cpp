//===- Specs.cpp - Random kernels
//------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Specs.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

bool KernelSpec::indexesPosition() const {
  auto indexes = [](const auto &form) { return form.indexesPosition; };
  return std::any_of(scores.begin(), scores.end(), indexes) ||
         std::any_of(masks.begin(), masks.end(), indexes);
}

bool KernelSpec::indexesRow() const {
  auto indexes = [](const auto &form) { return form.indexesRow; };
  return std::any_of(scores.begin(), scores.end(), indexes) ||
         std::any_of(masks.begin(), masks.end(), indexes);
}

std::optional<Index> KernelSpec::decodedRows() const {
  Index rows = queryHeads / keyValueHeads * fixedSizes.queryLength.value_or(0);
  if (rows < 1 || rows > 16 || ragged != Ragged::none || dropoutRate ||
      type == ElementType::f64)
    return std::nullopt;
  return rows;
}

static void chooseShapes(KernelSpec &spec, Random &random,
                         std::optional<ElementType> type) {
  spec.type = random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                        ElementType::f32, ElementType::f16,
                                        ElementType::bf16});
  spec.type = type.value_or(spec.type);
  spec.keyValueHeads = random.pick<Index>({1, 1, 2, 3, 4});
  spec.queryHeads = spec.keyValueHeads * random.pick<Index>({1, 1, 2, 3, 4});
  spec.keySize =
      random.pick<Index>({1, 2, 5, 6, 8, 16, 17, 32, 48, 64, 80, 128});
  spec.valueSize = random.chance(0.5)
                       ? spec.keySize
                       : random.pick<Index>({1, 3, 4, 7, 16, 40});
}

static void chooseOperands(KernelSpec &spec, Random &random) {
  spec.scale = random.pick<KernelSpec::Scale>(
      {KernelSpec::Scale::byDefault, KernelSpec::Scale::byDefault,
       KernelSpec::Scale::constant, KernelSpec::Scale::operand});
  spec.offset = random.pick<KernelSpec::Offset>(
      {KernelSpec::Offset::none, KernelSpec::Offset::scalar,
       KernelSpec::Offset::perBatch, KernelSpec::Offset::bottomRight});
  spec.offsetType = random.pick<string>({"index", "i32", "i64"});
  if (random.chance(0.3))
    spec.sink = random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                          ElementType::f16, ElementType::bf16});
  if (spec.type != ElementType::f64 && spec.sink == ElementType::f64)
    spec.sink = ElementType::f32; // No wider than the accumulation type.
  spec.logSumExp = random.chance(0.6);
  if (random.chance(0.4))
    spec.ragged = random.pick<KernelSpec::Ragged>(
        {KernelSpec::Ragged::packed, KernelSpec::Ragged::packedQueries,
         KernelSpec::Ragged::counts});
  spec.countsType = random.pick<string>({"i32", "i64"});
  if (random.chance(0.2))
    spec.dropoutRate = random.pick<double>({0, 0.1, 0.5, 0.9});
}

/// What few queries for each key/value head are computed for in a way of their
/// own.
static void chooseDecoding(KernelSpec &spec, Random &random) {
  spec.queryHeads = spec.keyValueHeads * random.pick<Index>({1, 2, 3, 4, 8});
  spec.keySize = random.pick<Index>({16, 32, 48, 64, 80, 128});
  spec.valueSize =
      random.chance(0.7) ? spec.keySize : random.pick<Index>({8, 16, 40, 96});
  spec.ragged = KernelSpec::Ragged::none;
  if (random.chance(0.6))
    spec.sink.reset();
}

/// Types that matrices on GPUs have, and head sizes that they have or that are
/// padded.
static void restrictToGPU(KernelSpec &spec, Random &random,
                          std::optional<ElementType> type) {
  spec.type = type.value_or(random.pick<ElementType>(
      {ElementType::f16, ElementType::bf16, ElementType::f32}));
  spec.keySize = random.pick<Index>({5, 16, 32, 40, 48, 64, 80, 128, 256});
  spec.valueSize = random.chance(0.7)
                       ? spec.keySize
                       : random.pick<Index>({1, 16, 32, 48, 72, 96});
  if (spec.sink == ElementType::f64)
    spec.sink = ElementType::f32;
}

/// Types, head sizes and queries that warpgroups multiply, and few heads, as
/// the interpreter takes long.
static void restrictToWarpgroups(KernelSpec &spec, Random &random,
                                 std::optional<ElementType> type) {
  spec.type = type.value_or(
      random.pick<ElementType>({ElementType::f16, ElementType::bf16}));
  auto pickSize = [&] {
    if (random.chance(0.5))
      return random.pick<Index>({64, 128});
    return random.chance(0.5) ? random.between(50, 64)
                              : random.between(114, 128);
  };
  spec.keySize = pickSize();
  spec.valueSize = random.chance(0.4) ? spec.keySize : pickSize();
  spec.keyValueHeads = random.pick<Index>({1, 1, 1, 2});
  spec.queryHeads = spec.keyValueHeads *
                    random.pick<Index>({1, 1, spec.keyValueHeads == 1 ? 3 : 2});
  spec.dropoutRate.reset();
  spec.hasManyQueries = true;
}

static void chooseManyQueries(KernelSpec &spec, Random &random) {
  if (random.chance(0.3))
    spec.fixedSizes = {spec.hasPackedQueries() ? 1 : random.between(1, 2),
                       pickManyQueries(random), pickManyKeys(random)};
  else if (random.chance(0.3))
    spec.fixedSizes.queryLength = pickManyQueries(random);
}

/// With `forGPU`, more often random regions, which few kernels are to cover.
static void chooseForms(KernelSpec &spec, Random &random,
                        const SpecChoice &choice) {
  Index scores = random.pick<Index>({0, 0, 1, 1, 1, 2, 3});
  Index masks = random.pick<Index>({0, 1, 1, 1, 1, 2, 3});
  if (choice.onlyRegions)
    scores = masks = 1;
  auto pickName = [&](const std::vector<string> &names, const string &written) {
    bool isWritten =
        choice.onlyRegions || (choice.forGPU && random.chance(0.4));
    return isWritten ? written : random.pick(names);
  };
  for (Index i = 0; i < scores; ++i)
    spec.scores.push_back(
        createScore(pickName(getScoreNames(), "score region: random"),
                    {spec.queryHeads, spec.accumulation(),
                     "score" + std::to_string(i) + "_"},
                    random));
  for (Index i = 0; i < masks; ++i)
    spec.masks.push_back(
        createMask(pickName(getMaskNames(), "mask region: random"),
                   {spec.queryHeads, spec.accumulation(),
                    "mask" + std::to_string(i) + "_"},
                   random));
}

Index attn::test::pickLength(Random &random) {
  static const std::vector<Index> lengths = {0,  1,  2,  3,  5,  7,  8,
                                             13, 15, 16, 17, 31, 32, 33};
  return random.chance(0.1) ? random.between(34, 125) : random.pick(lengths);
}

Index attn::test::pickManyQueries(Random &random) {
  static const std::vector<Index> lengths = {65,  70,  127, 128, 129,
                                             192, 200, 256, 257};
  return random.chance(0.3) ? random.between(65, 300) : random.pick(lengths);
}

Index attn::test::pickManyKeys(Random &random) {
  static const std::vector<Index> lengths = {0,   1,   64,  127, 128,
                                             129, 200, 256, 257, 384};
  return random.chance(0.4) ? random.between(0, 500) : random.pick(lengths);
}

KernelSpec attn::test::createKernelSpec(Random &random,
                                        const SpecChoice &choice) {
  KernelSpec spec;
  chooseShapes(spec, random, choice.type);
  chooseOperands(spec, random);
  bool isDecoding = !choice.inWarpgroups && random.chance(0.25);
  if (isDecoding)
    chooseDecoding(spec, random);
  if (choice.forGPU)
    restrictToGPU(spec, random, choice.type);
  if (choice.inWarpgroups)
    restrictToWarpgroups(spec, random, choice.type);
  // Of the size that the heads have in the end: scores of standard normal rows
  // are of order 1, as the tolerances have it.
  spec.scaleFactor = random.pick<double>({0.5, 0.7, 1.25, -1, 0}) /
                     std::sqrt(double(spec.keySize));
  chooseForms(spec, random, choice);
  if (choice.inWarpgroups)
    chooseManyQueries(spec, random);
  else if (isDecoding)
    spec.fixedSizes.queryLength = random.pick<Index>({1, 1, 1, 2, 3, 4, 7});
  else if (random.chance(0.15))
    spec.fixedSizes = {spec.hasPackedQueries() ? 1 : random.between(0, 2),
                       pickLength(random), pickLength(random)};
  // Bottom right gives negative positions where there are more queries than
  // keys, which is an error where a tensor is indexed by them.
  if (spec.offset == KernelSpec::Offset::bottomRight &&
      spec.indexesPosition() &&
      (spec.ragged == KernelSpec::Ragged::packed || spec.fixedSizes.keyLength))
    spec.offset = KernelSpec::Offset::none;
  // Rows are not known from bottom right of dynamic lengths, but of sequences.
  if (spec.offset == KernelSpec::Offset::bottomRight && spec.indexesRow() &&
      spec.ragged != KernelSpec::Ragged::packed &&
      !(spec.ragged == KernelSpec::Ragged::none &&
        spec.fixedSizes.queryLength && spec.fixedSizes.keyLength))
    spec.offset = KernelSpec::Offset::scalar;
  return spec;
}

std::set<string> KernelSpec::features() const {
  std::set<string> result;
  result.insert("type " + string(nameOf(type)));
  result.insert(queryHeads == keyValueHeads ? "heads: one to one"
                : keyValueHeads == 1        ? "heads: one key head"
                                            : "heads: groups");
  if (keySize != valueSize)
    result.insert("Dk != Dv");
  if (keySize % 2 || valueSize % 2)
    result.insert("odd head size");
  if (keySize == 1 || valueSize == 1)
    result.insert("head size 1");
  result.insert(std::vector<string>{"scale by default", "scale constant",
                                    "scale operand"}[std::size_t(scale)]);
  result.insert(
      std::vector<string>{"no offset", "offset scalar", "offset per batch",
                          "offset bottom_right"}[std::size_t(offset)]);
  if (sink)
    result.insert("sink");
  if (logSumExp)
    result.insert("log-sum-exp");
  if (ragged != Ragged::none)
    result.insert(std::vector<string>{"", "packed", "packed queries",
                                      "counts"}[std::size_t(ragged)]);
  if (dropoutRate)
    result.insert("dropout");
  if (fixedSizes.keyLength)
    result.insert("static sizes");
  if (std::optional<Index> rows = decodedRows()) {
    if (queryHeads > keyValueHeads)
      result.insert("few queries of a group");
    if (keySize % 16 == 0 && valueSize % 16 == 0)
      result.insert(*rows <= 8 ? "at most 8 rows" : "9 to 16 rows");
  }
  for (const ScoreForm &form : scores)
    result.insert(form.name);
  for (const MaskForm &form : masks)
    result.insert(form.name);
  if (masks.empty())
    result.insert("no mask");
  if (masks.size() > 1)
    result.insert("several masks");
  if (scores.size() > 1)
    result.insert("several scores");
  return result;
}
