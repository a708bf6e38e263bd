//===- DecodeCase.cpp - One decode step to measure ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

using namespace attn;
using namespace attn::bench;

std::vector<Operand> DecodeCase::operands() const {
  if (queryLength == 1)
    return {};
  auto valueAt = [length = queryLength](Index i) {
    return double(isAncestor(i / length, i % length));
  };
  return {{"ancestors", ElementType::i1, {queryLength, queryLength}, valueAt}};
}

bool DecodeCase::sees(Index query, Index key) const {
  Index certain = keyLength - queryLength;
  return key < certain || isAncestor(query, key - certain);
}

double DecodeCase::countFlops() const {
  Index pairs = 0;
  for (Index query = 0; query < queryLength; ++query)
    for (Index key = 0; key < keyLength; ++key)
      pairs += sees(query, key);
  return 4.0 * double(pairs) * double(batches * queryHeads * headSize);
}

double DecodeCase::countBytes(ElementType type) const {
  return 2.0 * double(batches * keyValueHeads * keyLength * headSize) *
         double(sizeOf(type));
}

/// Of the nodes of a tree, as examples/variants writes it.
static std::string treeMask(const std::string &ancestors) {
  return "mask(%b, %h, %p, %j) captures(%first = %certain : index,\n"
         "          %tree = %ancestors : " +
         ancestors + R"() {
        %known = arith.cmpi slt, %j, %first : index
        %node = arith.subi %p, %first : index
        %behind = arith.subi %j, %first : index
        %zero = arith.constant 0 : index
        %other = arith.maxsi %behind, %zero : index
        %ancestor = tensor.extract %tree[%node, %other] : )" +
         ancestors + R"(
        %keep = arith.ori %known, %ancestor : i1
        attn.yield %keep : i1
      })";
}

std::string DecodeCase::text(ElementType type) const {
  std::string start = std::to_string(batches) + "x",
              tokens = std::to_string(queryLength),
              end = "x" + std::to_string(headSize) + "x" +
                    std::string(nameOf(type)) + ">";
  std::string query =
      "tensor<" + start + std::to_string(queryHeads) + "x" + tokens + end;
  std::string key =
      "tensor<" + start + std::to_string(keyValueHeads) + "x?" + end;
  std::string ancestors = "tensor<" + tokens + "x" + tokens + "xi1>";

  std::string arguments =
      "%query: " + query + ", %key: " + key + ", %value: " + key;
  std::string certain, mask = "mask causal";
  if (queryLength > 1) {
    arguments += ", %ancestors: " + ancestors;
    certain = "  %c2 = arith.constant 2 : index\n"
              "  %length = tensor.dim %key, %c2 : " +
              key +
              "\n"
              "  %tokens = arith.constant " +
              tokens +
              " : index\n"
              "  %certain = arith.subi %length, %tokens : index\n";
    mask = treeMask(ancestors);
  }
  return "func.func @decode(" + arguments + ") -> " + query + " {\n" + certain +
         "  %init = tensor.empty() : " + query +
         "\n"
         "  %output = attn.attention\n"
         "      ins(%query, %key, %value : " +
         query + ", " + key + ", " + key + ")\n      outs(%init : " + query +
         ")\n      offset(bottom_right)\n      " + mask +
         "\n  return %output : " + query + "\n}\n";
}

const std::vector<DecodeCase> &bench::getDecodeCases() {
  // Batches, query heads, key/value heads, keys, queries.
  static const std::vector<DecodeCase> cases = {
      {"D1", 1, 32, 8, 4096},    {"D3", 8, 32, 8, 4096},
      {"D4", 1, 32, 32, 4096},   {"D5", 1, 32, 1, 4096},
      {"D8", 1, 32, 8, 4096, 4}, {"D9", 1, 32, 8, 32768},
  };
  return cases;
}
