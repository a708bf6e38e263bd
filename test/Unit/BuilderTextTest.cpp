//===- BuilderTextTest.cpp - What an Attention is in IR -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "test/Unit/JITTesting.h"

using namespace attn;
using attn::test::getEngine;
using std::string;
template <typename T, int Rank> using Input = attn::Tensor<T, Rank>;

namespace {

/// The text, which compiles.
string write(const Attention &attention) {
  Expected<string> text = attention.text();
  EXPECT_TRUE(text.ok()) << (text ? "" : text.error().message);
  if (!text)
    return "";
  // By what compiles fast: that the text is right is all that matters here.
  Expected<Kernel> kernel =
      getEngine().compile(attention, {.pipeline = "reference"});
  EXPECT_TRUE(kernel.ok()) << (kernel ? "" : kernel.error().message) << "\n"
                           << *text;
  return *text;
}

/// What is written for a mask.
string writeMask(const Mask &mask) {
  string text = write({.queryHeads = 4, .headSize = 8, .mask = mask});
  std::size_t begin = text.find(" mask "), end = text.find("\n  return");
  return begin < end ? text.substr(begin + 6, end - begin - 6) : "";
}
string writeScore(const Score &score) {
  string text = write({.queryHeads = 4, .headSize = 8, .score = score});
  std::size_t begin = text.find(" score "), end = text.find("\n  return");
  return begin < end ? text.substr(begin + 7, end - begin - 7) : "";
}

std::vector<string> argumentNames(const Attention &attention) {
  Expected<Kernel> kernel =
      getEngine().compile(attention, {.pipeline = "reference"});
  EXPECT_TRUE(kernel.ok()) << (kernel ? "" : kernel.error().message);
  std::vector<string> names;
  if (kernel)
    for (const Parameter &parameter : kernel->signature().arguments)
      names.push_back(parameter.name);
  return names;
}

TEST(BuilderText, PlainAttention) {
  EXPECT_EQ(write({.queryHeads = 8, .keyValueHeads = 2, .headSize = 64}),
            R"(func.func @attention(
    %query: tensor<?x8x?x64xf32>,
    %key: tensor<?x2x?x64xf32>,
    %value: tensor<?x2x?x64xf32>)
    -> (tensor<?x8x?x64xf32>) {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %query, %0 : tensor<?x8x?x64xf32>
  %2 = arith.constant 2 : index
  %3 = tensor.dim %query, %2 : tensor<?x8x?x64xf32>
  %4 = tensor.empty(%1, %3) : tensor<?x8x?x64xf32>
  %5 = attn.attention
      ins(%query, %key, %value : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
      outs(%4 : tensor<?x8x?x64xf32>)
  return %5 : tensor<?x8x?x64xf32>
}
)");
}

TEST(BuilderText, StaticSizes) {
  string text = write({.type = ElementType::bf16,
                       .queryHeads = 2,
                       .headSize = 16,
                       .valueHeadSize = 8,
                       .batch = 3,
                       .queryLength = 5,
                       .keyLength = 7,
                       .logSumExp = true,
                       .isBatchInvariant = true});
  EXPECT_NE(text.find("%query: tensor<3x2x5x16xbf16>,\n"
                      "    %key: tensor<3x2x7x16xbf16>,\n"
                      "    %value: tensor<3x2x7x8xbf16>)\n"
                      "    -> (tensor<3x2x5x8xbf16>, tensor<3x2x5xf32>)"),
            string::npos)
      << text;
  EXPECT_EQ(text.find("tensor.dim"), string::npos) << text;
  EXPECT_NE(text.find("{attn.plan = #attn.plan<batch_invariant = true>}"),
            string::npos)
      << text;
}

TEST(BuilderText, NamedMasks) {
  Input<std::int32_t, 1> lengths("lengths");
  Input<bool, 2> present("present");
  Input<std::int64_t, 2> ofQuery("of_query"), ofKey("of_key");
  Input<bool, 3> allowed("allowed", 4, 1, dynamic);
  EXPECT_EQ(writeMask(causal() && slidingWindow(255, 0)),
            "causal, sliding_window(255, 0)");
  EXPECT_EQ(writeMask(slidingWindow(-1, std::int64_t(1) << 61)),
            "sliding_window(-1, 2305843009213693952)");
  EXPECT_EQ(writeMask(prefixLM(lengths) && keyPadding(lengths)),
            "prefix_lm(%lengths : tensor<?xi32>), "
            "key_padding(%lengths : tensor<?xi32>)");
  EXPECT_EQ(writeMask(keyPadding(present)),
            "key_padding(%present : tensor<?x?xi1>)");
  EXPECT_EQ(writeMask(document(ofQuery, ofKey)),
            "document(%of_query, %of_key : tensor<?x?xi64>, tensor<?x?xi64>)");
  EXPECT_EQ(writeMask(boolean(allowed)),
            "boolean(%allowed : tensor<4x1x?xi1>)");
  EXPECT_EQ(writeMask(boolean(rows(allowed))),
            "boolean rows(%allowed : tensor<4x1x?xi1>)");
  EXPECT_EQ(writeMask(Mask()), "");
}

TEST(BuilderText, NamedScores) {
  Input<f16, 1> slopes("slopes", 4);
  Input<float, 4> terms("terms", 1, 4, dynamic, dynamic);
  attn::Scalar<float> cap("cap");
  EXPECT_EQ(writeScore(alibi(slopes) | softcap(30) | bias(terms)),
            "alibi(%slopes : tensor<4xf16>), softcap(30.0), "
            "bias(%terms : tensor<1x4x?x?xf32>)");
  EXPECT_EQ(writeScore(bias(rows(terms))),
            "bias rows(%terms : tensor<1x4x?x?xf32>)");
  EXPECT_EQ(writeScore(softcap(cap) | softcap(1e-7f)),
            "softcap(%cap : f32), softcap(1.0000000116860974e-07)");
  EXPECT_EQ(writeScore(softcap(1e20)), "softcap(1.0e+20)");
  EXPECT_EQ(writeScore(Score()), "");
}

TEST(BuilderText, Lambdas) {
  EXPECT_EQ(writeMask(causal() && mask([](Index b, Index h, Index q, Index k) {
                        return (q - k) % 4 == 0 || k < 16;
                      })),
            R"(causal, (%b, %h, %q, %k) {
        %0 = arith.subi %q, %k : index
        %1 = arith.constant 3 : index
        %2 = arith.andi %0, %1 : index
        %3 = arith.constant 0 : index
        %4 = arith.cmpi eq, %2, %3 : index
        %5 = arith.constant 16 : index
        %6 = arith.cmpi slt, %k, %5 : index
        %7 = arith.ori %4, %6 : i1
        attn.yield %7 : i1
      })");
  EXPECT_EQ(writeScore(score([](Real s, Index b, Index h, Index q, Index k) {
              return s * exp(-abs(q - k) / 100.f);
            })),
            R"((%s, %b, %h, %q, %k) {
        %0 = arith.subi %q, %k : index
        %1 = math.absi %0 : index
        %2 = arith.constant 0 : index
        %3 = arith.subi %2, %1 : index
        %4 = arith.index_cast %3 : index to i64
        %5 = arith.sitofp %4 : i64 to f32
        %6 = arith.constant 100.0 : f32
        %7 = arith.divf %5, %6 : f32
        %8 = math.exp %7 : f32
        %9 = arith.mulf %s, %8 : f32
        attn.yield %9 : f32
      })");
}

