//===- ProjectionTest.cpp - attn.projection, executed ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/ProjectionSpec.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <limits>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

TEST(Projection, p2_columns_follow_each_other) {
  // Column n of the weight is n + 1, and the input's features add to 3.
  ProjectionSpec spec;
  spec.type = spec.weightType = spec.outType = ElementType::f64;
  spec.input = {0, 2};
  spec.outs = {{2, 2}, {0, 1}};
  TestTensor input(ElementType::f64, {1, 2, 2}, {1, 2, 10, 20}),
      weight(ElementType::f64, {2, 5});
  weight.fill([](const Shape &i) { return double(i[1] + 1); });
  Results results = runEverywhere(spec.text(), {input, weight});
  EXPECT_EQ(results.tensors[0].elements(),
            (std::vector<double>{3, 6, 30, 60, 9, 12, 90, 120}));
  EXPECT_EQ(results.tensors[1].elements(), (std::vector<double>{15, 150}));
}

TEST(Projection, p3_columns_to_spare_are_not_used) {
  ProjectionSpec spec;
  spec.input = {0, 2};
  spec.outs = {{0, 3}};
  spec.panel = 16;
  TestTensor input(ElementType::f32, {1, 1, 2}, {1, 2}),
      weight(ElementType::f32, {1, 2, 16});
  weight.fill(
      [](const Shape &i) { return i[2] < 3 ? double(i[2] + 1) : quietNaN; });
  EXPECT_EQ(runEverywhere(spec.text(), {input, weight}).tensors[0].elements(),
            (std::vector<double>{3, 6, 9}));
}

TEST(Projection, p1_sizes_at_run_time) {
  const char *text = R"(
    func.func @f(%x: tensor<?x?x2xf32>, %w: tensor<2x3xf32>,
                 %b: index, %s: index) -> tensor<?x?x3xf32> {
      %e = tensor.empty(%b, %s) : tensor<?x?x3xf32>
      %0 = attn.projection ins(%x, %w : tensor<?x?x2xf32>, tensor<2x3xf32>)
          outs(%e : tensor<?x?x3xf32>)
      return %0 : tensor<?x?x3xf32>
    })";
  TestTensor x = normal(ElementType::f32, {2, 5, 2}),
             w = normal(ElementType::f32, {2, 3});
  auto run = [&](Index batch, Index length) {
    return runEverywhere(text, {x, w, batch, length}).error;
  };
  EXPECT_EQ(run(2, 5), "");
  EXPECT_NE(run(1, 5).find("batch size"), string::npos);
  EXPECT_NE(run(2, 6).find("sequence length"), string::npos);
}

ProjectionSpec createSpec(Random &random) {
  ProjectionSpec spec;
  spec.type = random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                        ElementType::f32, ElementType::f16,
                                        ElementType::bf16, ElementType::bf16});
  spec.weightType =
      random.pick<ElementType>({ElementType::f32, ElementType::f16,
                                ElementType::bf16, ElementType::i8, spec.type});
  spec.outType = spec.type == ElementType::f64 || random.chance(0.6)
                     ? spec.type
                     : ElementType::f32;
  spec.hasBias = random.chance(0.4);
  spec.biasType =
      random.pick<ElementType>({ElementType::f32, ElementType::bf16});
  auto tokens = [&](Index most) {
    Tokens result;
    bool isPlain = random.chance(0.3); // Sizes that fill vectors.
    if (random.chance(0.5)) {
      result.heads = random.between(1, 3);
      result.size = isPlain ? 32 : random.between(1, most / 3);
    } else {
      result.size = isPlain ? 64 : random.between(1, most);
    }
    return result;
  };
  spec.input = tokens(140);
  for (Index i = random.between(1, 3); i > 0; --i)
    spec.outs.push_back(tokens(100));
  if (random.chance(0.7))
    spec.panel = random.pick<Index>({16, 16, 32, 64, random.between(1, 20)});
  spec.inPairs =
      spec.panel && spec.input.features() % 2 == 0 && random.chance(0.5);
  spec.isTransposed = !spec.panel && random.chance(0.5);
  return spec;
}

