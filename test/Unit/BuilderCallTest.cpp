//===- BuilderCallTest.cpp - Sizes that a call of an Attention needs ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/multi_head_attention.h"
#include "test/Unit/JITTesting.h"

using namespace attn;
using attn::test::getEngine;
using std::string;
using Sizes = std::vector<std::int64_t>;
template <typename T, int Rank> using Input = attn::Tensor<T, Rank>;
using Ints = attn::test::Tensor<std::int32_t>;
using Floats = attn::test::Tensor<float>;

namespace {

/// A kernel with two heads of size 4, which is called with batch size 2, three
/// queries and five keys.
class BuilderCall : public testing::Test {
protected:
  void compile(Attention attention) {
    attention.queryHeads = 2;
    attention.headSize = 4;
    Expected<Kernel> compiled = getEngine().compile(attention);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    kernel = *compiled;
  }

  /// The error of a call with these arguments after query, key and value, or
  /// nothing. Where there is one, nothing was written.
  string call(std::vector<Argument> captured) {
    Floats out({2, 2, 3, 4}, 7.0f);
    std::vector<Argument> arguments = {query.view(), key.view(), key.view()};
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    TensorView results[] = {out.view()};
    Status status = kernel->run(arguments, results);
    if (status)
      return "";
    EXPECT_EQ(out.data, std::vector<float>(out.data.size(), 7.0f));
    return status.error().message;
  }

