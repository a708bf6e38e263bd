//===- CLayers.cpp - Layers and multi-token attention for C ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/cached_attention_c.h"
#include "attn/multi_head_attention_c.h"
#include "attn/multi_token_attention_c.h"

#include "runtime/Builder/CInterface.h"
#include "runtime/Support/MessageForC.h"

using namespace attn;
using namespace attn::builder;
using std::string;
using support::failNull;

/// A number whose absence is 0.
static std::optional<std::int64_t> getNumber(std::int64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

static Expected<LayerCache> convert(const attn_layer_cache &cache) {
  Expected<ElementType> type = convertType("cache.type", cache.type);
  if (!type)
    return std::move(type).error();
  return LayerCache{.type = *type,
                    .isRing = cache.is_ring,
                    .pageSize = getNumber(cache.page_size),
                    .hasCounts = cache.has_counts};
}

//===----------------------------------------------------------------------===//
// Attention on a cache
//===----------------------------------------------------------------------===//

char *attn_cached_attention_text(const attn_cached_attention *step,
                                 char **text) {
  if (!text)
    return failNull("text");
  *text = nullptr;
  if (!step)
    return failNull("step");
  Expected<Attention> attention = builder::convert(step->attention);
  if (!attention)
    return failForC(attention.error());
  Expected<LayerCache> cache = convert(step->cache);
  if (!cache)
    return failForC(cache.error());
  return storeForC(writeCachedAttention({.attention = *attention,
                                         .cache = *cache,
                                         .isPacked = step->is_packed},
                                        getVerbatim(step->attention)),
                   text);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static Expected<MultiHeadAttention::Gate> convertGate(attn_gate gate) {
  if (gate < ATTN_GATE_NONE || gate > ATTN_GATE_OF_ELEMENTS)
    return Error{"gate: there is no gate " + std::to_string(gate), {}};
  return MultiHeadAttention::Gate(gate);
}

static Expected<MultiHeadAttention>
convert(const attn_multi_head_attention &layer) {
  Expected<Attention> attention = builder::convert(layer.attention);
  if (!attention)
    return std::move(attention).error();
  Expected<ElementType> weights = convertType("weights", layer.weights);
  if (!weights)
    return std::move(weights).error();
  Expected<MultiHeadAttention::Gate> gate = convertGate(layer.gate);
  if (!gate)
    return std::move(gate).error();
  MultiHeadAttention result{.attention = *attention,
                            .width = layer.width,
                            .outputWidth = getNumber(layer.output_width),
                            .weights = *weights,
                            .hasBias = layer.has_bias,
                            .hasOutputBias = layer.has_output_bias,
                            .sourceWidth = getNumber(layer.source_width),
                            .hasMemory = layer.has_memory,
                            .gate = *gate};
  if (layer.panel_width != 0 || layer.panels_in_pairs)
    result.panels = WeightPanels{.width = layer.panel_width,
                                 .inPairs = layer.panels_in_pairs};
  if (layer.separate_weights)
    result.isFused = false;
  if (const attn_head_norms *norms = layer.head_norms) {
    result.headNorms = HeadNorms{.epsilon = norms->epsilon,
                                 .ofQueriesAndKeys = norms->of_queries_and_keys,
                                 .ofOutput = norms->of_output};
    if (norms->has_layer)
      result.headNorms->layer = norms->layer;
  }
  if (const attn_rotary *rotary = layer.rotary)
    result.rotary = Rotary{.size = rotary->size,
                           .interleaved = rotary->interleaved,
                           .hasPositions = rotary->has_positions};
  if (layer.cache) {
    Expected<LayerCache> cache = convert(*layer.cache);
    if (!cache)
      return std::move(cache).error();
    result.cache = *cache;
  }
  return result;
}

char *attn_multi_head_attention_text(const attn_multi_head_attention *layer,
                                     char **text) {
  if (!text)
    return failNull("text");
  *text = nullptr;
  if (!layer)
    return failNull("layer");
  Expected<MultiHeadAttention> converted = convert(*layer);
  if (!converted)
    return failForC(converted.error());
  return storeForC(writeLayer(*converted, getVerbatim(layer->attention)), text);
}

//===----------------------------------------------------------------------===//
// Multi-token attention
//===----------------------------------------------------------------------===//

static MultiTokenStages convert(const attn_multi_token_stages &stages) {
  MultiTokenStages result{.mixedHeads = getNumber(stages.mixed_heads)};
  if (const attn_multi_token_kernel *kernel = stages.kernel)
    result.kernel = {.queries = kernel->queries,
                     .keys = kernel->keys,
                     .heads = getNumber(kernel->heads)};
  return result;
}

char *
attn_multi_token_attention_text(const attn_multi_token_attention *attention,
                                char **text) {
  if (!text)
    return failNull("text");
  *text = nullptr;
  if (!attention)
    return failNull("attention");
  Expected<Attention> converted = builder::convert(attention->attention);
  if (!converted)
    return failForC(converted.error());
  Expected<ElementType> weights = convertType("weights", attention->weights);
  if (!weights)
    return failForC(weights.error());
  MultiTokenAttention description{.attention = *converted,
                                  .before = convert(attention->before),
                                  .after = convert(attention->after),
                                  .weights = *weights,
                                  .past = attention->past,
                                  .hasGate = attention->has_gate};
  if (const attn_head_norm *norm = attention->head_norm) {
    description.headNorm = HeadNorm{.epsilon = norm->epsilon};
    if (norm->has_layer)
      description.headNorm->layer = norm->layer;
  }
  return storeForC(
      writeMultiTokenAttention(description, getVerbatim(attention->attention)),
      text);
}
