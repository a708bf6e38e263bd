//===- DenseSteps.cpp - Decode steps on keys in their places --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

using namespace attn;
using namespace attn::bench;

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

namespace {

class DenseStep : public DecodeCase {
public:
  DenseStep(std::string name, Index batches, Index queryHeads,
            Index keyValueHeads, Index length, Index queryLength)
      : DecodeCase(std::move(name), batches, queryHeads, keyValueHeads,
                   queryLength),
        length(length) {}

  std::vector<Index> cacheSizes() const override {
    return {batches, keyValueHeads, length, headSize};
  }
  Index keyLength(Index) const override { return length; }
  Index rowOf(Index batch, Index head, Index position) const override {
    return (batch * keyValueHeads + head) * length + position;
  }
  bool sees(Index, Index query, Index position) const override {
    Index certain = length - queryLength;
    return position < certain || isAncestor(query, position - certain);
  }
  std::vector<Operand> operands() const override;
  std::string text(ElementType type) const override;

private:
  Index length;
};

} // namespace

std::vector<Operand> DenseStep::operands() const {
  if (queryLength == 1)
    return {};
  auto valueAt = [nodes = queryLength](Index i) {
    return double(isAncestor(i / nodes, i % nodes));
  };
  return {{"ancestors", ElementType::i1, {queryLength, queryLength}, valueAt}};
}

std::string DenseStep::text(ElementType type) const {
  std::string start = std::to_string(batches) + "x",
              tokens = std::to_string(queryLength),
              size = "x" + std::to_string(headSize);
  std::string query = tensorText(
      start + std::to_string(queryHeads) + "x" + tokens + size, type);
  std::string key =
      tensorText(start + std::to_string(keyValueHeads) + "x?" + size, type);
  std::string ancestors = tensorText(tokens + "x" + tokens, ElementType::i1);

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

DecodePointer bench::makeDenseStep(std::string name, Index batches,
                                   Index queryHeads, Index keyValueHeads,
                                   Index keyLength, Index queryLength) {
  return std::make_shared<DenseStep>(std::move(name), batches, queryHeads,
                                     keyValueHeads, keyLength, queryLength);
}
