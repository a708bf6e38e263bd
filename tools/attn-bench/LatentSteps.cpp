//===- LatentSteps.cpp - Steps of multi-head latent attention -------------===//
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

/// The sizes of DeepSeek-V3 (arXiv:2412.19437), absorbed.
class LatentStep : public DecodeCase {
public:
  LatentStep(std::string name, Index length, bool isPaged)
      : DecodeCase(std::move(name), 1, /*queryHeads=*/128, /*keyValueHeads=*/1),
        length(length), isPaged(isPaged),
        table(std::size_t(length / pageSize)) {
    std::iota(table.begin(), table.end(), 0);
    std::ranges::shuffle(table, std::mt19937_64(3));
  }

  Index keySize() const override { return 576; }
  Index valueSize() const override { return 512; }
  bool hasValuesInKeys() const override { return true; }
  std::vector<Index> cacheSizes() const override {
    return isPaged ? std::vector<Index>{Index(table.size()), 1, pageSize, 576}
                   : std::vector<Index>{1, 1, length, 576};
  }
  Index keyLength(Index) const override { return length; }
  Index rowOf(Index, Index, Index position) const override {
    return isPaged ? table[std::size_t(position / pageSize)] * pageSize +
                         position % pageSize
                   : position;
  }
  std::vector<TensorView>
  viewsOf(const ColdCaches::Cache &cache) const override {
    return {cache.key.view()};
  }
  std::vector<Operand> operands() const override;
  std::string text(ElementType type) const override;

private:
  static constexpr Index pageSize = 16;
  Index length;
  bool isPaged;
  std::vector<Index> table;
};

} // namespace

std::vector<Operand> LatentStep::operands() const {
  if (!isPaged)
    return {};
  return {{"lengths",
           ElementType::i32,
           {1},
           [length = length](Index) { return double(length); }},
          {"table",
           ElementType::i32,
           {1, Index(table.size())},
           [table = table](Index i) { return double(table[std::size_t(i)]); }}};
}

std::string LatentStep::text(ElementType type) const {
  std::string query = tensorText("1x128x1x576", type),
              output = tensorText("1x128x1x512", type),
              pages = tensorText("?x1x16x576", type),
              key = tensorText("1x1x?x576", type),
              value = tensorText("1x1x?x512", type);
  std::string parameters =
      isPaged ? "%latents: " + pages +
                    ", %lengths: tensor<1xi32>, %table: tensor<1x?xi32>"
              : "%key: " + key;
  std::string read =
      isPaged ? "  %c1 = arith.constant 1 : index\n"
                "  %c16 = arith.constant 16 : index\n"
                "  %pages = tensor.dim %table, %c1 : tensor<1x?xi32>\n"
                "  %size = arith.muli %pages, %c16 : index\n"
                "  %key = attn.cache_read ins(%latents : " +
                    pages +
                    ")\n      lengths(%lengths : tensor<1xi32>) table(%table : "
                    "tensor<1x?xi32>) size(%size) -> " +
                    key + "\n"
              : "  %c2 = arith.constant 2 : index\n"
                "  %size = tensor.dim %key, %c2 : " +
                    key + "\n";
  std::string mask =
      isPaged ? " mask key_padding(%lengths : tensor<1xi32>)" : "";
  return "func.func @latent(%query: " + query + ", " + parameters + ") -> " +
         output + " {\n" + read +
         "  %value = tensor.extract_slice %key[0, 0, 0, 0] [1, 1, %size, 512] "
         "[1, 1, 1, 1]\n      : " +
         key + " to " + value + "\n  %init = tensor.empty() : " + output +
         "\n  %output = attn.attention ins(%query, %key, %value : " + query +
         ", " + key + ", " + value + ")\n      outs(%init : " + output + ")" +
         mask + "\n  return %output : " + output + "\n}\n";
}

DecodePointer bench::makeLatentStep(std::string name, Index length,
                                    bool isPaged) {
  return std::make_shared<LatentStep>(std::move(name), length, isPaged);
}
