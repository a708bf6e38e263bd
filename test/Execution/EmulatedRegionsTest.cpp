//===- EmulatedRegionsTest.cpp - Regions of kernels for GPUs --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks and scores that load from tensors or may be undefined, in kernels for
// GPUs, executed on the emulator, against the interpreter. Sizes are random,
// and keys that no query sees are NaN.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index headSize = 16, queryHeads = 2;

KernelText createText(ElementType type) {
  return {.type = type,
          .queryHeads = queryHeads,
          .keyValueHeads = 1,
          .keySize = headSize,
          .valueSize = headSize,
          .pipeline = "gpu-emulator"};
}

struct Inputs {
  Index batch, queries, keys;
  TestTensor query, key, value;

  Inputs(Index batch, Index queries, Index keys, ElementType type,
         Random &random)
      : batch(batch), queries(queries), keys(keys),
        query(type, {batch, queryHeads, queries, headSize}),
        key(type, {batch, 1, keys, headSize}),
        value(type, {batch, 1, keys, headSize}) {
    for (TestTensor *tensor : {&query, &key, &value})
      tensor->fill([&] { return random.normal(); });
  }

  /// Makes the keys that `isSeen` says no of NaN.
  void poison(const std::function<bool(Index b, Index j)> &isSeen) {
    for (TestTensor *tensor : {&key, &value})
      for (Index b = 0; b < batch; ++b)
        for (Index j = 0; j < keys; ++j)
          for (Index d = 0; d < headSize; ++d)
            if (!isSeen(b, j))
              tensor->set({b, 0, j, d}, quietNaN);
  }

  std::vector<Argument> arguments(std::vector<Argument> others) const {
    std::vector<Argument> result{query.view(), key.view(), value.view()};
    result.insert(result.end(), others.begin(), others.end());
    return result;
  }
};

Layout pickLayout(Random &random, std::vector<int> broadcast = {}) {
  Layout layout;
  layout.rowPadding = random.between(0, 3);
  if (random.chance(0.5))
    layout.broadcast = std::move(broadcast);
  return layout;
}

void expectFinite(const Outcome &outcome) {
  EXPECT_EQ(outcome.error, "");
  for (double element : outcome.output)
    ASSERT_TRUE(std::isfinite(element));
}

} // namespace

/// One element for each query and one for each key.
TEST(EmulatedRegions, documents) {
  KernelText text = createText(ElementType::bf16);
  text.parameters = ", %documents: tensor<?x?xi32>";
  text.clauses = "offset(bottom_right) mask causal, "
                 "document(%documents, %documents : tensor<?x?xi32>, "
                 "tensor<?x?xi32>)";
  forSeeds(1, numCases(16), [&](Random &random) {
    Index queries = random.between(1, 90);
    Inputs inputs(2, queries, queries + random.between(0, 90),
                  ElementType::bf16, random);
    TestTensor documents(ElementType::i32, {2, inputs.keys},
                         pickLayout(random, {0}));
    Index length = random.between(1, 70);
    documents.fill(
        [&](const Shape &at) { return double((at[1] + at[0] * 13) / length); });
    inputs.poison([&](Index b, Index j) {
      for (Index p = std::max(j, inputs.keys - queries); p < inputs.keys; ++p)
        if (*documents.get({b, p}) == *documents.get({b, j}))
          return true;
      return false;
    });
    expectFinite(run(text, inputs.arguments({documents.view()})));
  });
}

/// An element for each query and key, of several types.
TEST(EmulatedRegions, matrices) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %bias: tensor<?x2x?x?xf16>, %slopes: tensor<2xf32>, "
                    "%keep: tensor<1x1x?x?xi1>";
  text.clauses = "score bias(%bias : tensor<?x2x?x?xf16>), "
                 "alibi(%slopes : tensor<2xf32>) "
                 "mask boolean(%keep : tensor<1x1x?x?xi1>)";
  forSeeds(1, numCases(16), [&](Random &random) {
    Inputs inputs(2, random.between(1, 90), random.between(1, 150),
                  ElementType::f16, random);
    TestTensor bias(ElementType::f16,
                    {2, queryHeads, inputs.queries, inputs.keys},
                    pickLayout(random, {0, 2}));
    bias.fill([&] { return random.normal(); });
    TestTensor slopes(ElementType::f32, {queryHeads}, {0.25, 0.0625});
    TestTensor keep(ElementType::i1, {1, 1, inputs.queries, inputs.keys},
                    pickLayout(random));
    Index first = random.between(0, inputs.keys);
    keep.fill([&](const Shape &at) -> double {
      return at[3] < first && random.chance(0.3);
    });
    inputs.poison([&](Index, Index j) { return j < first; });
    expectFinite(
        run(text, inputs.arguments({bias.view(), slopes.view(), keep.view()})));
  });
}

