//===- BlockSummaryTest.cpp - Ranges of blocks that many calls share ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/block_summary.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>

using attn::Argument, attn::Attention, attn::BlockSummary, attn::ElementType,
    attn::Expected, attn::Kernel;
using namespace attn::test;
using attn::test::Index;
template <typename T, int Rank> using Input = attn::Tensor<T, Rank>;

namespace {

constexpr Index headSize = 8;

/// Documents of some tens of positions, (B, S), perhaps with gaps in memory.
TestTensor createDocuments(Index batch, Index length, Random &random) {
  Layout layout;
  layout.rowPadding = random.between(0, 2);
  TestTensor result(ElementType::i32, {batch, length}, layout);
  double document = -3;
  result.fill([&] { return document += double(random.chance(0.02)); });
  return result;
}

/// What attn.block_range says, computed here.
TestTensor computeRanges(const TestTensor &table, Index block) {
  TestTensor ranges(ElementType::i32,
                    {2, table.size(0), (table.size(1) + block - 1) / block});
  ranges.fill([&](const Shape &at) {
    double range = *table.get({at[1], at[2] * block});
    for (Index i = at[2] * block;
         i < std::min(table.size(1), (at[2] + 1) * block); ++i) {
      double element = *table.get({at[1], i});
      range = at[0] == 0 ? std::min(range, element) : std::max(range, element);
    }
    return range;
  });
  return ranges;
}

Expected<Kernel> compile(const Attention &attention) {
  Expected<Kernel> kernel = getEngine().compile(attention);
  EXPECT_TRUE(kernel.ok()) << (kernel ? "" : kernel.error().message);
  return kernel;
}

Expected<BlockSummary> summarize(const auto &tensor, const TestTensor &table) {
  auto summary = BlockSummary::create(getEngine(), tensor, table.view());
  EXPECT_TRUE(summary.ok()) << (summary ? "" : summary.error().message);
  return summary;
}

std::string errorOf(const auto &tensor, const attn::TensorView &table) {
  auto summary = BlockSummary::create(getEngine(), tensor, table);
  EXPECT_FALSE(summary.ok());
  return summary ? "" : summary.error().message;
}

/// Query, key and value of one length, and what each mask reads.
struct Inputs {
  TestTensor query, key, value;

  Inputs(ElementType type, Index batch, Index length, Random &random)
      : query(type, {batch, 2, length, headSize}),
        key(type, {batch, 2, length, headSize}),
        value(type, {batch, 2, length, headSize}) {
    for (TestTensor *tensor : {&query, &key, &value})
      tensor->fill([&] { return random.normal(); });
  }

