//===- RaggedSteps.cpp - Steps of different numbers of tokens -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace attn;
using namespace attn::bench;

namespace {

/// To the checks it is one sequence, whose positions are those of the first
/// sequence and then those of the next ones.
class RaggedStep : public DecodeCase {
public:
  RaggedStep(std::string name, std::vector<Index> newTokens, Index length,
             bool isApart)
      : DecodeCase(
            std::move(name), 1, /*queryHeads=*/32, /*keyValueHeads=*/8,
            std::accumulate(newTokens.begin(), newTokens.end(), Index(0))),
        counts(std::move(newTokens)), length(length), isApart(isApart),
        table(counts.size() * std::size_t(length / pageSize)) {
    std::iota(table.begin(), table.end(), 0);
    std::ranges::shuffle(table, std::mt19937_64(3));
  }

  std::vector<Index> cacheSizes() const override {
    return {Index(table.size()), keyValueHeads, pageSize, headSize};
  }
  Index keyLength(Index) const override {
    return Index(counts.size()) * length;
  }
  Index rowOf(Index, Index head, Index position) const override {
    Index page = table[std::size_t(position / pageSize)];
    return (page * keyValueHeads + head) * pageSize + position % pageSize;
  }
  bool sees(Index, Index query, Index position) const override {
    std::size_t n = 0;
    for (; query >= counts[n]; ++n)
      query -= counts[n];
    Index first = Index(n) * length, last = first + length - counts[n] + query;
    return position >= first && position <= last;
  }
  std::vector<Operand> operands() const override;
  std::string text(ElementType type) const override;

private:
  static std::string writeTogether();
  static std::string writeApart();

  static constexpr Index pageSize = 16;
  std::vector<Index> counts;
  Index length;
  bool isApart;
  std::vector<Index> table; ///< (N, length / pageSize).
};

} // namespace

std::vector<Operand> RaggedStep::operands() const {
  Index number = Index(counts.size());
  auto before = [counts = counts, length = length](Index i) {
    return double(length - counts[std::size_t(i)]);
  };
  auto begin = [counts = counts](Index i) {
    return double(
        std::accumulate(counts.begin(), counts.begin() + i, Index(0)));
  };
  return {{"before", ElementType::i32, {number}, before},
          {"after",
           ElementType::i32,
           {number},
           [length = length](Index) { return double(length); }},
          {"cu_seqlens", ElementType::i32, {number + 1}, begin},
          {"table",
           ElementType::i32,
           {number, length / pageSize},
           [table = table](Index i) { return double(table[std::size_t(i)]); }}};
}