  Floats query{{2, 2, 3, 4}, 1.0f}, key{{2, 2, 5, 4}, 1.0f};
  std::optional<Kernel> kernel;
};

/// Whatever an offset is, also where the mask has no name.
TEST_F(BuilderCall, RowsStayWhereOffsetsMovePositions) {
  for (std::size_t i = 0; i < key.data.size(); ++i)
    key.data[i] = float(i % 7) - 0.25f * float(i % 5);
  const bool elements[] = {false, false, true,  true,  false, //
                           true,  false, true,  false, false, //
                           true,  false, false, true,  true};
  TensorView allowed(elements, Sizes{3, 5});
  Ints offsets({2}, 4);
  offsets.data[1] = -3;
  std::int64_t number = 7;
  auto run = [&](Attention attention, std::vector<Argument> captured) {
    compile(std::move(attention));
    Floats out({2, 2, 3, 4});
    std::vector<Argument> arguments = {query.view(), key.view(), key.view()};
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    TensorView results[] = {out.view()};
    Status status = kernel->run(arguments, results);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return out.data;
  };
  Input<bool, 2> table("allowed");
  std::vector<float> expected = run({.mask = boolean(table)}, {allowed});
  const Mask named = boolean(rows(table)), written = !!named;
  EXPECT_EQ(run({.mask = written}, {allowed}), expected);
  EXPECT_EQ(run({.offset = 7, .mask = named}, {allowed}), expected);
  EXPECT_EQ(run({.offset = attn::Scalar<std::int64_t>("past"), .mask = written},
                {number, allowed}),
            expected);
  EXPECT_EQ(run({.offset = Input<std::int32_t, 1>("past"), .mask = named},
                {offsets.view(), allowed}),
            expected);
  EXPECT_EQ(run({.offset = Offset::bottomRight(), .mask = written}, {allowed}),
            expected);
  EXPECT_EQ(run({.queryLength = 3,
                 .keyLength = 5,
                 .offset = Offset::bottomRight(),
                 .mask = named},
                {allowed}),
            expected);
}

/// Rows count within the sequence, from either end.
TEST_F(BuilderCall, RowsOfSequences) {
  Input<bool, 3> table("allowed");
  Input<std::int32_t, 1> cumulativeQuery("cumulative_query"),
      cumulativeKey("cumulative_key");
  for (std::size_t i = 0; i < key.data.size(); ++i)
    key.data[i] = float(i % 7);
  Floats packedQuery({1, 2, 3, 4}, 1.0f), packedKey({1, 2, 5, 4});
  std::copy_n(key.data.begin(), packedKey.data.size(), packedKey.data.begin());
  Ints ofQuery({3}), ofKey({3});
  ofQuery.data = {0, 2, 3};
  ofKey.data = {0, 3, 5};
  const bool elements[] = {false, true,  true, true, false, true, //
                           true,  false, true, true, true,  true};
  TensorView allowed(elements, Sizes{2, 2, 3});
  std::vector<std::vector<float>> outputs;
  for (bool bottomRight : {false, true})
    for (const Mask &mask : {boolean(rows(table)), !!boolean(rows(table))}) {
      Attention attention{
          .sequences = Sequences{cumulativeQuery, cumulativeKey}, .mask = mask};
      if (bottomRight)
        attention.offset = Offset::bottomRight();
      compile(attention);
      Floats out({1, 2, 3, 4});
      Argument arguments[] = {packedQuery.view(), packedKey.view(),
                              packedKey.view(),   ofQuery.view(),
                              ofKey.view(),       allowed};
      TensorView results[] = {out.view()};
      Status status = kernel->run(arguments, results);
      ASSERT_TRUE(status.ok()) << status.error().message;
      outputs.push_back(out.data);
    }
  compile({.sequences = Sequences{cumulativeQuery, cumulativeKey},
           .mask = boolean(table)});
  Floats out({1, 2, 3, 4});
  Argument arguments[] = {packedQuery.view(), packedKey.view(),
                          packedKey.view(),   ofQuery.view(),
                          ofKey.view(),       allowed};
  TensorView results[] = {out.view()};
  ASSERT_TRUE(kernel->run(arguments, results).ok());
  for (const std::vector<float> &output : outputs)
    EXPECT_EQ(output, out.data);
}

TEST_F(BuilderCall, SizesOfRows) {
  compile({.offset = 4, .mask = boolean(rows(Input<bool, 2>("allowed")))});
  const bool elements[35] = {};
  EXPECT_EQ(call({TensorView(elements, Sizes{3, 5})}), "");
  EXPECT_NE(call({TensorView(elements, Sizes{7, 5})})
                .find("query length of boolean(rows(allowed))"),
            string::npos);
}

/// What is combined with itself is one expression, and checked once.
TEST_F(BuilderCall, MaskCombinedWithItself) {
  Mask mask = keyPadding(Input<std::int32_t, 1>("lengths"));
  for (int i = 0; i < 64; ++i)
    mask = mask || mask;
  compile({.mask = mask});
  Ints right({2}, 3), wrong({3}, 3);
  EXPECT_EQ(call({right.view()}), "");
  EXPECT_NE(call({wrong.view()}), "");
}

TEST_F(BuilderCall, Scores) {
  compile({.score = alibi(Input<float, 1>("slopes")) |
                    bias(Input<float, 2>("terms"))});
  auto run = [&](Sizes slopes, Sizes terms) {
    Floats first(std::move(slopes)), second(std::move(terms));
    return call({first.view(), second.view()});
  };
  EXPECT_EQ(run({2}, {3, 5}), "");
  for (std::int64_t size : {0, 1, 3})
    EXPECT_EQ(run({size}, {3, 5}),
              "argument 3 'slopes': dimension 0 is " + std::to_string(size) +
                  ", expected 2 (number of query heads of alibi(slopes))");
  for (std::int64_t size : {1, 2, 4})
    EXPECT_EQ(run({2}, {size, 5}),
              "argument 4 'terms': dimension 0 is " + std::to_string(size) +
                  ", expected 3 (query length of bias(terms), as in dimension "
                  "2 of argument 0 'query')");
  for (std::int64_t size : {4, 6})
    EXPECT_EQ(run({2}, {3, size}),
              "argument 4 'terms': dimension 1 is " + std::to_string(size) +
                  ", expected 5 (key length of bias(terms), as in dimension 2 "
                  "of argument 1 'key')");
}

TEST_F(BuilderCall, Masks) {
  // In parts of a mask too.
  compile({.mask = prefixLM(Input<std::int32_t, 1>("prefixes")) &&
                   (keyPadding(Input<std::int32_t, 1>("lengths")) ||
                    !document(Input<std::int32_t, 2>("of_query"),
                              Input<std::int32_t, 2>("of_key")))});
  struct Arguments {
    Sizes prefixes = {2}, lengths = {2}, ofQuery = {2, 3}, ofKey = {2, 5};
  };
  auto run = [&](const Arguments &sizes) {
    Ints prefixes(sizes.prefixes), lengths(sizes.lengths),
        ofQuery(sizes.ofQuery), ofKey(sizes.ofKey);
    return call(
        {prefixes.view(), lengths.view(), ofQuery.view(), ofKey.view()});
  };
  EXPECT_EQ(run({}), "");
  EXPECT_EQ(run({.prefixes = {3}}),
            "argument 3 'prefixes': dimension 0 is 3, expected 2 (batch size "
            "of prefix_lm(prefixes), as in argument 0 'query')");
  EXPECT_EQ(run({.lengths = {1}}),
            "argument 4 'lengths': dimension 0 is 1, expected 2 (batch size of "
            "key_padding(lengths), as in argument 0 'query')");
  EXPECT_EQ(run({.ofQuery = {2, 4}}),
            "argument 5 'of_query': dimension 1 is 4, expected 3 (query length "
            "of document(of_query), as in dimension 2 of argument 0 'query')");
  EXPECT_EQ(run({.ofKey = {1, 5}}),
            "argument 6 'of_key': dimension 0 is 1, expected 2 (batch size of "
            "document(of_key), as in argument 0 'query')");
  EXPECT_EQ(run({.ofKey = {2, 6}}),
            "argument 6 'of_key': dimension 1 is 6, expected 5 (key length of "
            "document(of_key), as in dimension 2 of argument 1 'key')");
}

/// A size that is known to be 1 stands for any; where only the tensor's size is
/// known, that of the call must be it.
TEST_F(BuilderCall, KnownSizes) {
  compile({.score = bias(Input<float, 3>("terms", 1, 1, 5))});
  Floats terms({1, 1, 5});
  EXPECT_EQ(call({terms.view()}), "");
  key = Floats({2, 2, 6, 4});
  EXPECT_EQ(call({terms.view()}),
            "argument 1 'key': dimension 2 is 6, expected 5 (key length of "
            "bias(terms))");
}

/// Tables that a function reads may be of any size, and so may those of queries
/// whose positions start elsewhere.
TEST_F(BuilderCall, AnySizes) {
  Input<float, 1> table("table");
  compile({.score = score([&](Real s, Index, Index, Index, Index k) {
             return s + table(k);
           })});
  Floats six({6});
  EXPECT_EQ(call({six.view()}), "");
  compile({.offset = Offset::bottomRight(),
           .score = bias(Input<float, 2>("terms"))});
  Floats square({5, 5}), other({5, 4});
  EXPECT_EQ(call({square.view()}), "");
  EXPECT_EQ(call({other.view()}),
            "argument 3 'terms': dimension 1 is 4, expected 5 (key length of "
            "bias(terms), as in dimension 2 of argument 1 'key')");
}

TEST_F(BuilderCall, Sequences) {
  Input<std::int32_t, 1> starts("starts"), lengths("lengths");
  compile(
      {.sequences = Sequences{starts, starts}, .mask = keyPadding(lengths)});
  query = key = Floats({1, 2, 5, 4});
  Floats out({1, 2, 5, 4});
  Ints cumulative({3}, {0, 2, 5}), two({2}, 1), three({3}, 1);
  auto run = [&](const Ints &padding) {
    Ints copy = padding;
    Status status = kernel->run(
        {query.view(), key.view(), key.view(), cumulative.view(), copy.view()},
        {out.view()});
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(run(two), "");
  EXPECT_EQ(run(three),
            "argument 4 'lengths': dimension 0 is 3, expected 2 (number of "
            "sequences of key_padding(lengths), as in dimension 0 of argument "
            "3 'starts' - 1)");
}

TEST(BuilderLayerCall, Sizes) {
  MultiHeadAttention layer{
      .attention = {.headSize = 4, .mask = boolean(Input<bool, 2>("allowed"))},
      .width = 3,
      .isFused = false};
  Expected<Kernel> kernel = getEngine().compile(*layer.text());
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  Floats input({1, 5, 3}, 1.0f), in({3, 4}, 1.0f), back({4, 3}, 1.0f),
      out({1, 5, 3}, 7.0f);
  std::vector<char> allowed(30, 1);
  auto run = [&](Sizes sizes) {
    Status status =
        kernel->run({input.view(), in.view(), in.view(), in.view(), back.view(),
                     TensorView(allowed.data(), ElementType::i1, sizes, true)},
                    {out.view()});
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(run({5, 6}),
            "argument 5 'allowed': dimension 1 is 6, expected 5 (key length of "
            "boolean(allowed), as in argument 0 'input')");
  EXPECT_EQ(out.data, std::vector<float>(15, 7.0f));
  EXPECT_EQ(run({5, 5}), "");
}

} // namespace