/// Wider numbers are multiplied with pairs of bf16 as sums of bf16, whose
/// products are exact. Infinite numbers and weights, and numbers of bf16
/// itself, have no rest to multiply.
TEST(Projection, p4_wider_numbers_times_pairs) {
  std::uint64_t seed = 8300;
  for (auto [type, features, length] : coverPairs<ElementType, Index, Index>(
           {ElementType::f32, ElementType::f16}, {288, 48}, {1, 5, 70})) {
    SCOPED_TRACE("seed " + std::to_string(++seed));
    Random random(seed);
    ProjectionSpec spec;
    spec.type = type;
    spec.weightType = ElementType::bf16;
    spec.input = {0, features};
    spec.outs = {{3, 64}, {0, 100}};
    spec.panel = 64;
    spec.inPairs = true;
    if (length != 5) {
      spec.batch = 1;
      spec.length = length;
    }
    ProjectionCall call(spec, 1, length, random);
    EXPECT_EQ(runEverywhere(spec.text(), call.arguments(spec)).error, "");

    // Of a weight (panels, K / 2, columns, 2), column 3 is infinite; tokens
    // are whole, infinite or not a number somewhere.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    call.input.fill([&](const Shape &i) {
      Index row = i[1];
      if (i[2] != 2)
        return row % 5 == 4 ? random.normal()
                            : 1 + double(random.between(0, 3));
      return row % 5 == 1   ? infinity
             : row % 5 == 2 ? -infinity
             : row % 5 == 3 ? quietNaN
                            : 1.0;
    });
    call.weight.fill([&](const Shape &i) {
      return i[0] == 0 && i[1] == 4 && i[2] == 3 ? infinity
                                                 : 1 + double(i[2] % 4);
    });
    EXPECT_EQ(runEverywhere(spec.text(), call.arguments(spec)).error, "");
  }
}

/// Panels of integers, and of bf16 that is in no pairs, are converted to pairs
/// for many rows.
TEST(Projection, p4_panels_become_pairs) {
  std::uint64_t seed = 8600;
  auto run = [&](ElementType weightType, ElementType type, bool inPairs,
                 Index length) {
    SCOPED_TRACE("seed " + std::to_string(++seed));
    Random random(seed);
    ProjectionSpec spec;
    spec.type = type;
    spec.weightType = weightType;
    spec.input = {3, 96};
    spec.outs = {{3, 32}, {0, 100}};
    spec.panel = length == 37 ? 32 : 64;
    spec.inPairs = inPairs;
    spec.hasBias = true;
    if (length != 37)
      spec.batch = 1;
    if (length == 70)
      spec.length = length;
    runSpec(spec, length == 37 ? 2 : 1, length, random);
  };
  const std::vector<ElementType> types = {ElementType::f32, ElementType::f16,
                                          ElementType::bf16};
  for (auto [type, inPairs, length] :
       coverPairs<ElementType, bool, Index>(types, {false, true}, {5, 37, 70}))
    run(ElementType::i8, type, inPairs, length);
  for (ElementType type : types)
    run(ElementType::bf16, type, false, 70);
}

/// Features that are multiplied in blocks: a first, others and a last, of
/// another size; and more rows than a tile has. Of pairs, a panel's blocks
/// follow each other, unless there are too many features. Of few rows, weights
/// are read in two streams, or in one of an odd number, and such without panels
/// in tiles of blocks of columns, the last of which is smaller. Of many rows,
/// and of transposed weights, blocks are packed.
TEST(Projection, blocks_of_features) {
  struct Case {
    ElementType type, weightType;
    bool inPairs;
    Index features, panel = 64, length = 270, heads = 2;
    bool isTransposed = false;
  };
  std::uint64_t seed = 8400;
  for (Case c :
       {Case{ElementType::bf16, ElementType::bf16, true, 1088, 32},
        Case{ElementType::bf16, ElementType::bf16, true, 544},
        Case{ElementType::bf16, ElementType::bf16, true, 2592, 32},
        Case{ElementType::f32, ElementType::bf16, true, 1088},
        Case{ElementType::f32, ElementType::f32, false, 1000},
        Case{ElementType::f32, ElementType::i8, false, 576, 64, 1},
        Case{ElementType::bf16, ElementType::i8, false, 2100, 64, 7},
        Case{ElementType::f32, ElementType::f32, false, 2055, 64, 1},
        Case{ElementType::f16, ElementType::f16, false, 321, 64, 1},
        Case{ElementType::bf16, ElementType::bf16, true, 2112, 64, 3},
        Case{ElementType::f32, ElementType::bf16, true, 576, 64, 1},
        Case{ElementType::f32, ElementType::f32, false, 600, 0, 1, 11},
        Case{ElementType::bf16, ElementType::bf16, false, 257, 0, 1, 9},
        Case{ElementType::f16, ElementType::i8, false, 700, 0, 7, 6},
        Case{ElementType::f32, ElementType::bf16, false, 512, 0, 64, 5},
        Case{ElementType::f32, ElementType::f32, false, 1000, 0},
        Case{ElementType::f32, ElementType::f32, false, 1000, 0, 270, 7, true},
        Case{ElementType::bf16, ElementType::bf16, false, 773, 0, 270, 3, true},
        Case{ElementType::f16, ElementType::i8, false, 391, 0, 270, 3, true},
        Case{ElementType::f32, ElementType::f32, false, 600, 0, 1, 5, true},
        Case{ElementType::f32, ElementType::bf16, false, 517, 0, 9, 5, true}}) {
    SCOPED_TRACE("seed " + std::to_string(++seed));
    Random random(seed);
    ProjectionSpec spec;
    spec.type = c.type;
    spec.weightType = c.weightType;
    spec.input = {0, c.features};
    spec.outs = {{c.heads, 64}};
    spec.panel = c.panel;
    spec.inPairs = c.inPairs;
    spec.isTransposed = c.isTransposed;
    spec.batch = 1;
    if (c.length == 1)
      spec.length = 1;
    runSpec(spec, 1, c.length, random);
  }
}

