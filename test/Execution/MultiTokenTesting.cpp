//===- MultiTokenTesting.cpp - Kernels of multi-token attention -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/MultiTokenTesting.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

static string tensor(Index heads, const string &size, ElementType type,
                     const string &length = "?") {
  return "tensor<?x" + std::to_string(heads) + "x" + length + size + "x" +
         string(nameOf(type)) + ">";
}

string MultiTokenText::write() const {
  string length = keys > 0 ? std::to_string(keys) : "?",
         query = tensor(queryHeads, "x" + std::to_string(keySize), type),
         key =
             tensor(keyValueHeads, "x" + std::to_string(keySize), type, length),
         value = tensor(keyValueHeads, "x" + std::to_string(valueSize), type,
                        length),
         output = tensor(queryHeads, "x" + std::to_string(valueSize), type),
         lse = tensor(queryHeads, "",
                      type == ElementType::f64 ? type : ElementType::f32);
  string arguments, stageClauses;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    string name = "%stage" + std::to_string(i), stageTensor = "tensor<";
    for (Index size : stages[i].shape)
      stageTensor += std::to_string(size) + "x";
    stageTensor += string(nameOf(stageType)) + ">";
    arguments += ", " + name + ": " + stageTensor;
    stageClauses +=
        " " + stages[i].keyword + "(" + name + " : " + stageTensor + ")";
  }
  string results = logSumExp ? output + ", " + lse : output;
  return "func.func @f(%q: " + query + ", %k: " + key + ", %v: " + value +
         arguments + parameters + ") -> (" + results +
         ") {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : "
         "index\n%past = arith.constant " +
         std::to_string(past) + " : index\n%b = tensor.dim %q, %c0 : " + query +
         "\n%sq = tensor.dim %q, %c2 : " + query +
         "\n%s = arith.subi %sq, %past : index\n%o = tensor.empty(%b, %s) "
         ": " +
         output + "\n%l = tensor.empty(%b, %s) : " + lse +
         (logSumExp ? "\n%0:2" : "\n%0") +
         " = attn.multi_token_attention ins(%q, %k, %v : " + query + ", " +
         key + ", " + value + ") outs(" + (logSumExp ? "%o, %l : " : "%o : ") +
         results + ") " + offset + stageClauses + " " + clauses + "\nreturn " +
         (logSumExp ? "%0#0, %0#1 : " : "%0 : ") + results + "\n}\n";
}

const std::vector<string> attn::test::placements = {
    "k", "m", "K", "M", "x", "X", "kM", "km", "KM", "kmKM", "xX", "xKM"};

std::vector<Stage> attn::test::createStages(const string &placement,
                                            Index heads, Random &random) {
  std::vector<Index> divisors;
  for (Index d = 1; d <= heads; ++d)
    if (heads % d == 0)
      divisors.push_back(d);
  std::vector<Stage> stages;
  for (char letter : placement) {
    Index mixed = random.pick(divisors), cq = random.between(1, 6),
          ck = 1 + 2 * random.between(0, 5);
    switch (letter) {
    case 'k':
      stages.push_back({"convolve_before", {heads, cq, ck}});
      break;
    case 'm':
      stages.push_back({"mix_before", {heads / mixed, mixed, mixed}});
      break;
    case 'x':
      stages.push_back({"convolve_before", {heads, mixed, cq, ck}});
      break;
    case 'K':
      stages.push_back({"convolve_after", {heads, cq, ck}});
      break;
    case 'M':
      stages.push_back({"mix_after", {heads / mixed, mixed, mixed}});
      break;
    case 'X':
      stages.push_back({"convolve_after", {heads, mixed, cq, ck}});
      break;
    }
  }
  return stages;
}

TestTensor attn::test::createStage(const Stage &stage, ElementType type,
                                   Random &random) {
  TestTensor result(type, stage.shape);
  double count = 1;
  for (std::size_t d = 1; d < stage.shape.size(); ++d)
    count *= double(stage.shape[d]);
  result.fill([&] { return random.normal() / std::sqrt(count); });
  return result;
}

