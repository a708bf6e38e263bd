//===- DraftSteps.cpp - Steps of several tokens ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

using namespace attn;
using namespace attn::bench;

namespace {

/// One sequence of keys and values without a cache's shape, whose last tokens
/// are the queries, causally masked.
class DraftStep : public DecodeCase {
public:
  DraftStep(std::string name, Index queryHeads, Index keyValueHeads,
            Index length, Index queryLength, bool isDynamic,
            bool isBatchInvariant)
      : DecodeCase(std::move(name), 1, queryHeads, keyValueHeads, queryLength),
        length(length), isDynamic(isDynamic),
        isBatchInvariant(isBatchInvariant) {}

  std::vector<Index> cacheSizes() const override {
    return {1, keyValueHeads, length, headSize};
  }
  Index keyLength(Index) const override { return length; }
  Index rowOf(Index, Index head, Index position) const override {
    return head * length + position;
  }
  bool sees(Index, Index query, Index position) const override {
    return position <= length - queryLength + query;
  }
  std::string text(ElementType type) const override;

private:
  Index length;
  bool isDynamic; ///< The kernel does not know the number of queries.
  bool isBatchInvariant;
};

} // namespace

std::string DraftStep::text(ElementType type) const {
  auto tensor = [&](Index heads, const std::string &rows) {
    return tensorText("1x" + std::to_string(heads) + "x" + rows + "x" +
                          std::to_string(headSize),
                      type);
  };
  std::string query = tensor(queryHeads,
                             isDynamic ? "?" : std::to_string(queryLength)),
              key = tensor(keyValueHeads, "?");
  return "func.func @draft(%query: " + query + ", %key: " + key +
         ", %value: " + key + ") -> " + query +
         " {\n  %c2 = arith.constant 2 : index\n"
         "  %tokens = tensor.dim %query, %c2 : " +
         query + "\n  %init = tensor.empty(" + (isDynamic ? "%tokens" : "") +
         ") : " + query +
         "\n  %output = attn.attention\n"
         "      ins(%query, %key, %value : " +
         query + ", " + key + ", " + key + ")\n      outs(%init : " + query +
         ")\n      offset(bottom_right) mask causal" +
         (isBatchInvariant ? " {attn.plan = #attn.plan<batch_invariant = true>}"
                           : "") +
         "\n  return %output : " + query + "\n}\n";
}

DecodePointer bench::makeDraftStep(std::string name, Index queryHeads,
                                   Index keyValueHeads, Index keyLength,
                                   Index queryLength, bool isDynamic,
                                   bool isBatchInvariant) {
  return std::make_shared<DraftStep>(std::move(name), queryHeads, keyValueHeads,
                                     keyLength, queryLength, isDynamic,
                                     isBatchInvariant);
}