std::string RaggedStep::text(ElementType type) const {
  std::string pages = tensorText("?x8x16x128", type);
  return "!query = " + tensorText("1x32x?x128", type) + "\n!pages = " + pages +
         "\n!key = " + tensorText("?x8x?x128", type) +
         "\n!tokens = " + tensorText("?x32x128", type) +
         "\n!heads = " + tensorText("32x?x128", type) +
         "\n!single = " + tensorText("?x32x1x128", type) +
         R"(
func.func @ragged(%query: !query, %keys: !pages, %values: !pages,
                  %before: tensor<?xi32>, %after: tensor<?xi32>,
                  %cu_seqlens: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> !query {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %pages = tensor.dim %table, %c1 : tensor<?x?xi32>
  %size = arith.muli %pages, %c16 : index
  %tokens = tensor.dim %query, %c2 : !query
  %init = tensor.empty(%tokens) : !query
)" + (isApart ? writeApart() : writeTogether()) +
         "}\n";
}

std::string RaggedStep::writeTogether() {
  return R"(
  %key = attn.cache_read ins(%keys : !pages) lengths(%after : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !key
  %value = attn.cache_read ins(%values : !pages) lengths(%after : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !key
  %output = attn.attention ins(%query, %key, %value : !query, !key, !key)
      outs(%init : !query) offset(%before : tensor<?xi32>)
      sequences(%cu_seqlens : tensor<?xi32>) mask causal
  return %output : !query
)";
}

/// What an engine without ragged steps does: one call for the prompt, one for
/// the batch of single tokens, which are copied there and back.
std::string RaggedStep::writeApart() {
  return R"(
  %number = tensor.dim %table, %c0 : tensor<?x?xi32>
  %others = arith.subi %number, %c1 : index
  %count = arith.subi %tokens, %others : index

  %table0 = tensor.extract_slice %table[0, 0] [1, %pages] [1, 1]
      : tensor<?x?xi32> to tensor<1x?xi32>
  %table1 = tensor.extract_slice %table[1, 0] [%others, %pages] [1, 1]
      : tensor<?x?xi32> to tensor<?x?xi32>
  %before0 = tensor.extract_slice %before[0] [1] [1]
      : tensor<?xi32> to tensor<1xi32>
  %after0 = tensor.extract_slice %after[0] [1] [1]
      : tensor<?xi32> to tensor<1xi32>
  %after1 = tensor.extract_slice %after[1] [%others] [1]
      : tensor<?xi32> to tensor<?xi32>
  %key0 = attn.cache_read ins(%keys : !pages) lengths(%after0 : tensor<1xi32>)
      table(%table0 : tensor<1x?xi32>) size(%size) -> !key
  %value0 = attn.cache_read ins(%values : !pages) lengths(%after0 : tensor<1xi32>)
      table(%table0 : tensor<1x?xi32>) size(%size) -> !key
  %key1 = attn.cache_read ins(%keys : !pages) lengths(%after1 : tensor<?xi32>)
      table(%table1 : tensor<?x?xi32>) size(%size) -> !key
  %value1 = attn.cache_read ins(%values : !pages) lengths(%after1 : tensor<?xi32>)
      table(%table1 : tensor<?x?xi32>) size(%size) -> !key

  %prompt = tensor.extract_slice %query[0, 0, 0, 0] [1, 32, %count, 128] [1, 1, 1, 1]
      : !query to !query
  %init0 = tensor.extract_slice %init[0, 0, 0, 0] [1, 32, %count, 128] [1, 1, 1, 1]
      : !query to !query
  %output0 = attn.attention ins(%prompt, %key0, %value0 : !query, !key, !key)
      outs(%init0 : !query) offset(%before0 : tensor<1xi32>) mask causal
  %first = tensor.insert_slice %output0 into %init[0, 0, 0, 0] [1, 32, %count, 128]
      [1, 1, 1, 1] : !query into !query

  %last = tensor.extract_slice %query[0, 0, %count, 0] [1, 32, %others, 128] [1, 1, 1, 1]
      : !query to !heads
  %empty = tensor.empty(%others) : !tokens
  %turned = linalg.transpose ins(%last : !heads) outs(%empty : !tokens)
      permutation = [1, 0, 2]
  %single = tensor.expand_shape %turned [[0], [1], [2, 3]]
      output_shape [%others, 32, 1, 128] : !tokens into !single
  %init1 = tensor.empty(%others) : !single
  %output1 = attn.attention ins(%single, %key1, %value1 : !single, !key, !key)
      outs(%init1 : !single) mask key_padding(%after1 : tensor<?xi32>)
  %rows = tensor.collapse_shape %output1 [[0], [1], [2, 3]] : !single into !tokens
  %empty1 = tensor.empty(%others) : !heads
  %back = linalg.transpose ins(%rows : !tokens) outs(%empty1 : !heads)
      permutation = [1, 0, 2]
  %output = tensor.insert_slice %back into %first[0, 0, %count, 0] [1, 32, %others, 128]
      [1, 1, 1, 1] : !heads into !query
  return %output : !query
)";
}

DecodePointer bench::makeRaggedStep(std::string name, std::vector<Index> counts,
                                    Index length, bool isApart) {
  return std::make_shared<RaggedStep>(std::move(name), std::move(counts),
                                      length, isApart);
}
