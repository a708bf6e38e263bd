//===- Form.cpp - What a node's kernels differ in -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Form.h"

#include <concepts>
#include <type_traits>

using namespace attn;
using namespace attn::ort;

/// Of the type of the scores' operands, which a bias of a node has.
static Score createBias(ElementType type,
                        const std::array<std::int64_t, 4> &sizes) {
  return visitElementType(type, [&]<typename T>(std::type_identity<T>) {
    using Real = std::conditional_t<std::integral<T>, float, T>;
    return bias(
        rows(Tensor<Real, 4>("mask", sizes[0], sizes[1], sizes[2], sizes[3])));
  });
}

static Sink createSink(ElementType type) {
  return visitElementType(type, []<typename T>(std::type_identity<T>) {
    using Real = std::conditional_t<std::integral<T>, float, T>;
    return Sink(Tensor<Real, 1>("sink"));
  });
}

Attention Form::attention(const Score &score, const attn::Mask &mask) const {
  Attention attention{.type = type,
                      .queryHeads = queryHeads,
                      .keyValueHeads = keyValueHeads,
                      .headSize = headSize,
                      .valueHeadSize = valueHeadSize,
                      .batch = batch,
                      .queryLength = queryLength,
                      .keyLength = keyLength,
                      .score = score,
                      .mask = mask};
  if (scale)
    attention.scale = *scale;
  if (offsets == Offsets::one)
    attention.offset = Scalar<std::int64_t>("offset");
  if (offsets == Offsets::ofBatches)
    attention.offset = Tensor<std::int64_t, 1>("offset");
  if (hasSink)
    attention.sink = createSink(type);
  std::array<std::int64_t, 4> sizes = {};
  for (std::size_t dim = 0; dim < sizes.size(); ++dim)
    sizes[dim] = isBroadcast[dim] ? 1 : dynamic;
  if (softcap != 0)
    attention.score = attention.score | attn::softcap(softcap);
  if (this->mask == Mask::additive)
    attention.score = attention.score | createBias(type, sizes);
  if (isCausal)
    attention.mask = attention.mask && causal();
  if (left >= 0 || right >= 0)
    attention.mask = attention.mask && slidingWindow(left, right);
  if (hasLengths)
    attention.mask =
        attention.mask && keyPadding(Tensor<std::int64_t, 1>("lengths"));
  if (this->mask == Mask::boolean)
    attention.mask = attention.mask &&
                     boolean(rows(Tensor<bool, 4>("mask", sizes[0], sizes[1],
                                                  sizes[2], sizes[3])));
  return attention;
}

std::vector<Argument> Operands::arguments(const Signature &signature) const {
  std::vector<Argument> arguments;
  arguments.reserve(signature.arguments.size());
  for (const Parameter &parameter : signature.arguments)
    for (const auto &[name, argument] : named)
      if (name == parameter.name)
        arguments.push_back(argument);
  return arguments;
}
