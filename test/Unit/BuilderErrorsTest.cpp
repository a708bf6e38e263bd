//===- BuilderErrorsTest.cpp - What is wrong with an Attention ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "test/Unit/JITTesting.h"

#include <limits>
#include <optional>
#include <vector>

using namespace attn;
using attn::test::getEngine;
using std::string;
template <typename T, int Rank> using Input = attn::Tensor<T, Rank>;

namespace {

string errorOf(const Attention &attention) {
  Expected<string> text = attention.text();
  EXPECT_FALSE(text.ok()) << *text;
  // The same from the engine.
  Expected<Kernel> kernel = getEngine().compile(attention);
  EXPECT_FALSE(kernel.ok());
  if (text || kernel)
    return "";
  EXPECT_EQ(text.error().message, kernel.error().message);
  return text.error().message;
}
string errorOf(const Mask &mask) { return errorOf(Attention{.mask = mask}); }
string errorOf(const Score &score) {
  return errorOf(Attention{.score = score});
}

TEST(BuilderErrors, Sizes) {
  EXPECT_EQ(errorOf(Attention{.type = ElementType::i32}),
            "type: expected f64, f32, f16 or bf16, got i32");
  EXPECT_EQ(errorOf(Attention{.queryHeads = 0}),
            "queryHeads: expected at least 1, got 0");
  EXPECT_EQ(errorOf(Attention{.keyValueHeads = -1}),
            "keyValueHeads: expected at least 1, got -1");
  EXPECT_EQ(errorOf(Attention{.headSize = 0}),
            "headSize: expected 1 to 4096, got 0");
  EXPECT_EQ(errorOf(Attention{.headSize = 4097}),
            "headSize: expected 1 to 4096, got 4097");
  for (std::int64_t size : {std::int64_t(0), std::int64_t(1) << 40})
    EXPECT_EQ(errorOf(Attention{.valueHeadSize = size}),
              "valueHeadSize: expected 1 to 4096, got " + std::to_string(size));
  EXPECT_EQ(errorOf(Attention{.queryHeads = 8, .keyValueHeads = 3}),
            "queryHeads: expected a multiple of keyValueHeads, which is 3, "
            "got 8");
  EXPECT_EQ(errorOf(Attention{.batch = -2}),
            "batch: expected at least 0, or dynamic, got -2");
  Input<std::int32_t, 1> starts("starts");
  EXPECT_EQ(
      errorOf(Attention{.batch = 2, .sequences = Sequences{starts, starts}}),
      "batch: expected 1, as sequences are packed, got 2");
}

TEST(BuilderErrors, Operands) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Input<double, 1> wide("wide");
  Input<float, 1> few("few", 3);
  attn::Scalar<double> number("number");
  attn::Scalar<std::int64_t> seed("seed");
  attn::Scalar<std::int32_t> call("call");
  EXPECT_EQ(errorOf(Attention{.scale = nan}),
            "scale: expected a finite number or a Scalar of type f32, got "
            "'nan'");
  EXPECT_EQ(errorOf(Attention{.scale = number}),
            "scale: expected a finite number or a Scalar of type f32, got "
            "'number'");
  EXPECT_EQ(errorOf(Attention{.scale = number * 2}),
            "scale: expected a finite number or a Scalar of type f32, got "
            "'number * 2.0'");
  EXPECT_EQ(errorOf(Attention{.offset = (std::int64_t(1) << 61) + 1}),
            "offset: expected at most 2^61 in magnitude, got "
            "2305843009213693953");
  EXPECT_EQ(errorOf(Attention{.offset = ~std::uint64_t(0)}),
            "offset: expected at most 2^61 in magnitude, got "
            "18446744073709551615");
  EXPECT_EQ(errorOf(Attention{.sink = wide}),
            "sink: expected one number for each of the 1 query heads, no wider "
            "than f32, got 'wide' of type tensor<?xf64>");
  EXPECT_EQ(errorOf(Attention{.queryHeads = 2, .sink = few}),
            "sink: expected one number for each of the 2 query heads, no wider "
            "than f32, got 'few' of type tensor<3xf32>");
  EXPECT_EQ(errorOf(Attention{.dropout = Dropout{1, seed, call}}),
            "dropout: expected a rate from 0 up to, but not, 1, got 1.0");
}