/// Tiles of about the same size, the last of which is smaller: columns in heads
/// of two blocks, and in blocks of no heads with some to spare; and rows.
TEST(Projection, tiles) {
  std::uint64_t seed = 8500;
  using Types = std::pair<ElementType, ElementType>;
  for (auto [types, batch] :
       coverChoices<Types, Index>({{ElementType::bf16, ElementType::bf16},
                                   {ElementType::f32, ElementType::f32},
                                   {ElementType::f32, ElementType::bf16}},
                                  {1, 2})) {
    auto [type, weightType] = types;
    SCOPED_TRACE("seed " + std::to_string(++seed));
    Random random(seed);
    ProjectionSpec spec;
    spec.type = type;
    spec.weightType = weightType;
    spec.input = {0, 32};
    spec.outs = {{13, 64}, {0, 932}};
    spec.panel = 32;
    spec.inPairs = weightType == ElementType::bf16;
    spec.batch = batch;
    runSpec(spec, batch, /*length=*/70, random);

    spec.outs = {{1, 64}, {0, 40}};
    spec.length = 410;
    runSpec(spec, batch, spec.length, random);

    // Tiles pack their rows.
    spec.outs = {{9, 64}};
    spec.length = -1;
    if (batch == 1 && spec.inPairs)
      runSpec(spec, batch, /*length=*/410, random);
  }
}

TEST(Projection, random) {
  forSeeds(8100, numCases(40), [&](Random &random) {
    ProjectionSpec spec = createSpec(random);
    Index batch = random.between(0, 2),
          length = random.pick<Index>({0, 1, 1, random.between(2, 8),
                                       random.between(9, 64),
                                       random.between(65, 140)});
    if (random.chance(0.3))
      spec.batch = batch;
    if (random.chance(0.4))
      spec.length = length;
    runSpec(spec, batch, length, random);
  });
}

/// Results do not depend on the number of threads, bit for bit.
TEST(Projection, threads) {
  for (Index length : {1, 70}) {
    ProjectionSpec spec;
    spec.input = {0, 64};
    spec.outs = {{3, 64}, {0, 100}};
    spec.panel = 32;
    Random random(8200);
    ProjectionCall call(spec, 1, length, random);
    EXPECT_EQ(runOnThreads(1, spec.text(), call.arguments(spec)),
              runOnThreads(3, spec.text(), call.arguments(spec)));
  }
}

/// Nor do they where each thread packs the rows of its tiles.
TEST(Projection, threads_pack_rows) {
  ProjectionSpec spec;
  spec.type = spec.weightType = ElementType::bf16;
  spec.batch = 1;
  spec.input = {0, 64};
  spec.outs = {{9, 64}};
  spec.panel = 32;
  spec.inPairs = true;
  Random random(8700);
  ProjectionCall call(spec, 1, /*length=*/1000, random);
  EXPECT_EQ(runOnThreads(1, spec.text(), call.arguments(spec)),
            runOnThreads(3, spec.text(), call.arguments(spec)));
}

} // namespace