/// Every common expression is computed once.
TEST(BuilderText, SharedExpressions) {
  string text =
      writeScore(score([](Real s, Index b, Index h, Index q, Index k) {
        Real x = s;
        for (int i = 0; i < 200; ++i)
          x = x * x;
        return x;
      }));
  EXPECT_NE(text.find("%199 = arith.mulf %198, %198 : f32\n"), string::npos);
  EXPECT_EQ(text.find("%200"), string::npos);
}

/// Names of arguments may be those of values in regions.
TEST(BuilderText, Captures) {
  Input<std::int8_t, 2> b("b");
  Input<double, 1> s("s");
  attn::Scalar<bool> k("k");
  attn::Scalar<bf16> q("q");
  EXPECT_EQ(
      writeScore(score([&](Real x, Index i, Index h, Index, Index j) {
        return select(k, x + s(h) * q, Real(b(i, j)));
      })),
      R"((%s, %b, %h, %q, %k) captures(%captured.k = %k : i1, %captured.s = %s : tensor<?xf64>, %captured.q = %q : bf16, %captured.b = %b : tensor<?x?xi8>) {
        %0 = tensor.extract %captured.s[%h] : tensor<?xf64>
        %1 = arith.truncf %0 : f64 to f32
        %2 = arith.extf %captured.q : bf16 to f32
        %3 = arith.mulf %1, %2 : f32
        %4 = arith.addf %s, %3 : f32
        %5 = tensor.extract %captured.b[%b, %k] : tensor<?x?xi8>
        %6 = arith.index_cast %5 : i8 to index
        %7 = arith.index_cast %6 : index to i64
        %8 = arith.sitofp %7 : i64 to f32
        %9 = arith.select %captured.k, %4, %8 : f32
        attn.yield %9 : f32
      })");
}