TEST(BuilderErrors, Arguments) {
  EXPECT_EQ(errorOf(keyPadding(Input<std::int32_t, 1>("1st"))),
            "mask 'k < 1st(b)': argument '1st': expected a name of letters, "
            "digits and '_' that "
            "does not begin with a digit");
  EXPECT_NE(errorOf(keyPadding(Input<std::int32_t, 1>(""))), "");
  EXPECT_NE(errorOf(keyPadding(Input<std::int32_t, 1>("a b"))), "");
  EXPECT_EQ(errorOf(keyPadding(Input<std::int32_t, 1>("n", -3))),
            "mask 'k < n(b)': argument 'n': expected sizes of at least 0, or "
            "dynamic, got -3");
  EXPECT_EQ(errorOf(keyPadding(Input<std::int32_t, 1>("n")) &&
                    keyPadding(Input<std::int64_t, 1>("n"))),
            "argument 'n': expected one type for one name, got tensor<?xi32> "
            "and tensor<?xi64>");
  EXPECT_EQ(errorOf(keyPadding(Input<std::int32_t, 1>("key"))),
            "argument 'key': expected a name that is not one of the kernel's "
            "own arguments");
  // Also of the same type.
  Input<float, 4> query("query", dynamic, 1, dynamic, 64);
  EXPECT_EQ(errorOf(score([&](Real s, Index b, Index h, Index q, Index) {
              return s + query(b, h, q, Index(0));
            })),
            "score 's + query(b, h, q, 0)': argument 'query': expected a name "
            "that is not one of the kernel's own arguments");
  attn::Scalar<float> number("7");
  EXPECT_EQ(errorOf(score([&](Real s, Index, Index, Index, Index) {
              return s * number;
            })),
            "score 's * 7': argument '7': expected a name of letters, digits "
            "and '_' that does not begin with a digit");
}

TEST(BuilderErrors, SummarizedTensors) {
  Input<std::int32_t, 1> ends("ends"), known = ends.summarized(32);
  auto keysBefore = [](const Input<std::int32_t, 1> &limits) {
    return mask([=](Index, Index, Index q, Index k) { return k < limits(q); });
  };
  EXPECT_NE(errorOf(keysBefore(ends.summarized(-1)))
                .find("argument 'ends': expected sizes of blocks that are "
                      "powers of two, got -1"),
            string::npos);
  EXPECT_NE(errorOf(keysBefore(known) && keysBefore(ends))
                .find("argument 'ends': expected the same blocks in all "
                      "places"),
            string::npos);
  EXPECT_NE(errorOf(keysBefore(known) &&
                    keysBefore(Input<std::int32_t, 1>("ends_ranges")))
                .find("argument 'ends_ranges': expected one type for one name"),
            string::npos);
}

