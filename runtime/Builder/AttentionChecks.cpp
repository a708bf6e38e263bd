//===- AttentionChecks.cpp - What is wrong with an Attention --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/Node.h"
#include "runtime/Builder/Parameters.h"

#include <cmath>
#include <initializer_list>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

static Status checkSizes(const Attention &attention) {
  if (!isFloat(attention.type))
    return expected("type", "f64, f32, f16 or bf16",
                    string(nameOf(attention.type)));
  std::int64_t keyValueHeads =
      attention.keyValueHeads.value_or(attention.queryHeads);
  for (auto [member, size] : {std::pair("queryHeads", attention.queryHeads),
                              std::pair("keyValueHeads", keyValueHeads)})
    if (size < 1)
      return expected(member, "at least 1", std::to_string(size));
  constexpr std::int64_t largest = 4096; // A1.
  for (auto [member, size] :
       {std::pair("headSize", attention.headSize),
        std::pair("valueHeadSize",
                  attention.valueHeadSize.value_or(attention.headSize))})
    if (size < 1 || size > largest)
      return expected(member, "1 to " + std::to_string(largest),
                      std::to_string(size));
  if (attention.queryHeads % keyValueHeads)
    return expected("queryHeads",
                    "a multiple of keyValueHeads, which is " +
                        std::to_string(keyValueHeads),
                    std::to_string(attention.queryHeads));
  for (auto [member, size] : {std::pair("batch", attention.batch),
                              std::pair("queryLength", attention.queryLength),
                              std::pair("keyLength", attention.keyLength)})
    if (size < 0 && size != dynamic)
      return expected(member, "at least 0, or dynamic", std::to_string(size));
  if (attention.sequences && attention.batch != dynamic && attention.batch != 1)
    return expected("batch", "1, as sequences are packed",
                    std::to_string(attention.batch));
  return {};
}

static Status checkOperands(const Attention &attention) {
  ElementType accumulation = getAccumulationType(attention);
  if (attention.scale) {
    const Node &scale = *attention.scale->node();
    const auto *number = scale.as<double>();
    const auto *scalar = scale.as<detail::Scalar>();
    if (!(number && std::isfinite(*number)) &&
        !(scalar && scalar->declaration->type == accumulation))
      return expected("scale",
                      "a finite number or a Scalar of type " +
                          string(nameOf(accumulation)),
                      "'" + describe(scale) + "'");
  }
  if (attention.offset)
    if (const auto *tokens = std::get_if<Index>(&attention.offset->value())) {
      const auto *number = tokens->node()->as<std::int64_t>();
      constexpr std::int64_t largest = std::int64_t(1) << 61;
      if (!tokens->node()->as<detail::Scalar>() &&
          !(number && *number >= -largest && *number <= largest))
        return expected("offset", "at most 2^61 in magnitude",
                        describe(*tokens->node()));
    }
  if (attention.sink) {
    const Declaration &sink = *attention.sink->declaration();
    std::int64_t size = sink.shape[0];
    if (sizeOf(sink.type) > sizeOf(accumulation) ||
        (size != dynamic && size != attention.queryHeads))
      return expected(
          "sink",
          "one number for each of the " + std::to_string(attention.queryHeads) +
              " query heads, no wider than " + string(nameOf(accumulation)),
          "'" + sink.name + "' of type " + writeType(sink));
  }
  if (attention.dropout)
    for (const Index &argument : std::initializer_list<Index>{
             attention.dropout->seed, attention.dropout->call})
      if (!argument.node()->as<detail::Scalar>())
        return expected("dropout", "a Scalar",
                        "'" + describe(*argument.node()) + "'");
  if (attention.dropout &&
      !(attention.dropout->rate >= 0 && attention.dropout->rate < 1))
    return expected("dropout", "a rate from 0 up to, but not, 1",
                    writeNumber(attention.dropout->rate));
  return {};
}

Status builder::check(const Attention &attention) {
  if (Status checked = checkSizes(attention); !checked)
    return checked;
  return checkOperands(attention);
}
