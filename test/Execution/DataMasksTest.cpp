//===- DataMasksTest.cpp - Masks that read tensors, in many blocks --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks whose blocks are empty, full or partial by what tensors hold. What is
// skipped must not be what counts: everything is held to the interpreter, and
// keys that no query sees are NaN.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index headSize = 8;

struct Sizes {
  Index batch, queryHeads, keyValueHeads, queries, keys;
};

Sizes pickSizes(Random &random) {
  Index heads = random.between(1, 2);
  return {random.between(1, 2), heads * random.between(1, 2), heads,
          random.between(1, 260), random.between(1, 400)};
}

KernelText textOf(const Sizes &sizes, ElementType type) {
  return {.type = type,
          .queryHeads = sizes.queryHeads,
          .keyValueHeads = sizes.keyValueHeads,
          .keySize = headSize,
          .valueSize = headSize};
}

struct Inputs {
  TestTensor query, key, value;

  Inputs(const Sizes &sizes, ElementType type, Random &random)
      : query(type, {sizes.batch, sizes.queryHeads, sizes.queries, headSize}),
        key(type, {sizes.batch, sizes.keyValueHeads, sizes.keys, headSize}),
        value(type, {sizes.batch, sizes.keyValueHeads, sizes.keys, headSize}) {
    for (TestTensor *tensor : {&query, &key, &value})
      tensor->fill([&] { return random.normal(); });
  }

  /// Makes the keys that `isSeen` says no of NaN.
  void poison(const std::function<bool(Index b, Index j)> &isSeen) {
    for (TestTensor *tensor : {&key, &value}) {
      TestTensor copy = *tensor; // Shares the memory.
      tensor->fill([&](const Shape &at) {
        return isSeen(at[0], at[2]) ? *copy.get(at) : quietNaN;
      });
    }
  }

  std::vector<Argument> arguments(std::vector<TensorView> others) const {
    std::vector<Argument> result{query.view(), key.view(), value.view()};
    result.insert(result.end(), others.begin(), others.end());
    return result;
  }
};

void expectFinite(const Outcome &outcome) {
  for (double element : outcome.output)
    ASSERT_TRUE(std::isfinite(element));
}

/// Numbers of documents of `length` positions: of any length, none, or of about
/// one block; some numbers come again.
std::vector<double> pickDocuments(Index length, Random &random) {
  std::vector<double> result;
  auto id = double(random.between(-3, 3));
  while (Index(result.size()) < length) {
    Index size = random.pick<Index>(
        {0, 1, 63, 64, 65, random.between(1, 40), random.between(60, 200)});
    result.insert(result.end(), std::size_t(size), id);
    id = random.chance(0.2) ? double(random.between(-3, 3)) : id + 1;
  }
  result.resize(std::size_t(length));
  return result;
}

/// A (B, S) tensor, perhaps with gaps, or one row for all of the batch.
TestTensor createDocuments(ElementType type, Index batch, Index length,
                           Random &random) {
  Layout layout;
  layout.rowPadding = random.between(0, 2);
  if (random.chance(0.3))
    layout.broadcast = {0};
  TestTensor result(type, {batch, length}, layout);
  std::vector<std::vector<double>> rows;
  for (Index b = 0; b < batch; ++b)
    rows.push_back(pickDocuments(length, random));
  result.fill([&](const Shape &at) {
    return rows[std::size_t(at[0])][std::size_t(at[1])];
  });
  return result;
}

/// Queries, the last of the keys, see the keys of their documents.
void expectDocuments(const Sizes &sizes, Random &random) {
  auto type = random.pick<ElementType>({ElementType::f32, ElementType::bf16});
  auto idType = random.pick<ElementType>(
      {ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64});
  std::string table = "tensor<?x?x" + std::string(nameOf(idType)) + ">";
  KernelText text = textOf(sizes, type);
  text.parameters = ", %documents: " + table;
  text.clauses = "offset(bottom_right) mask ";
  text.clauses += random.chance(0.5) ? "causal, " : "";
  text.clauses +=
      "document(%documents, %documents : " + table + ", " + table + ")";
  TestTensor documents =
      createDocuments(idType, sizes.batch, sizes.keys, random);
  Inputs inputs(sizes, type, random);
  std::vector<std::set<double>> ofQueries(std::size_t(sizes.batch));
  for (Index b = 0; b < sizes.batch; ++b)
    for (Index p = sizes.keys - sizes.queries; p < sizes.keys; ++p)
      ofQueries[std::size_t(b)].insert(*documents.get({b, p}));
  inputs.poison([&](Index b, Index j) {
    return ofQueries[std::size_t(b)].contains(*documents.get({b, j}));
  });
  expectFinite(run(text, inputs.arguments({documents.view()})));
}

} // namespace