/// Of a column of a tensor, at positions plus a number, and one per batch.
TEST(EmulatedRegions, limits_of_each_query) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %ends: tensor<?x2xi64>, %n: tensor<?xi32>, %o: index";
  text.clauses = R"(offset(%o : index) mask(%b, %h, %p, %j)
      captures(%to = %ends : tensor<?x2xi64>, %shift = %o : index) {
    %c1 = arith.constant 1 : index
    %i = arith.index_cast %j : index to i64
    %row = arith.subi %p, %shift : index
    %end = tensor.extract %to[%row, %c1] : tensor<?x2xi64>
    %keep = arith.cmpi slt, %i, %end : i64
    attn.yield %keep : i1
  }, key_padding(%n : tensor<?xi32>))";
  forSeeds(1, numCases(16), [&](Random &random) {
    Inputs inputs(2, random.between(1, 90), random.between(1, 150),
                  ElementType::f16, random);
    TestTensor ends(ElementType::i64, {inputs.queries, 2});
    ends.fill([&](const Shape &at) -> double {
      return at[1] == 0 ? 1000 : double(random.between(-3, inputs.keys));
    });
    TestTensor lengths = i32({double(random.between(0, inputs.keys)),
                              double(random.between(0, inputs.keys))});
    inputs.poison(
        [&](Index b, Index j) { return double(j) < *lengths.get({b}); });
    expectFinite(run(text, inputs.arguments({ends.view(), lengths.view(),
                                             random.between(-70, 70)})));
  });
}

/// A row of a tensor by p - j, and an element for each 32 positions and keys,
/// which decides some blocks as a whole.
TEST(EmulatedRegions, tables_at_distances_and_of_blocks) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %distances: tensor<2x?xf32>, %blocks: tensor<?x?xi1>";
  text.clauses = R"(score(%s, %b, %h, %p, %j)
      captures(%bias = %distances : tensor<2x?xf32>) {
    %c200 = arith.constant 200 : index
    %d = arith.subi %p, %j : index
    %at = arith.addi %d, %c200 : index
    %x = tensor.extract %bias[%h, %at] : tensor<2x?xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  } mask(%b, %h, %p, %j) captures(%table = %blocks : tensor<?x?xi1>) {
    %c32 = arith.constant 32 : index
    %row = arith.divui %p, %c32 : index
    %column = arith.divui %j, %c32 : index
    %keep = tensor.extract %table[%row, %column] : tensor<?x?xi1>
    attn.yield %keep : i1
  })";
  forSeeds(1, numCases(16), [&](Random &random) {
    Inputs inputs(1, random.between(1, 150), random.between(1, 200),
                  ElementType::f16, random);
    TestTensor distances(ElementType::f32, {queryHeads, 200 + inputs.queries}),
        blocks(ElementType::i1,
               {(inputs.queries + 31) / 32, (inputs.keys + 31) / 32});
    distances.fill([&] { return random.normal(); });
    blocks.fill([&](const Shape &at) {
      return double(at[0] == at[1] || random.chance(0.3));
    });
    inputs.poison([&](Index, Index j) {
      for (Index row = 0; row < blocks.size(0); ++row)
        if (*blocks.get({row, j / 32}) != 0)
          return true;
      return false;
    });
    expectFinite(
        run(text, inputs.arguments({distances.view(), blocks.view()})));
  });
}

/// Ranges that came with a tensor decide blocks.
TEST(EmulatedRegions, documents_with_their_ranges) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %documents: tensor<?x?xi32>, %ranges: tensor<2x?x?xi32>";
  text.prologue = "%table = attn.with_block_range %documents, %ranges "
                  "blocks [1, 32] : tensor<?x?xi32>, tensor<2x?x?xi32>\n";
  text.clauses = "mask document(%table, %table : tensor<?x?xi32>, "
                 "tensor<?x?xi32>)";
  Random random(1);
  Index length = 150;
  Inputs inputs(1, length, length, ElementType::f16, random);
  TestTensor documents(ElementType::i32, {1, length}),
      ranges(ElementType::i32, {2, 1, (length + 31) / 32});
  auto id = [](Index j) { return double(j / 40); };
  documents.fill([&](const Shape &at) { return id(at[1]); });
  ranges.fill([&](const Shape &at) {
    Index first = at[2] * 32;
    return id(at[0] == 0 ? first : std::min(first + 31, length - 1));
  });
  expectFinite(run(text, inputs.arguments({documents.view(), ranges.view()})));
}

