//===- Layers.cpp - Layers and steps on caches in Python ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Layers.h"

#include "python/src/Attention.h"
#include "python/src/Types.h"
#include "python/src/Values.h"

#include "attn/multi_head_attention.h"
#include "attn/multi_token_attention.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <variant>

namespace nb = nanobind;
using namespace nb::literals;
using namespace attn;
using namespace attn::python;
using std::string;

using Size = std::optional<std::int64_t>;

template <typename... Kinds>
static std::optional<string> findTextOf(nb::handle source) {
  std::optional<string> text;
  auto find = [&]<typename Kind>() {
    if (!text && nb::isinstance<Kind>(source))
      text = unwrapText(nb::cast<const Kind &>(source).text());
  };
  (find.template operator()<Kinds>(), ...);
  return text;
}

std::optional<string> python::findText(nb::handle source) {
  return findTextOf<Attention, CachedAttention, MultiHeadAttention,
                    MultiTokenAttention>(source);
}

template <typename Kind> static string writeTextOf(const Kind &kind) {
  return unwrapText(kind.text());
}

static Size toPageSize(nb::handle object) {
  const string expected = "page_size: expected a positive int, 'any' or None";
  if (object.is_none())
    return std::nullopt;
  if (nb::isinstance<nb::str>(object)) {
    auto text = nb::cast<string>(object);
    if (text != "any")
      throw nb::value_error((expected + ", got '" + text + "'").c_str());
    return dynamic;
  }
  std::int64_t size = toInteger(object, expected);
  if (size <= 0)
    throw nb::value_error((expected + ", got " + std::to_string(size)).c_str());
  return size;
}

static void bindCache(nb::module_ &module) {
  nb::class_<LayerCache>(module, "LayerCache",
                         "The caches of a CachedAttention or a layer.")
      .def(
          "__init__",
          [](LayerCache *self, const std::optional<string> &type, bool ring,
             nb::object pageSize, bool counts) {
            LayerCache cache{.isRing = ring, .hasCounts = counts};
            if (type)
              cache.type = parseType("type", *type);
            cache.pageSize = toPageSize(pageSize);
            new (self) LayerCache(cache);
          },
          nb::kw_only(), "type"_a = nb::none(), "ring"_a = false,
          "page_size"_a = nb::none(), "counts"_a = false,
          R"(``type`` is that of the attention if it is None, a narrower float, or i8 with a
scale for each row. Rows are contiguous, a ``ring``, or in pages of ``page_size``
rows, 'any' if only a call knows how many, which a table gives to sequences. With
``counts``, how many of its tokens are new is said for each sequence.)");

  nb::class_<CachedAttention>(module, "CachedAttention",
                              R"(A step of attention on caches.

It appends new keys and values, and attends to all that is stored. Its kernel takes,
as far as there are, ``query`` (B, heads, S, head_size), ``key`` and ``value``
(B, kv_heads, S, ...), the new ones, ``key_cache`` and ``value_cache``, which it
updates in place, (B, kv_heads, capacity, ...) or (pages, kv_heads, page_size, ...),
``key_scales`` and ``value_scales``, the same without the last dimension, f32,
``lengths`` (B) i32, the rows that are in them, ``counts`` (B) i32, ``sequences``
(B + 1) i32, ``size`` i64, ``table`` (B, pages of a sequence) i32, and what the
attention mentions. It gives the output (B, heads, S, value_head_size).)")
      .def(
          "__init__",
          [](CachedAttention *self, const Attention &attention,
             const LayerCache &cache, bool packed) {
            new (self) CachedAttention{
                .attention = attention, .cache = cache, .isPacked = packed};
          },
          "attention"_a, nb::kw_only(), "cache"_a = LayerCache(),
          "packed"_a = false,
          R"(The attention has neither a key length nor an offset nor sequences. With
``packed``, queries, new keys and values have a batch of 1 and the rows of all
sequences, one after the other.)")
      .def("text", &writeTextOf<CachedAttention>,
           "The kernel in the ``attn`` dialect.");
}