TEST(DataMasks, documents) {
  forSeeds(1, numCases(12), [](Random &random) {
    Sizes sizes = pickSizes(random);
    sizes.keys = std::max(sizes.keys, sizes.queries);
    expectDocuments(sizes, random);
  });
}

// More tiles than one thread searches for at a time.
TEST(DataMasks, documents_of_many_tiles) {
  Random random(13);
  SCOPED_TRACE("seed 13");
  Index queries = random.between(1025, 1100);
  expectDocuments({.batch = 2,
                   .queryHeads = 2,
                   .keyValueHeads = 1,
                   .queries = queries,
                   .keys = queries + random.between(0, 70)},
                  random);
}

TEST(DataMasks, documents_of_a_packed_batch) {
  forSeeds(1, numCases(12), [](Random &random) {
    Sizes sizes = pickSizes(random);
    sizes.batch = 1;
    sizes.keys = sizes.queries;
    KernelText text = textOf(sizes, ElementType::f32);
    text.parameters = ", %cumulative: tensor<?xi32>, %documents: "
                      "tensor<?x?xi32>";
    text.clauses =
        "sequences(%cumulative, %cumulative : tensor<?xi32>, tensor<?xi32>) "
        "mask causal, document(%documents, %documents : tensor<?x?xi32>, "
        "tensor<?x?xi32>)";
    Index middle = random.between(0, sizes.keys);
    TestTensor cumulative = i32({0, double(middle), double(sizes.keys)});
    TestTensor documents =
        createDocuments(ElementType::i32, 2, sizes.keys, random);
    Inputs inputs(sizes, ElementType::f32, random);
    expectFinite(
        run(text, inputs.arguments({cumulative.view(), documents.view()})));
  });
}

TEST(DataMasks, boolean_blocks) {
  forSeeds(1, numCases(12), [](Random &random) {
    Sizes sizes = pickSizes(random);
    bool perHead = random.chance(0.5), perBatch = random.chance(0.5);
    KernelText text = textOf(sizes, ElementType::f32);
    std::string table = "tensor<";
    table += (perBatch ? "?x" : "1x");
    table += (perHead ? std::to_string(sizes.queryHeads) : "1") + "x?x?xi1>";
    text.parameters = ", %keep: " + table;
    text.clauses = "mask boolean(%keep : " + table + ")";
    if (random.chance(0.3))
      text.clauses += ", sliding_window(150, 20)";

    // Blocks of any size, each all true, all false, or a mix.
    Index rows = random.pick<Index>({16, 32, 64, 50});
    Index columns = random.pick<Index>({64, 32, 128, 50});
    Layout layout;
    layout.rowPadding = random.between(0, 2);
    TestTensor keep(ElementType::i1,
                    {perBatch ? sizes.batch : 1, perHead ? sizes.queryHeads : 1,
                     sizes.queries, sizes.keys},
                    layout);
    std::uint64_t salt = random.bits();
    keep.fill([&](const Shape &at) -> double {
      Random block(salt +
                   std::uint64_t(at[0] * 7 + at[1] * 5 + at[2] / rows * 131 +
                                 at[3] / columns * 1031));
      Index kind = block.between(0, 3);
      return kind < 2 ? 0 : kind == 2 ? 1 : random.chance(0.5);
    });
    Inputs inputs(sizes, ElementType::f32, random);
    inputs.poison([&](Index b, Index j) {
      for (Index h = 0; h < keep.size(1); ++h)
        for (Index i = 0; i < sizes.queries; ++i)
          if (*keep.get({perBatch ? b : 0, h, i, j}) != 0)
            return true;
      return false;
    });
    expectFinite(run(text, inputs.arguments({keep.view()})));
  });
}