TestTensor attn::test::createIdentity(const Stage &stage, ElementType type) {
  bool isKernel = stage.keyword.starts_with("convolve");
  std::size_t rank = stage.shape.size();
  TestTensor result(type, stage.shape);
  result.fill([&](const Shape &i) -> double {
    if (!isKernel)
      return i[1] == i[2];
    bool isOwn = rank == 3 || i[0] % stage.shape[1] == i[1];
    return isOwn && i[rank - 2] == stage.shape[rank - 2] - 1 &&
           i[rank - 1] == stage.shape[rank - 1] / 2;
  });
  return result;
}

MultiTokenSample attn::test::createMultiTokenSample(std::uint64_t number) {
  Random random(number);
  MultiTokenSample sample;
  sample.placement = placements[std::size_t(number) % placements.size()];
  MultiTokenText &text = sample.text;
  text.type = random.pick<ElementType>({ElementType::f32, ElementType::f64,
                                        ElementType::f32, ElementType::f16,
                                        ElementType::bf16});
  text.stageType = text.type == ElementType::f64 || random.chance(0.5)
                       ? text.type
                       : ElementType::f32;
  text.keyValueHeads = random.between(1, 2);
  text.queryHeads = text.keyValueHeads * random.between(1, 3);
  text.keySize = random.between(1, 20);
  text.valueSize = random.between(1, 20);
  text.stages = createStages(sample.placement, text.queryHeads, random);
  text.logSumExp = random.chance(0.5);
  // Some of several tiles and blocks of keys.
  bool isLong = random.chance(0.3);
  Index batch = random.between(1, 2),
        queries = random.between(0, isLong ? 110 : 40),
        keys = random.between(0, isLong ? 200 : 50);
  text.past = random.chance(0.3) ? random.between(0, queries) : 0;
  if (random.chance(0.1))
    queries = text.past = 0;

  for (auto [heads, length, size] :
       {std::tuple(text.queryHeads, queries, text.keySize),
        std::tuple(text.keyValueHeads, keys, text.keySize),
        std::tuple(text.keyValueHeads, keys, text.valueSize)}) {
    Layout layout;
    if (random.chance(0.3))
      layout.order = {0, 2, 1, 3};
    TestTensor &tensor = sample.tensors.emplace_back(
        text.type, Shape{batch, heads, length, size}, layout);
    tensor.fill([&] { return random.normal(); });
  }
  for (const Stage &stage : text.stages)
    sample.tensors.push_back(createStage(stage, text.stageType, random));
  for (const TestTensor &tensor : sample.tensors)
    sample.arguments.emplace_back(tensor.view());
  if (random.chance(0.3)) {
    text.offset = "offset(%offset : index)";
    text.parameters += ", %offset: index";
    sample.arguments.emplace_back(random.between(-5, 10));
  } else if (random.chance(0.4)) {
    text.offset = "offset(bottom_right)";
  }
  if (random.chance(0.2)) {
    string type = "tensor<" + std::to_string(text.queryHeads) + "x" +
                  string(nameOf(text.type)) + ">";
    text.offset += " sink(%sink : " + type + ")";
    text.parameters += ", %sink: " + type;
    TestTensor &sink =
        sample.tensors.emplace_back(text.type, Shape{text.queryHeads});
    sink.fill([&] { return random.normal(); });
    sample.arguments.emplace_back(sink.view());
  }
  if (random.chance(0.15)) {
    text.parameters += ", %seed: i64, %call: i32";
    text.clauses += " dropout(0.4, %seed, %call)";
    sample.arguments.emplace_back(Index(number));
    sample.arguments.emplace_back(Index(3));
  }
  if (random.chance(0.3))
    text.clauses += " score softcap(5.0)";
  text.clauses += random.pick<string>(
      {"", " mask causal", " mask causal", " mask causal",
       " mask sliding_window(7, 3)", " mask causal, sliding_window(9, 0)",
       " mask (%b, %h, %p, %j) { %x = arith.xori %p, %j : index %y = "
       "arith.addi %x, %h : index %c3 = arith.constant 3 : index %z = "
       "arith.andi %y, %c3 : index %keep = arith.cmpi ne, %z, %c3 : index "
       "attn.yield %keep : i1 }"});
  return sample;
}