static void bindLayer(nb::module_ &module) {
  nb::class_<Rotary>(module, "Rotary",
                     "Rotates queries and keys by their positions.")
      .def(
          "__init__",
          [](Rotary *self, std::int64_t size, bool interleaved,
             bool positions) {
            new (self) Rotary{size, interleaved, positions};
          },
          "size"_a, nb::kw_only(), "interleaved"_a = false,
          "positions"_a = false,
          R"(Of the first ``size`` elements of a head, with pairs (2k, 2k + 1) if they are
``interleaved`` and otherwise halves, by tables (positions, size / 2) of f32. With
``positions``, every token's is an argument.)");

  nb::class_<HeadNorms>(
      module, "HeadNorms",
      "Normalises heads by the root of their mean square, times weights.")
      .def(
          "__init__",
          [](HeadNorms *self, double epsilon, bool ofQueriesAndKeys,
             bool ofOutput, Size layer) {
            new (self) HeadNorms{epsilon, ofQueriesAndKeys, ofOutput, layer};
          },
          "epsilon"_a, nb::kw_only(), "queries_and_keys"_a = true,
          "output"_a = false, "layer"_a = nb::none());

  nb::class_<WeightPanels>(
      module, "WeightPanels",
      R"(Weights (rows, columns) as panels of columns, (ceil(columns / width), rows, width),
or with pairs of rows side by side, (ceil(columns / width), rows / 2, width, 2).)")
      .def(
          "__init__",
          [](WeightPanels *self, std::int64_t width, bool inPairs) {
            new (self) WeightPanels{width, inPairs};
          },
          "width"_a, nb::kw_only(), "in_pairs"_a = false);

  nb::class_<MultiHeadAttention>(module, "MultiHeadAttention",
                                 R"(A layer of multi-head attention.

Its kernel takes, as far as there are, ``input`` (B, S, width), ``source`` (B, Skv,
source_width) or finished ``key`` and ``value``, ``qkv_weight`` or ``query_weight``,
``key_weight`` and ``value_weight``, ``output_weight``, ``gate_weight``, each
(features, columns) or panels of it, ``query_norm``, ``key_norm``, ``output_norm``,
``cosine`` and ``sine``, ``positions``, the arguments of a cache as of
CachedAttention, and what the attention mentions. A weight of i8 is followed by its
scales (``qkv_weight_scales``), one with a bias by that (``qkv_weight_bias``). It
gives the output (B, S, output_width).)")
      .def(
          "__init__",
          [](MultiHeadAttention *self, const Attention &attention,
             std::int64_t width, Size outputWidth, const string &weights,
             std::optional<WeightPanels> panels, std::optional<bool> fused,
             bool bias, bool outputBias, Size sourceWidth, bool memory,
             const std::optional<string> &gate,
             std::optional<HeadNorms> headNorms, std::optional<Rotary> rotary,
             std::optional<LayerCache> cache, double outputDropout) {
            using Gate = MultiHeadAttention::Gate;
            Gate kind = Gate::none;
            if (gate == "heads")
              kind = Gate::ofHeads;
            else if (gate == "elements")
              kind = Gate::ofElements;
            else if (gate)
              throw nb::value_error(("gate: expected 'heads', 'elements' or "
                                     "None, got '" +
                                     *gate + "'")
                                        .c_str());
            new (self)
                MultiHeadAttention{.attention = attention,
                                   .width = width,
                                   .outputWidth = outputWidth,
                                   .weights = parseType("weights", weights),
                                   .panels = panels,
                                   .isFused = fused,
                                   .hasBias = bias,
                                   .hasOutputBias = outputBias,
                                   .sourceWidth = sourceWidth,
                                   .hasMemory = memory,
                                   .gate = kind,
                                   .headNorms = headNorms,
                                   .rotary = rotary,
                                   .cache = cache,
                                   .outputDropout = outputDropout};
          },
          "attention"_a, nb::kw_only(), "width"_a,
          "output_width"_a = nb::none(), "weights"_a = "f32",
          "panels"_a = nb::none(), "fused"_a = nb::none(), "bias"_a = false,
          "output_bias"_a = false, "source_width"_a = nb::none(),
          "memory"_a = false, "gate"_a = nb::none(),
          "head_norms"_a = nb::none(), "rotary"_a = nb::none(),
          "cache"_a = nb::none(), "output_dropout"_a = 0.0,
          R"(``width`` is that of the input, and of the output unless ``output_width`` says
another. ``weights`` are f32, f16, bf16 or i8, or f64 if the attention is, one of
queries, keys and values if they are ``fused``, which None is unless keys come from
elsewhere: from a source of ``source_width``, or as finished arguments with
``memory``. Sigmoids of a ``gate`` multiply 'heads' or 'elements'.)")
      .def("text", &writeTextOf<MultiHeadAttention>,
           "The kernel in the ``attn`` dialect.");
}

static void bindMultiToken(nb::module_ &module) {
  using Stages = MultiTokenStages;
  nb::class_<Stages>(module, "MultiTokenStages",
                     "Convolutions and mixtures of scores or probabilities.")
      .def(
          "__init__",
          [](Stages *self, Size queries, Size keys, Size heads,
             Size mixedHeads) {
            Stages stages{.mixedHeads = mixedHeads};
            if (queries || keys || heads)
              stages.kernel = Stages::Kernel{.queries = queries.value_or(1),
                                             .keys = keys.value_or(1),
                                             .heads = heads};
            new (self) Stages(stages);
          },
          nb::kw_only(), "queries"_a = nb::none(), "keys"_a = nb::none(),
          "heads"_a = nb::none(), "mixed_heads"_a = nb::none(),
          R"(Sums over a query and ``queries - 1`` before it and over ``keys``, an odd
number, around a key, with ``heads`` also over those of a group of so many; and
sums over groups of ``mixed_heads``. What is None is left out.)");

  nb::class_<HeadNorm>(module, "HeadNorm",
                       "Normalises heads of the output of a "
                       "MultiTokenAttention.")
      .def(
          "__init__",
          [](HeadNorm *self, double epsilon, Size layer) {
            new (self) HeadNorm{epsilon, layer};
          },
          "epsilon"_a = HeadNorm().epsilon, nb::kw_only(),
          "layer"_a = nb::none());

  nb::class_<MultiTokenAttention>(
      module, "MultiTokenAttention",
      R"(Multi-token attention, in which weights depend on several queries, keys and heads.

``text()`` shows what its kernel takes.)")
      .def(
          "__init__",
          [](MultiTokenAttention *self, const Attention &attention,
             const Stages &before, const Stages &after, const string &weights,
             std::int64_t past, std::optional<HeadNorm> headNorm, bool gate) {
            new (self)
                MultiTokenAttention{.attention = attention,
                                    .before = before,
                                    .after = after,
                                    .weights = parseType("weights", weights),
                                    .past = past,
                                    .headNorm = headNorm,
                                    .hasGate = gate};
          },
          "attention"_a, nb::kw_only(), "before"_a = Stages(),
          "after"_a = Stages(), "weights"_a = "f32", "past"_a = 0,
          "head_norm"_a = nb::none(), "gate"_a = false,
          R"(Stages ``before`` the softmax are on scores, those ``after`` it on
probabilities. The first ``past`` rows of the query are only read by convolutions of
later ones.)")
      .def("text", &writeTextOf<MultiTokenAttention>,
           "The kernel in the ``attn`` dialect.");
}

void python::bindLayers(nb::module_ &module) {
  bindCache(module);
  bindLayer(module);
  bindMultiToken(module);
}