TEST(DataMasks, limits_of_each_query) {
  forSeeds(1, numCases(12), [](Random &random) {
    Sizes sizes = pickSizes(random);
    KernelText text = textOf(sizes, ElementType::f32);
    text.parameters = ", %begins: tensor<?xi64>, %ends: tensor<?xi64>";
    text.clauses = R"(mask(%b, %h, %p, %j)
        captures(%from = %begins : tensor<?xi64>, %to = %ends : tensor<?xi64>) {
      %i = arith.index_cast %j : index to i64
      %begin = tensor.extract %from[%p] : tensor<?xi64>
      %end = tensor.extract %to[%p] : tensor<?xi64>
      %after = arith.cmpi sle, %begin, %i : i64
      %before = arith.cmpi slt, %i, %end : i64
      %keep = arith.andi %after, %before : i1
      attn.yield %keep : i1
    })";
    TestTensor begins(ElementType::i64, {sizes.queries}),
        ends(ElementType::i64, {sizes.queries});
    bool isSmooth = random.chance(0.7);
    begins.fill([&](const Shape &at) -> double {
      return double(isSmooth ? at[0] / 2 + random.between(-9, 0)
                             : random.between(-9, sizes.keys));
    });
    ends.fill([&](const Shape &at) -> double {
      return *begins.get(at) + double(random.between(-3, 90));
    });
    Inputs inputs(sizes, ElementType::f32, random);
    inputs.poison([&](Index, Index j) {
      for (Index i = 0; i < sizes.queries; ++i)
        if (*begins.get({i}) <= double(j) && double(j) < *ends.get({i}))
          return true;
      return false;
    });
    expectFinite(run(text, inputs.arguments({begins.view(), ends.view()})));
  });
}

TEST(DataMasks, tables_at_distances_and_of_blocks) {
  forSeeds(1, numCases(12), [](Random &random) {
    // A table by p - j, of which a tile sees several blocks, and one with an
    // element for each 32 positions and keys.
    Sizes sizes = pickSizes(random);
    KernelText text = textOf(sizes, ElementType::f32);
    text.parameters = ", %distances: tensor<?xi1>, %blocks: tensor<?x?xi1>";
    text.clauses = R"(mask(%b, %h, %p, %j)
        captures(%near = %distances : tensor<?xi1>,
                 %table = %blocks : tensor<?x?xi1>) {
      %c400 = arith.constant 400 : index
      %c32 = arith.constant 32 : index
      %d = arith.subi %p, %j : index
      %at = arith.addi %d, %c400 : index
      %isNear = tensor.extract %near[%at] : tensor<?xi1>
      %r = arith.divui %p, %c32 : index
      %c = arith.floordivsi %j, %c32 : index
      %isKept = tensor.extract %table[%r, %c] : tensor<?x?xi1>
      %keep = arith.ori %isNear, %isKept : i1
      attn.yield %keep : i1
    })";
    TestTensor distances(ElementType::i1, {400 + sizes.queries}),
        blocks(ElementType::i1,
               {(sizes.queries + 31) / 32, (sizes.keys + 31) / 32});
    Index first = random.between(0, 600);
    distances.fill([&](const Shape &at) -> double {
      return at[0] >= first && at[0] < first + 70;
    });
    blocks.fill([&] { return double(random.chance(0.2)); });
    Inputs inputs(sizes, ElementType::f32, random);
    expectFinite(
        run(text, inputs.arguments({distances.view(), blocks.view()})));
  });
}

/// A table that is too short has no value for the last keys (A12): an error,
/// unless another mask hides them.
TEST(DataMasks, tables_that_are_too_short) {
  Sizes sizes{1, 1, 1, 70, 200};
  Random random(1);
  Inputs inputs(sizes, ElementType::f32, random);
  for (Index size : {0, 64, 150, 199}) {
    KernelText text = textOf(sizes, ElementType::f32);
    text.parameters = ", %documents: tensor<?x?xi32>, %n: tensor<?xi32>";
    text.clauses = "mask document(%documents, %documents : tensor<?x?xi32>, "
                   "tensor<?x?xi32>)";
    TestTensor documents(ElementType::i32, {1, size});
    documents.fill([](const Shape &at) { return double(at[1] / 64); });
    TestTensor lengths = i32({double(size)});
    auto arguments = inputs.arguments({documents.view(), lengths.view()});
    EXPECT_NE(run(text, arguments).error, "") << size;
    text.clauses += ", key_padding(%n : tensor<?xi32>)";
    EXPECT_EQ(run(text, arguments).error == "",
              size == 0 || size >= sizes.queries)
        << size;
  }
}