TEST(BuilderText, SummarizedTensors) {
  auto documents =
      Input<std::int32_t, 2>("documents", dynamic, 100).summarized(1, 32);
  auto order = Input<std::int64_t, 1>("order").summarized(32);
  Attention attention = {.headSize = 8,
                         .mask = document(documents, documents) &&
                                 mask([&](Index, Index, Index q, Index k) {
                                   return order(k) <= order(q);
                                 })};
  string text = write(attention);
  for (const char *line :
       {"%documents: tensor<?x100xi32>,\n    "
        "%documents_ranges: tensor<2x?x4xi32>,\n    %order: tensor<?xi64>,\n"
        "    %order_ranges: tensor<2x?xi64>)",
        "  %documents.summarized = attn.with_block_range %documents, "
        "%documents_ranges blocks [1, 32]\n      : tensor<?x100xi32>, "
        "tensor<2x?x4xi32>\n",
        "mask document(%documents.summarized, %documents.summarized : ",
        "captures(%captured.order = %order.summarized : tensor<?xi64>)"})
    EXPECT_NE(text.find(line), string::npos) << line << "\n" << text;
  EXPECT_EQ(argumentNames(attention),
            (std::vector<string>{"query", "key", "value", "documents",
                                 "documents_ranges", "order", "order_ranges"}));
}

TEST(BuilderText, Combinations) {
  // IR has names for what is ANDed only.
  EXPECT_EQ(writeMask(!causal() || slidingWindow(-1, -1)),
            R"((%b, %h, %q, %k) {
        %0 = arith.cmpi sle, %k, %q : index
        %1 = arith.constant true
        %2 = arith.xori %0, %1 : i1
        %3 = arith.ori %2, %1 : i1
        attn.yield %3 : i1
      })");
  EXPECT_EQ(writeMask(causal() && Mask()), "causal");
  EXPECT_NE(writeMask(!Mask()).find("arith.xori"), string::npos);
}

TEST(BuilderText, Operands) {
  Input<std::int32_t, 1> lengths("lengths"), queryStarts("query_starts"),
      keyStarts("key_starts");
  Input<float, 1> logits("logits", 2);
  attn::Scalar<float> scale("scale");
  attn::Scalar<std::int64_t> seed("seed"), tokens("tokens");
  attn::Scalar<std::int32_t> call("call");
  Attention attention{.queryHeads = 2,
                      .headSize = 8,
                      .scale = scale,
                      .offset = lengths,
                      .sink = logits,
                      .sequences = Sequences{queryStarts, keyStarts},
                      .dropout = Dropout{0.125, seed, call},
                      .mask = keyPadding(lengths)};
  string text = write(attention);
  EXPECT_NE(text.find(R"(
      scale(%scale : f32)
      offset(%lengths : tensor<?xi32>)
      sink(%logits : tensor<2xf32>)
      sequences(%query_starts, %key_starts : tensor<?xi32>, tensor<?xi32>)
      dropout(0.125, %seed, %call)
      mask key_padding(%lengths : tensor<?xi32>)
)"),
            string::npos)
      << text;
  EXPECT_NE(text.find("%query: tensor<1x2x?x8xf32>"), string::npos) << text;
  EXPECT_EQ(argumentNames(attention),
            (std::vector<string>{"query", "key", "value", "scale", "lengths",
                                 "logits", "query_starts", "key_starts", "seed",
                                 "call"}));
  EXPECT_NE(write({.scale = 0.5, .offset = -7})
                .find("\n      scale(0.5)\n      offset(%5 : index)"),
            string::npos);
  EXPECT_NE(write({.scale = 1e-5, .offset = tokens})
                .find("\n      scale(1.0e-05)\n      offset(%tokens : i64)"),
            string::npos);
  EXPECT_NE(write({.offset = Offset::bottomRight()})
                .find("\n      offset(bottom_right)"),
            string::npos);
}

/// The kernel's errors name what the user named.
TEST(BuilderText, CallErrorsNameArguments) {
  Input<float, 1> slopes("slopes", 8);
  Expected<Kernel> kernel = getEngine().compile(
      Attention{.queryHeads = 8, .headSize = 1, .score = alibi(slopes)});
  ASSERT_TRUE(kernel.ok());
  attn::test::Tensor<float> query({1, 8, 2, 1}), out({1, 8, 2, 1}), few({7});
  Status status = kernel->run(
      {query.view(), query.view(), query.view(), few.view()}, {out.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("'slopes'"), string::npos)
      << status.error().message;
}

} // namespace
