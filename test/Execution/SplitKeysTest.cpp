//===- SplitKeysTest.cpp - Decoding in chunks of keys, executed -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few queries and so many keys that these are computed in parallel and merged,
// against the oracle, and on several threads. Hidden keys and values are NaN.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

void runRandom(Random &random) {
  ElementType type =
      random.pick<ElementType>({ElementType::f32, ElementType::f32,
                                ElementType::f16, ElementType::bf16});
  Index batch = random.pick<Index>({1, 1, 2, 3}), heads = random.between(1, 2),
        group = random.pick<Index>({1, 3, 4, 8, 32}),
        queries = group < 8 ? random.pick<Index>({1, 1, 2, 4}) : 1,
        keySize = random.pick<Index>({64, 64, 128, 48, 7}),
        valueSize = random.chance(0.2) ? 64 : keySize;
  Index keys =
      random.pick<Index>({1023, 1024, 1025, 2047, 2048, 3000,
                          random.between(1, 2600), random.between(0, 300)});
  bool isStatic = random.chance(0.3), hasSink = random.chance(0.25),
       hasLogSumExp = random.chance(0.5);

  TestTensor query(type, {batch, heads * group, queries, keySize}),
      key(type, {batch, heads, keys, keySize}),
      value(type, {batch, heads, keys, valueSize}),
      lengths(ElementType::i32, {batch}), offsets(ElementType::i32, {batch}),
      sink(ElementType::f32, {heads * group});
  for (TestTensor *tensor : {&query, &key, &value, &sink})
    tensor->fill([&] { return random.normal(); });

  Index window = random.pick<Index>({5, 300, 1500});
  int mask = random.pick<int>({0, 1, 2, 3});
  for (Index b = 0; b < batch; ++b) {
    Index length = random.pick<Index>(
        {keys, keys, 0, random.between(0, keys), std::min<Index>(keys, 1024)});
    lengths.set({b}, double(length));
    offsets.set({b}, double(length - queries));
    Index begin = 0, end = keys;
    if (mask >= 1)
      end = length;
    if (mask == 3)
      begin = std::max<Index>(0, length - queries - window);
    for (Index h = 0; h < heads; ++h)
      for (Index j = 0; j < keys; ++j)
        if (j < begin || j >= end) {
          key.set({b, h, j, 0}, quietNaN);
          value.set({b, h, j, valueSize - 1}, quietNaN);
        }
  }
  const std::vector<string> masks = {
      "", " mask key_padding(%lengths : tensor<?xi32>)", " mask causal",
      " mask causal, sliding_window(" + std::to_string(window) + ", 0)"};

  auto tensor = [&](std::vector<Index> sizes, const char *element) {
    string text = "tensor<?x";
    for (Index size : sizes)
      text += (size < 0 ? "?" : std::to_string(size)) + "x";
    return text + element + ">";
  };
  string name(nameOf(type));
  Index length = isStatic ? keys : -1;
  string q = tensor({heads * group, queries, keySize}, name.c_str()),
         k = tensor({heads, length, keySize}, name.c_str()),
         v = tensor({heads, length, valueSize}, name.c_str()),
         o = tensor({heads * group, queries, valueSize}, name.c_str()),
         l = tensor({heads * group, queries}, "f32"),
         s = "tensor<" + std::to_string(heads * group) + "xf32>";
  string results = hasLogSumExp ? o + ", " + l : o;
  string text =
      "func.func @f(%query: " + q + ", %key: " + k + ", %value: " + v +
      ", %lengths: tensor<?xi32>, %offsets: tensor<?xi32>, %sink: " + s +
      ") -> (" + results +
      ") {\n%c0 = arith.constant 0 : index\n%batch = tensor.dim %query, %c0 "
      ": " +
      q + "\n%empty = tensor.empty(%batch) : " + o +
      "\n%emptyLSE = tensor.empty(%batch) : " + l + "\n%0" +
      (hasLogSumExp ? ":2" : "") +
      " = attn.attention ins(%query, %key, %value : " + q + ", " + k + ", " +
      v + ") outs(%empty" + (hasLogSumExp ? ", %emptyLSE" : "") + " : " +
      results + ")" + (mask >= 2 ? " offset(%offsets : tensor<?xi32>)" : "") +
      (hasSink ? " sink(%sink : " + s + ")" : "") + masks[std::size_t(mask)] +
      "\nreturn %0" + (hasLogSumExp ? "#0, %0#1" : "") + " : " + results +
      "\n}\n";

  const std::vector<TestArgument> arguments = {query,   key,     value,
                                               lengths, offsets, sink};
  expectRightOnThreads(text, arguments);
}

TEST(SplitKeys, random) { forSeeds(9300, numCases(16), runRandom); }

} // namespace