/// Indices from a tensor, which nothing is known of: position by position.
TEST(EmulatedRegions, tables_of_tables) {
  KernelText text = createText(ElementType::bf16);
  text.parameters = ", %order: tensor<?xi32>, %table: tensor<?xf32>";
  text.clauses = R"(score(%s, %b, %h, %p, %j)
      captures(%from = %order : tensor<?xi32>, %of = %table : tensor<?xf32>) {
    %i = tensor.extract %from[%j] : tensor<?xi32>
    %at = arith.index_cast %i : i32 to index
    %x = tensor.extract %of[%at] : tensor<?xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  } mask causal)";
  forSeeds(1, numCases(16), [&](Random &random) {
    Inputs inputs(1, random.between(1, 90), random.between(1, 150),
                  ElementType::bf16, random);
    Index size = random.between(1, 40);
    TestTensor order(ElementType::i32, {inputs.keys}),
        table(ElementType::f32, {size});
    order.fill([&] { return double(random.between(0, size - 1)); });
    table.fill([&] { return random.normal(); });
    expectFinite(run(text, inputs.arguments({order.view(), table.view()})));
    // Only what the mask keeps may be outside the table (A12).
    order.set({inputs.keys - 1}, double(size));
    std::string error =
        run(text, inputs.arguments({order.view(), table.view()})).error;
    EXPECT_EQ(error.empty(), inputs.queries < inputs.keys) << error;
  });
}

TEST(EmulatedRegions, tables_that_are_too_short) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %documents: tensor<?x?xi32>, %n: tensor<?xi32>";
  text.clauses = "mask document(%documents, %documents : tensor<?x?xi32>, "
                 "tensor<?x?xi32>), key_padding(%n : tensor<?xi32>)";
  Random random(1);
  Inputs inputs(1, 40, 100, ElementType::f16, random);
  for (Index size : {39, 40, 99, 100}) {
    TestTensor documents(ElementType::i32, {1, size});
    documents.fill([](const Shape &at) { return double(at[1] / 30); });
    for (Index length : {size, Index(100)}) {
      TestTensor lengths = i32({double(length)});
      std::string error =
          run(text, inputs.arguments({documents.view(), lengths.view()})).error;
      if (size >= inputs.queries && length <= size)
        EXPECT_EQ(error, "") << size;
      else
        EXPECT_NE(error.find("'mask' region: the value depends on index ? in "
                             "dimension 0 of 'n', of size ?"),
                  std::string::npos)
            << size << ": " << error;
    }
  }
}

TEST(EmulatedRegions, divisions) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %n: index";
  text.clauses = R"(mask(%b, %h, %p, %j) captures(%end = %n : index) {
    %c3 = arith.constant 3 : index
    %difference = arith.subi %end, %j : index
    %quotient = arith.divsi %p, %difference : index
    %keep = arith.cmpi slt, %quotient, %c3 : index
    attn.yield %keep : i1
  })";
  Random random(1);
  Inputs inputs(1, 20, 70, ElementType::f16, random);
  // Divisors may be 0 where there are no keys any more.
  for (Index n : {70, 75, -1})
    EXPECT_EQ(run(text, inputs.arguments({n})).error, "") << n;
  EXPECT_NE(run(text, inputs.arguments({Index(69)}))
                .error.find("depends on 'arith.divsi' of ? by ?"),
            std::string::npos);
}

/// Known to hide all keys, also as part of a mask, so that no products are
/// left, in tiles of many queries and of one.
TEST(EmulatedRegions, no_key_is_seen) {
  for (ElementType type : {ElementType::bf16, ElementType::f32}) {
    KernelText text = createText(type);
    text.parameters = ", %sink: tensor<2xf32>";
    text.clauses =
        R"(sink(%sink : tensor<2xf32>) mask causal, (%b, %h, %p, %j) {
      %minus = arith.constant -1 : index
      %keep = arith.cmpi sle, %j, %minus : index
      attn.yield %keep : i1
    })";
    Random random(1);
    TestTensor sink(ElementType::f32, {queryHeads}, {0.5, -2.0});
    for (Index queries : {70, 1}) {
      Inputs inputs(1, queries, 40, type, random);
      inputs.poison([](Index, Index) { return false; });
      Outcome outcome = run(text, inputs.arguments({sink.view()}));
      EXPECT_EQ(outcome.error, "");
      for (double element : outcome.output)
        EXPECT_EQ(element, 0);
    }
  }
}

/// What is asserted of arguments in memory is asserted on the device.
TEST(EmulatedRegions, offsets_of_a_batch) {
  KernelText text = createText(ElementType::f16);
  text.parameters = ", %offsets: tensor<?xi64>";
  text.clauses = "offset(%offsets : tensor<?xi64>) mask causal";
  Random random(1);
  Inputs inputs(2, 20, 70, ElementType::f16, random);
  for (double last : {7.0, -30.0, 0x1p62}) {
    TestTensor offsets(ElementType::i64, {2}, {50, last});
    std::string error = run(text, inputs.arguments({offsets.view()})).error;
    EXPECT_EQ(error.find("offset") != std::string::npos, last > 100) << error;
  }
}
