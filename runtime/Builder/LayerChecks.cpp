//===- LayerChecks.cpp - What is wrong with a layer -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/LayerChecks.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/CacheWriter.h"
#include "runtime/Builder/Node.h"

#include <cmath>
#include <initializer_list>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

static bool isCross(const MultiHeadAttention &layer) {
  return layer.sourceWidth || layer.hasMemory;
}

static Status checkAttention(const Attention &attention) {
  if (Status checked = builder::check(attention); !checked)
    return checked;
  if (attention.logSumExp)
    return expected("attention.logSumExp", "none in a layer", "one");
  if (attention.isBatchInvariant)
    return expected("attention.isBatchInvariant",
                    "false in a layer, whose projections are not", "true");
  if (attention.scale && !attention.scale->node()->as<double>())
    return expected("attention.scale", "a number", "a Scalar");
  if (attention.offset &&
      std::holds_alternative<std::monostate>(attention.offset->value()))
    return expected("attention.offset", "a number, a Scalar or a Tensor",
                    "bottomRight()");
  constexpr std::int64_t largest = std::int64_t(1) << 30;
  if (attention.queryHeads > largest)
    return expected("attention.queryHeads", "at most 2^30",
                    std::to_string(attention.queryHeads));
  return {};
}

static Status checkWeights(const MultiHeadAttention &layer) {
  for (auto [member, size] :
       {std::pair("width", layer.width),
        std::pair("outputWidth", layer.outputWidth.value_or(1)),
        std::pair("sourceWidth", layer.sourceWidth.value_or(1)),
        std::pair("panels.width", layer.panels ? layer.panels->width : 1)})
    if (size < 1)
      return expected(member, "at least 1", std::to_string(size));
  bool isDouble = layer.attention.type == ElementType::f64;
  if (layer.weights != ElementType::i8 &&
      (!isFloat(layer.weights) ||
       (layer.weights == ElementType::f64 && !isDouble)))
    return expected("weights",
                    string(isDouble ? "f64, " : "") + "f32, f16, bf16 or i8",
                    string(nameOf(layer.weights)));
  if (layer.panels && layer.panels->inPairs) {
    const Attention &attention = layer.attention;
    std::int64_t outputs = attention.queryHeads *
                           attention.valueHeadSize.value_or(attention.headSize);
    for (auto [name, rows] :
         {std::pair("width", layer.width),
          std::pair("sourceWidth", layer.sourceWidth.value_or(0)),
          std::pair("the width of all heads", outputs)})
      if (rows % 2 != 0)
        return expected("panels.inPairs",
                        string("false where ") + name + " is odd",
                        "true for " + std::to_string(rows));
  }
  return {};
}

static Status checkKeys(const MultiHeadAttention &layer) {
  if (layer.sourceWidth && layer.hasMemory)
    return expected("sourceWidth", "none with hasMemory",
                    std::to_string(*layer.sourceWidth));
  if (!isCross(layer)) {
    if (layer.attention.keyLength != dynamic)
      return expected("attention.keyLength",
                      "dynamic where keys come from the input",
                      std::to_string(layer.attention.keyLength));
    return {};
  }
  const char *none = "none where keys do not come from the input";
  if (layer.isFused.value_or(false))
    return expected("isFused", "false where keys do not come from the input",
                    "true");
  if (layer.cache)
    return expected("cache", none, "one");
  if (layer.rotary)
    return expected("rotary", none, "one");
  return {};
}

static Status checkCache(const MultiHeadAttention &layer) {
  return layer.cache ? builder::checkCache(*layer.cache, layer.attention)
                     : Status();
}

static Status checkRowOps(const MultiHeadAttention &layer) {
  const Attention &attention = layer.attention;
  if (layer.rotary) {
    std::int64_t size = layer.rotary->size;
    if (size < 2 || size % 2 != 0 || size > attention.headSize)
      return expected("rotary.size",
                      "an even number from 2 to headSize, which is " +
                          std::to_string(attention.headSize),
                      std::to_string(size));
    if (attention.sequences && !layer.rotary->hasPositions)
      return expected("rotary.hasPositions", "true with sequences", "false");
  }
  if (!layer.headNorms)
    return {};
  const HeadNorms &norm = *layer.headNorms;
  bool isDouble = attention.type == ElementType::f64;
  double epsilon = isDouble ? norm.epsilon : double(float(norm.epsilon));
  if (!(epsilon > 0 && std::isfinite(epsilon)))
    return expected("headNorms.epsilon",
                    string("a number that is positive and finite in ") +
                        (isDouble ? "f64" : "f32"),
                    writeNumber(norm.epsilon));
  if (!norm.ofQueriesAndKeys && !norm.ofOutput)
    return expected("headNorms", "queries and keys or the output to normalise",
                    "neither");
  if (norm.layer && !norm.ofOutput)
    return expected("headNorms.layer", "none without ofOutput",
                    std::to_string(*norm.layer));
  if (norm.layer && *norm.layer < 0)
    return expected("headNorms.layer", "at least 0",
                    std::to_string(*norm.layer));
  return {};
}

static Status checkDropout(const MultiHeadAttention &layer) {
  if (!(layer.outputDropout >= 0 && layer.outputDropout < 1))
    return expected("outputDropout", "a rate from 0 up to, but not, 1",
                    writeNumber(layer.outputDropout));
  if (layer.outputDropout > 0 && !layer.attention.dropout)
    return expected("attention.dropout", "one, for outputDropout", "none");
  return {};
}

Status builder::check(const MultiHeadAttention &layer) {
  if (Status checked = checkAttention(layer.attention); !checked)
    return checked;
  for (auto *part :
       {checkWeights, checkKeys, ::checkCache, checkRowOps, checkDropout})
    if (Status checked = part(layer); !checked)
      return checked;
  return {};
}