TEST(BuilderErrors, Expressions) {
  Input<float, 1> table("table", 4);
  auto maskError = [](auto function) { return errorOf(mask(function)); };
  auto scoreError = [](auto function) { return errorOf(score(function)); };
  EXPECT_EQ(maskError([](Index b, Index h, Index q, Index k) {
              return (q - k) % 0 == 0 || k / 4 < 1;
            }),
            "mask '(q - k) % 0 == 0 || k / 4 < 1': expected no division by 0, "
            "got '(q - k) % 0'");
  EXPECT_EQ(maskError([](Index b, Index h, Index q, Index k) {
              return -(q - (k - b)) / 0 <= 2 * (h + 1);
            }),
            "mask '-(q - (k - b)) / 0 <= 2 * (h + 1)': expected no division by "
            "0, got '-(q - (k - b)) / 0'");
  EXPECT_EQ(maskError([](Index b, Index h, Index q, Index k) {
              return k < ~std::uint64_t(0);
            }),
            "mask 'k < 18446744073709551615': expected an integer below 2^63");
  EXPECT_EQ(scoreError([&](Real s, Index b, Index h, Index q, Index k) {
              return s + table(4);
            }),
            "score 's + table(4)': expected an element of 'table', which is "
            "tensor<4xf32>, got 'table(4)'");
  EXPECT_EQ(scoreError([&](Real s, Index b, Index h, Index q, Index k) {
              return s + table(-1);
            }),
            "score 's + table(-1)': expected an element of 'table', which is "
            "tensor<4xf32>, got 'table(-1)'");
  EXPECT_EQ(scoreError([&](Real s, Index b, Index h, Index q, Index k) {
              return max(s, 1e300);
            }),
            "score 'max(s, 1.0e+300)': expected numbers that f32 can hold, got "
            "1.0e+300");
  EXPECT_EQ(errorOf(causal() && slidingWindow(-2, 0)),
            "mask 'slidingWindow(-2, 0)': expected sizes from 0 to 2^61, or -1 "
            "for no bound");
  EXPECT_EQ(errorOf(causal() || !slidingWindow(0, -9)),
            "mask 'k <= q || !slidingWindow(0, -9)': expected sizes from 0 to "
            "2^61, or -1 for no bound");
  for (double cap : {0.0, -1.0, std::numeric_limits<double>::infinity()})
    EXPECT_NE(errorOf(softcap(cap)).find("expected a positive, finite number"),
              string::npos);
  EXPECT_EQ(errorOf(softcap(1e300)),
            "score '1.0e+300 * tanh(s / 1.0e+300)': expected numbers that f32 "
            "can hold, got 1.0e+300");
}

/// A mask is asked before there is a score.
TEST(BuilderErrors, MaskOfScore) {
  std::optional<Real> stolen;
  Score leak = score([&](Real s, Index, Index, Index, Index) {
    stolen = s;
    return s;
  });
  EXPECT_EQ(
      errorOf(mask([&](Index, Index, Index, Index) { return *stolen > 0; })),
      "mask '0.0 < s': expected no use of the score, which is not known "
      "yet");
}

TEST(BuilderErrors, Broadcasts) {
  Input<float, 1> slopes("slopes", 4);
  Input<float, 2> terms("terms", 3, dynamic);
  Input<bool, 4> allowed("allowed", 1, 2, 5, 6);
  EXPECT_EQ(errorOf(Attention{.queryHeads = 8, .score = alibi(slopes)}),
            "alibi(slopes): expected dimension 0 of size 8, got 4");
  EXPECT_EQ(errorOf(Attention{.queryLength = 5, .score = bias(terms)}),
            "bias(terms): expected dimension 0 of size 5 or 1, got 3");
  EXPECT_EQ(errorOf(Attention{.queryHeads = 4, .mask = boolean(allowed)}),
            "boolean(allowed): expected dimension 1 of size 4 or 1, got 2");
  EXPECT_EQ(errorOf(Attention{
                .queryHeads = 2, .keyLength = 7, .mask = boolean(allowed)}),
            "boolean(allowed): expected dimension 3 of size 7 or 1, got 6");
}

/// An offset leaves rows where they are.
TEST(BuilderErrors, SizesOfRows) {
  attn::Scalar<std::int64_t> past("past");
  Input<bool, 2> allowed("allowed", 2, 7);
  Input<float, 3> terms("terms", 3, dynamic, dynamic);
  for (const Mask &mask : {boolean(rows(allowed)), !boolean(rows(allowed))})
    EXPECT_EQ(
        errorOf(Attention{.queryLength = 5, .offset = past, .mask = mask}),
        "boolean(rows(allowed)): expected dimension 0 of size 5 or 1, "
        "got 2");
  EXPECT_EQ(errorOf(Attention{
                .queryHeads = 6, .offset = past, .score = bias(rows(terms))}),
            "bias(rows(terms)): expected dimension 0 of size 6 or 1, got 3");
}