  std::vector<Argument> arguments(std::vector<Argument> others) const {
    std::vector<Argument> result{query.view(), key.view(), value.view()};
    result.insert(result.end(), others.begin(), others.end());
    return result;
  }
};

Attention attentionWith(const attn::Mask &mask,
                        ElementType type = ElementType::f32) {
  return {.type = type,
          .queryHeads = 2,
          .headSize = headSize,
          .mask = mask,
          .logSumExp = true};
}

/// Two results that are the same, bit for bit.
void expectSame(const Outcome &actual, const Outcome &expected) {
  EXPECT_EQ(actual.error, "");
  EXPECT_EQ(expected.error, "");
  EXPECT_EQ(actual.output, expected.output);
  EXPECT_EQ(actual.logSumExp, expected.logSumExp);
}

TEST(BlockSummary, TextAgreesWithTheOracle) {
  forSeeds(1, numCases(12), [](Random &random) {
    Index batch = random.between(1, 2), length = random.between(1, 400);
    KernelText text = {.type = ElementType::f32,
                       .queryHeads = 2,
                       .keyValueHeads = 2,
                       .keySize = headSize,
                       .valueSize = headSize};
    std::string table = "tensor<?x?xi32>";
    Index block = random.pick<Index>({1, 32, 64, 512});
    text.parameters = ", %documents: " + table + ", %ranges: tensor<2x?x?xi32>";
    text.clauses =
        "mask document(%known, %known : " + table + ", " + table + ")";
    text.prologue = "%known = attn.with_block_range %documents, %ranges "
                    "blocks [1, " +
                    std::to_string(block) + "] : " + table +
                    ", tensor<2x?x?xi32>\n";
    TestTensor documents = createDocuments(batch, length, random);
    Inputs inputs(ElementType::f32, batch, length, random);
    TestTensor ranges = computeRanges(documents, block);
    auto arguments = inputs.arguments({documents.view(), ranges.view()});
    Outcome outcome = run(text, arguments);
    EXPECT_EQ(outcome.error, "");
    Expected<Kernel> reference =
        getEngine().compile(text.write(), {.pipeline = "reference"});
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    Outcome plain = run(*reference, arguments);
    expectNear(outcome.output, plain.output, 1e-5);
  });
}

TEST(BlockSummary, ServesManyKernels) {
  forSeeds(1, numCases(12), [](Random &random) {
    Index batch = random.between(1, 2),
          length = random.pick<Index>({0, 1, 32, 33, random.between(34, 400)});
    Input<std::int32_t, 2> plain("documents"), known = plain.summarized(1, 32);
    TestTensor documents = createDocuments(batch, length, random);
    Expected<BlockSummary> summary = summarize(known, documents);
    ASSERT_TRUE(summary.ok());
    for (auto type : {ElementType::f32, ElementType::bf16})
      for (bool isCausal : {false, true}) {
        attn::Mask without = document(plain, plain),
                   with = document(known, known);
        if (isCausal) {
          without = attn::causal() && without;
          with = attn::causal() && with;
        }
        auto expected = compile(attentionWith(without, type));
        auto actual = compile(attentionWith(with, type));
        ASSERT_TRUE(expected && actual);
        Inputs inputs(type, batch, length, random);
        expectSame(run(*actual, inputs.arguments({documents.view(), *summary})),
                   run(*expected, inputs.arguments({documents.view()})));
      }
  });
}

TEST(BlockSummary, MovingLeavesItUsable) {
  auto known = Input<std::int32_t, 2>("documents").summarized(1, 32);
  Random random(1);
  TestTensor documents = createDocuments(1, 40, random);
  Expected<BlockSummary> summary = summarize(known, documents);
  auto kernel = compile(attentionWith(document(known, known)));
  ASSERT_TRUE(summary && kernel);
  // NOLINTBEGIN(bugprone-use-after-move,performance-move-const-arg)
  {
    BlockSummary other = std::move(*summary);
  }
  Inputs inputs(ElementType::f32, 1, 40, random);
  Outcome outcome =
      run(*kernel, inputs.arguments({documents.view(), *summary}));
  // NOLINTEND(bugprone-use-after-move,performance-move-const-arg)
  EXPECT_EQ(outcome.error, "");
}

TEST(BlockSummary, OfFlagsInFourDimensions) {
  forSeeds(1, numCases(12), [](Random &random) {
    Index length = random.between(1, 300);
    Input<bool, 4> plain("keep", 1, 2, attn::dynamic, attn::dynamic),
        known = plain.summarized(1, 1, 32, 64);
    TestTensor keep(ElementType::i1, {1, 2, length, length});
    std::uint64_t salt = random.bits();
    keep.fill([&](const Shape &at) -> double {
      Random block(salt + std::uint64_t(at[1] * 5 + at[2] / 32 * 131 +
                                        at[3] / 64 * 1031));
      Index kind = block.between(0, 2);
      return kind < 2 ? double(kind) : double(random.chance(0.5));
    });
    Expected<BlockSummary> summary = summarize(known, keep);
    ASSERT_TRUE(summary.ok());
    auto expected = compile(attentionWith(boolean(plain)));
    auto actual = compile(attentionWith(boolean(known)));
    ASSERT_TRUE(expected && actual);
    Inputs inputs(ElementType::f32, 1, length, random);
    expectSame(run(*actual, inputs.arguments({keep.view(), *summary})),
               run(*expected, inputs.arguments({keep.view()})));
  });
}

/// What the caller must not do shows that the summary is what decides: one of a
/// single document hides nothing.
TEST(BlockSummary, DecidesWholeBlocks) {
  Random random(1);
  Input<std::int32_t, 2> known =
      Input<std::int32_t, 2>("documents").summarized(1, 32);
  TestTensor documents(ElementType::i32, {1, 256}),
      one(ElementType::i32, {1, 256});
  documents.fill([](const Shape &at) { return double(at[1] / 128); });
  one.fill([] { return 7; });
  Expected<BlockSummary> right = summarize(known, documents),
                         wrong = summarize(known, one);
  auto masked = compile(attentionWith(document(known, known)));
  auto plain = compile(attentionWith({}));
  ASSERT_TRUE(right && wrong && masked && plain);
  Inputs inputs(ElementType::f32, 1, 256, random);
  auto runWith = [&](const BlockSummary &summary) {
    return run(*masked, inputs.arguments({documents.view(), summary}));
  };
  Outcome everything = run(*plain, inputs.arguments({}));
  EXPECT_NE(runWith(*right).output, everything.output);
  expectNear(runWith(*wrong).output, everything.output, 2e-6);
}

TEST(BlockSummary, OfAnotherTableIsAnError) {
  Random random(1);
  Input<std::int32_t, 2> plain("documents"), known = plain.summarized(1, 32);
  TestTensor documents = createDocuments(2, 100, random);
  auto kernel = compile(attentionWith(document(known, known)));
  ASSERT_TRUE(kernel.ok());
  Inputs inputs(ElementType::f32, 2, 100, random);
  auto errorWith = [&](const Argument &summary) {
    Outcome outcome =
        run(*kernel, inputs.arguments({documents.view(), summary}));
    EXPECT_EQ(outcome.untouched, !outcome.error.empty());
    return outcome.error;
  };
  EXPECT_EQ(errorWith(*summarize(known, documents)), "");
  // Other blocks, a longer table, and one with other rows.
  for (Expected<BlockSummary> other :
       {summarize(plain.summarized(1, 64), documents),
        summarize(known, createDocuments(2, 129, random)),
        summarize(known, createDocuments(2, 96, random))})
    EXPECT_NE(errorWith(*other).find(
                  "argument 'documents_ranges': dimension 2 is not the number "
                  "of blocks of 32 in dimension 1 of the table"),
              std::string::npos)
        << errorWith(*other);
  EXPECT_NE(errorWith(*summarize(plain.summarized(2, 32), documents))
                .find("argument 'documents_ranges': dimension 1 is not the "
                      "number of blocks of 1 in dimension 0 of the table"),
            std::string::npos);
  // Another rank, another type, and none.
  TestTensor line(ElementType::i32, {100}), narrow(ElementType::i8, {2, 100});
  line.fill([] { return 0; });
  narrow.fill([] { return 0; });
  for (const Argument &other : std::initializer_list<Argument>{
           *summarize(Input<std::int32_t, 1>("line").summarized(32), line),
           *summarize(Input<std::int8_t, 2>("narrow").summarized(1, 32),
                      narrow),
           documents.view(), attn::TensorView()})
    EXPECT_NE(errorWith(other).find("argument 4 'documents_ranges'"),
              std::string::npos)
        << errorWith(other);
}

TEST(BlockSummary, OfABadTableIsAnError) {
  Input<std::int32_t, 2> plain("documents"), known = plain.summarized(1, 32);
  TestTensor documents(ElementType::i32, {1, 40}),
      wide(ElementType::i64, {1, 40}), line(ElementType::i32, {40});
  EXPECT_EQ(errorOf(plain, documents),
            "argument 'documents': expected a tensor that is summarized, got "
            "one without sizes of blocks");
  EXPECT_EQ(errorOf(plain.summarized(1, 48), documents),
            "argument 'documents': expected sizes of blocks that are powers of "
            "two, got 48");
  EXPECT_EQ(errorOf(plain.summarized(0, 32), documents),
            "argument 'documents': expected sizes of blocks that are powers of "
            "two, got 0");
  Input<std::int32_t, 2> row("documents", 1, 41);
  std::int64_t bad[] = {-5, std::int64_t(1) << 62};
  for (const attn::TensorView &table :
       {wide.view(), line.view(), attn::TensorView(),
        attn::TensorView(static_cast<const std::int32_t *>(nullptr), bad)})
    EXPECT_NE(errorOf(known, table).find("argument 0 'documents'"),
              std::string::npos)
        << errorOf(known, table);
  EXPECT_NE(
      errorOf(row.summarized(1, 32), documents).find("argument 0 'documents'"),
      std::string::npos);
}

} // namespace
