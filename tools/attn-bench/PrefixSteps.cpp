//===- PrefixSteps.cpp - Decode steps on a common prefix ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

using namespace attn;
using namespace attn::bench;

namespace {

/// The prefix, and behind it in the same memory what each sequence has of its
/// own.
class SharedPrefixStep : public DecodeCase {
public:
  explicit SharedPrefixStep(std::string name)
      : DecodeCase(std::move(name), /*batches=*/16, /*queryHeads=*/32,
                   /*keyValueHeads=*/8) {}

  static constexpr Index prefix = 4096, own = 64;

  std::vector<Index> cacheSizes() const override {
    return {keyValueHeads, countRows(), headSize};
  }
  Index keyLength(Index) const override { return prefix + own; }
  Index rowOf(Index batch, Index head, Index position) const override {
    if (position < prefix)
      return head * prefix + position;
    return (keyValueHeads * prefix) + (batch * keyValueHeads + head) * own +
           position - prefix;
  }
  Index countRows() const override { return prefix + batches * own; }
  std::vector<TensorView>
  viewsOf(const ColdCaches::Cache &cache) const override;
  std::string text(ElementType type) const override;
};

} // namespace

std::vector<TensorView>
SharedPrefixStep::viewsOf(const ColdCaches::Cache &cache) const {
  std::vector<TensorView> views;
  for (const Buffer *memory : {&cache.key, &cache.value}) {
    views.push_back(memory->viewAt(0, {1, keyValueHeads, prefix, headSize}));
    views.push_back(memory->viewAt(keyValueHeads * prefix * headSize,
                                   {batches, keyValueHeads, own, headSize}));
  }
  return views;
}

std::string SharedPrefixStep::text(ElementType type) const {
  // The queries of all sequences are the rows of one, which has the prefix for
  // its keys.
  std::string text = R"(
    func.func @decode(%query: $16x32x1x128, %key: $1x8x?x128,
                      %own_key: $16x8x?x128, %value: $1x8x?x128,
                      %own_value: $16x8x?x128) -> $16x32x1x128 {
      %rows = tensor.collapse_shape %query [[0], [1, 2], [3]]
          : $16x32x1x128 into $16x32x128
      %0 = tensor.empty() : $32x16x128
      %turned = linalg.transpose ins(%rows : $16x32x128) outs(%0 : $32x16x128)
          permutation = [1, 0, 2]
      %one = tensor.expand_shape %turned [[0, 1], [2], [3]]
          output_shape [1, 32, 16, 128] : $32x16x128 into $1x32x16x128
      %1 = tensor.empty() : $1x32x16x128
      %2 = tensor.empty() : tensor<1x32x16xf32>
      %o1, %l1 = attn.attention
          ins(%one, %key, %value : $1x32x16x128, $1x8x?x128, $1x8x?x128)
          outs(%1, %2 : $1x32x16x128, tensor<1x32x16xf32>)
      %3 = tensor.collapse_shape %o1 [[0, 1], [2], [3]]
          : $1x32x16x128 into $32x16x128
      %4 = tensor.collapse_shape %l1 [[0, 1], [2]]
          : tensor<1x32x16xf32> into tensor<32x16xf32>
      %5 = tensor.empty() : $16x32x128
      %6 = tensor.empty() : tensor<16x32xf32>
      %7 = linalg.transpose ins(%3 : $32x16x128) outs(%5 : $16x32x128)
          permutation = [1, 0, 2]
      %8 = linalg.transpose ins(%4 : tensor<32x16xf32>)
          outs(%6 : tensor<16x32xf32>) permutation = [1, 0]
      %prefix = tensor.expand_shape %7 [[0], [1, 2], [3]]
          output_shape [16, 32, 1, 128] : $16x32x128 into $16x32x1x128
      %prefix_lse = tensor.expand_shape %8 [[0], [1, 2]]
          output_shape [16, 32, 1] : tensor<16x32xf32> into tensor<16x32x1xf32>
      %9 = tensor.empty() : $16x32x1x128
      %10 = tensor.empty() : tensor<16x32x1xf32>
      %o2, %l2 = attn.attention
          ins(%query, %own_key, %own_value
              : $16x32x1x128, $16x8x?x128, $16x8x?x128)
          outs(%9, %10 : $16x32x1x128, tensor<16x32x1xf32>)
      %11 = tensor.empty() : $16x32x1x128
      %output = attn.merge
          ins(%prefix, %prefix_lse, %o2, %l2 : $16x32x1x128,
              tensor<16x32x1xf32>, $16x32x1x128, tensor<16x32x1xf32>)
          outs(%11 : $16x32x1x128)
      return %output : $16x32x1x128
    })";
  // "$sizes" stands for a tensor of the type.
  std::string written;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      written += text[at++];
      continue;
    }
    std::size_t end = text.find_first_not_of("0123456789x?", at + 1);
    written += tensorText(text.substr(at + 1, end - at - 1), type);
    at = end;
  }
  return written;
}

DecodePointer bench::makeSharedPrefixStep(std::string name) {
  return std::make_shared<SharedPrefixStep>(std::move(name));
}

DecodePointer bench::makeUnsharedStep(std::string name) {
  SharedPrefixStep shared{""};
  return makeDenseStep(std::move(name), shared.batches, shared.queryHeads,
                       shared.keyValueHeads,
                       SharedPrefixStep::prefix + SharedPrefixStep::own);
}