/// Of parts of other masks too.
TEST(BuilderErrors, BroadcastsOfParts) {
  Input<bool, 2> allowed("allowed", 5, 6);
  Mask named = boolean(allowed);
  for (const Mask &other : {!named, causal() || named, !(causal() || !named)})
    EXPECT_EQ(errorOf(Attention{.keyLength = 7, .mask = other}),
              "boolean(allowed): expected dimension 1 of size 7 or 1, got 6");
  Input<std::int32_t, 2> ids("ids", 2, 6);
  EXPECT_EQ(errorOf(Attention{.batch = 3, .mask = document(ids, ids)}),
            "document(ids): expected dimension 0 of size 3, got 2");
  // Positions of queries start elsewhere, those of keys do not.
  EXPECT_EQ(errorOf(Attention{.batch = 2,
                              .queryLength = 1,
                              .keyLength = 7,
                              .offset = Offset::bottomRight(),
                              .mask = document(ids, ids)}),
            "document(ids): expected dimension 1 of size 7, got 6");
}

/// The words that fit 160 characters.
TEST(BuilderErrors, LongExpressions) {
  string words = "k / 0 < q";
  while (words.size() + 4 <= 160)
    words += " + q";
  EXPECT_EQ(errorOf(mask([](Index b, Index h, Index q, Index k) {
              Index x = q;
              for (int i = 0; i < 100; ++i)
                x = x + q;
              return k / 0 < x;
            })),
            "mask '" + words +
                " + ...': expected no division by 0, got 'k / 0'");
}

TEST(BuilderErrors, DeepExpressions) {
  auto nest = [](int depth) {
    return mask([depth](Index b, Index h, Index q, Index k) {
      Index x = k;
      for (int i = 0; i < depth; ++i)
        x = x + q;
      return x > 0;
    });
  };
  EXPECT_TRUE(Attention{.mask = nest(999)}.text().ok());
  string message = errorOf(nest(1000));
  EXPECT_NE(message.find("expected at most 1000 operations that each need the "
                         "one before"),
            string::npos)
      << message;
  EXPECT_LT(message.size(), 400U);
  EXPECT_FALSE(Attention{.mask = nest(1'000'000)}.text().ok());
}

TEST(BuilderErrors, LargeExpressions) {
  // A tree, which is not deep.
  auto spread = [](std::int64_t terms) {
    return mask([terms](Index, Index, Index, Index k) {
      std::vector<Bool> level;
      for (std::int64_t i = 0; i < terms; ++i)
        level.push_back(k == i);
      while (level.size() > 1) {
        std::vector<Bool> next;
        for (std::size_t i = 0; i + 1 < level.size(); i += 2)
          next.push_back(level[i] || level[i + 1]);
        level = std::move(next);
      }
      return level.front();
    });
  };
  // A constant, a comparison and nearly an `or` for each.
  EXPECT_TRUE(Attention{.mask = spread(1024)}.text().ok());
  string message = errorOf(spread(2048));
  EXPECT_NE(message.find("expected at most 4096 operations, got 6143"),
            string::npos)
      << message;
  EXPECT_LT(message.size(), 400U);
}

TEST(BuilderErrors, ManyItems) {
  auto combine = [](int items) {
    Mask all = causal();
    for (int i = 1; i < items; ++i)
      all = all && slidingWindow(i, 0);
    return all;
  };
  EXPECT_TRUE(Attention{.mask = combine(1000)}.text().ok());
  EXPECT_EQ(errorOf(combine(3000)),
            "mask 'k <= q' and what it is combined with: expected at most 1000 "
            "items, got more");
  EXPECT_EQ(errorOf(combine(1001)), errorOf(combine(3000)));
  Score capped = softcap(30.F);
  for (int i = 0; i < 1000; ++i)
    capped = capped | softcap(30.F);
  EXPECT_FALSE(Attention{.score = capped}.text().ok());
}

} // namespace
