//===- Prefill.cpp - Attention over whole sequences -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Measurement.h"

#include <cmath>

using namespace attn;
using namespace attn::bench;

static const Visibility toItself{.before = {}, .after = 0};

static Variant full() { return {}; }

static Variant causal() {
  return {.clauses = "mask causal", .visibility = toItself};
}

/// To itself and the `before` keys before.
static Variant window(Index before) {
  return {.clauses =
              "mask causal, sliding_window(" + std::to_string(before) + ", 0)",
          .visibility = {.before = before, .after = 0}};
}

// The variants below keep exactly the pairs that a causal mask keeps.

static Variant alibi(Index heads) {
  auto slope = [](Index head) { return std::exp2(double(-head - 1)); };
  return {.clauses = "score alibi($slopes : $slopes:) mask causal",
          .visibility = toItself,
          .operands = {{"slopes", ElementType::f32, {heads}, slope}},
          .score = [=](double s, Index h, Index p, Index j) {
            return s - slope(h) * double(std::abs(p - j));
          }};
}

static Variant softcap() {
  return {.clauses = "score softcap(30.0) mask causal",
          .visibility = toItself,
          .score = [](double s, Index, Index, Index) {
            return 30 * std::tanh(s / 30);
          }};
}

/// A bias for each head, in the type of the query.
static Variant bias(Index heads, Index length) {
  // From -1 to 1 in steps that every type holds.
  auto biasAt = [](Index position) {
    std::uint64_t hash = std::uint64_t(position + 1) * 0x9e3779b97f4a7c15;
    return double(std::int64_t(hash >> 57) - 64) / 64;
  };
  return {.clauses = "score bias($bias : $bias:) mask causal",
          .visibility = toItself,
          .operands = {{"bias", std::nullopt, {heads, length, length}, biasAt}},
          .score = [=](double s, Index h, Index p, Index j) {
            return s + biasAt((h * length + p) * length + j);
          }};
}

static Variant prefix() {
  auto none = [](Index) { return 0.0; };
  return {.clauses = "mask prefix_lm($prefix : $prefix:)",
          .visibility = toItself,
          .operands = {{"prefix", ElementType::i32, {1}, none}}};
}

/// One document holds all tokens.
static Variant document(Index length) {
  auto same = [](Index) { return 7.0; };
  return {.clauses = "mask causal, document($queryDocuments, $keyDocuments : "
                     "$queryDocuments:, $keyDocuments:)",
          .visibility = toItself,
          .operands = {{"queryDocuments", ElementType::i32, {1, length}, same},
                       {"keyDocuments", ElementType::i32, {1, length}, same}}};
}

/// One mask for all heads, true everywhere.
static Variant boolean(Index length) {
  auto keep = [](Index) { return 1.0; };
  return {.clauses = "mask causal, boolean($keep : $keep:)",
          .visibility = toItself,
          .operands = {{"keep", ElementType::i1, {length, length}, keep}}};
}

const std::vector<AttentionCase> &bench::getPrefillCases() {
  constexpr bool dynamic = true;
  // Query heads, key/value heads, length, head size.
  static const std::vector<AttentionCase> cases = {
      {"P1", 8, 8, 1024, 64, full()},
      {"P1c", 8, 8, 1024, 64, causal()},
      {"P2c", 32, 8, 2048, 128, causal()},
      {"P2", 32, 8, 2048, 128, full()},
      {"P3w", 8, 8, 4096, 64, window(255)},
      {"P4", 8, 8, 1000, 64, causal(), dynamic},
      {"P4s", 8, 8, 77, 64, causal(), dynamic},
      {"P5", 9, 3, 512, 64, causal()},
      {"P6", 16, 16, 1024, 80, causal()},
      {"P1c-BSHD", 8, 8, 1024, 64, causal(), !dynamic, {}, true},
      {"P2c-BSHD", 32, 8, 2048, 128, causal(), !dynamic, {}, true},
      // Latent attention with the keys and values of all heads.
      {"MLA", 128, 128, 512, 192, causal(), !dynamic, 128},
      {"V-alibi", 8, 8, 1024, 64, alibi(8)},
      {"V-softcap", 8, 8, 1024, 64, softcap()},
      {"V-bias", 8, 8, 1024, 64, bias(8, 1024)},
      {"V-prefix", 8, 8, 1024, 64, prefix()},
      {"V-document", 8, 8, 1024, 64, document(1024)},
      {"V-bool", 8, 8, 1024, 64, boolean(1024)},
  };
  return cases;
}

const AttentionCase &bench::getPrefillCase(const std::string &name) {
  for (const AttentionCase &attention : getPrefillCases())
    if (attention.name == name)
      return attention;
  std::abort();
}

/// What a case's speed is worth mentioning against.
static std::vector<Baseline> getBaselines(const AttentionCase &attention,
                                          ElementType type, unsigned threads) {
  std::vector<Baseline> baselines;
  constexpr std::string_view reordered = "-BSHD";
  if (std::string name = attention.name; name.ends_with(reordered)) {
    name.resize(name.size() - reordered.size());
    baselines.push_back({"vs_dense", getPrefillCase(name), type, threads});
  }
  if (attention.name.starts_with("V-"))
    baselines.push_back({"vs_P1c", getPrefillCase("P1c"), type, threads});
  if (type != ElementType::f32)
    baselines.push_back({"vs_f32", attention, ElementType::f32, threads});
  if (threads > 1)
    baselines.push_back({"vs_1_thread", attention, type, 1});
  return baselines;
}

void bench::registerPrefill(const Options &options) {
  for (const AttentionCase &attention : getPrefillCases())
    for (ElementType type : {ElementType::f32, ElementType::bf16,
                             ElementType::f16, ElementType::f64}) {
      if (type == ElementType::f64 && !attention.name.starts_with("P1"))
        continue;
      for (unsigned threads : {1u, 2u})
        registerMeasurement("prefill",
                            {attention, type, threads,
                             options.alone
                                 ? std::vector<Baseline>()
                                 : getBaselines(attention, type, threads)},
                            options);
    }
}
