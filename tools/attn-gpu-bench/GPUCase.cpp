//===- GPUCase.cpp - One attention on a GPU -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-gpu-bench/GPUCase.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::gpubench;

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

static bool isPast(Index p, Index j) { return j <= p; }
static Index countPast(Index p) { return p + 1; }

static Pattern full() { return {"full", "", nullptr, nullptr, nullptr}; }
static Pattern causal() {
  return {"causal", "mask causal", isPast, countPast, nullptr};
}

static std::function<double(double)> softcapBy(double cap) {
  return [cap](double s) { return cap * std::tanh(s / cap); };
}

static Pattern softcap() {
  return {"softcap", "score softcap(30.0) mask causal", isPast, countPast,
          softcapBy(30)};
}

/// To itself and the `before` keys before.
static Pattern window(Index before) {
  return {"window",
          "mask causal, sliding_window(" + std::to_string(before) + ", 0)",
          [=](Index p, Index j) { return j <= p && p - j <= before; },
          [=](Index p) { return std::min(p, before) + 1; }, nullptr};
}

static Pattern softcapInWindow() {
  Pattern pattern = window(50);
  return {"softcap-window", "score softcap(20.0) " + pattern.clauses,
          pattern.sees, pattern.countSeen, softcapBy(20)};
}

/// All see the first 1024 keys.
static Pattern prefix() {
  return {"prefix",
          R"(mask (%b, %h, %p, %j) {
        %count = arith.constant 1024 : index
        %early = arith.cmpi slt, %j, %count : index
        %past = arith.cmpi sle, %j, %p : index
        %keep = arith.ori %early, %past : i1
        attn.yield %keep : i1
      })",
          [](Index p, Index j) { return j < 1024 || j <= p; },
          [](Index p) { return std::max<Index>(p + 1, 1024); }, nullptr};
}

/// Every fourth key.
static Pattern dilated() {
  return {"dilated",
          R"(mask (%b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %four = arith.constant 4 : index
        %zero = arith.constant 0 : index
        %rest = arith.remsi %distance, %four : index
        %on = arith.cmpi eq, %rest, %zero : index
        %past = arith.cmpi sle, %j, %p : index
        %keep = arith.andi %on, %past : i1
        attn.yield %keep : i1
      })",
          [](Index p, Index j) { return j <= p && (p - j) % 4 == 0; },
          [](Index p) { return p / 4 + 1; }, nullptr};
}

//===----------------------------------------------------------------------===//
// A case
//===----------------------------------------------------------------------===//

const char *gpubench::nameOf(Family family) {
  switch (family) {
  case Family::check:
    return "check";
  case Family::longer:
    return "long";
  case Family::prefill:
    return "prefill";
  case Family::decode:
    return "decode";
  case Family::variant:
    return "variant";
  }
  return "?";
}

std::string GPUCase::name() const {
  std::string length = "S" + std::to_string(keys);
  if (queries == 1)
    length = "1x" + length;
  return std::string(nameOf(family)) + "/D" + std::to_string(headSize) + "-" +
         length + "-" + std::string(attn::nameOf(type)) + "-" + pattern.name;
}

std::string GPUCase::text() const {
  auto spell = [&](const std::vector<Index> &sizes) {
    std::string result = "tensor<";
    for (std::size_t i = 0; i < sizes.size(); ++i)
      result += (i == 2 && hasAnyLength ? "?" : std::to_string(sizes[i])) +
                std::string("x");
    return result + std::string(attn::nameOf(type)) + ">";
  };
  std::string query = spell(querySizes()), key = spell(keySizes()), init;
  if (hasAnyLength)
    init = "  %two = arith.constant 2 : index\n"
           "  %length = tensor.dim %query, %two : " +
           query + "\n  %init = tensor.empty(%length) : " + query + "\n";
  else
    init = "  %init = tensor.empty() : " + query + "\n";
  return "func.func @attention(%query: " + query + ", %key: " + key +
         ", %value: " + key + ") -> " + query + " {\n" + init +
         "  %output = attn.attention ins(%query, %key, %value : " + query +
         ", " + key + ", " + key +
         ")\n"
         "      outs(%init : " +
         query + ") " + pattern.clauses +
         "\n"
         "  return %output : " +
         query + "\n}\n";
}

double GPUCase::work() const {
  if (family == Family::decode)
    return 2.0 * double(batches * keyValueHeads * keys * headSize) *
           double(sizeOf(type)) * 1e-6;
  Index pairs = 0;
  for (Index p = 0; p < queries; ++p)
    pairs += pattern.countSeen ? std::min(pattern.countSeen(p), keys) : keys;
  return 4.0 * double(pairs) * double(batches * queryHeads * headSize) * 1e-9;
}

void GPUCase::describe(reference::AttentionProblem &problem) const {
  if (pattern.sees)
    problem.mask = [this](Index, Index, Index p, Index j) {
      return std::optional(pattern.sees(p, j));
    };
  if (pattern.score)
    problem.score = [this](double s, Index, Index, Index, Index) {
      return std::optional(pattern.score(s));
    };
}

//===----------------------------------------------------------------------===//
// All cases
//===----------------------------------------------------------------------===//

std::vector<GPUCase> gpubench::listCases() {
  using enum ElementType;
  std::vector<GPUCase> cases;
  // Of lengths that no tile has.
  for (ElementType type : {f16, bf16, f32})
    for (Index size : {64, 80, 128, 256})
      for (const Pattern &pattern : {full(), causal(), softcapInWindow()})
        cases.push_back({Family::check, type, 2, 4, 2, 133, 201, size, pattern,
                         /*hasAnyLength=*/true});
  for (ElementType type : {f16, f32})
    for (Index size : {64, 80, 128, 256})
      cases.push_back({Family::check, type, 2, 8, 2, 1, 201, size, full()});
  for (ElementType type : {f16, bf16})
    for (Index size : {64, 128}) {
      for (const Pattern &pattern : {full(), causal()})
        cases.push_back(
            {Family::longer, type, 1, 2, 1, 32777, 32777, size, pattern});
      cases.push_back({Family::longer, type, 2, 8, 1, 1, 131101, size, full()});
    }
  // 16k tokens of 2048 elements, as the papers on FlashAttention have them.
  for (Index size : {64, 128, 256})
    for (Index length : {2048, 8192}) {
      auto add = [&](ElementType type, const Pattern &pattern) {
        cases.push_back({Family::prefill, type, 16384 / length, 2048 / size,
                         2048 / size, length, length, size, pattern});
      };
      add(f16, full());
      add(f16, causal());
      add(bf16, full());
    }
  for (Index length : {4096, 16384})
    cases.push_back({Family::decode, f16, 16, 32, 8, 1, length, 128, full()});
  for (const Pattern &pattern : {softcap(), window(1023), prefix(), dilated()})
    cases.push_back(
        {Family::variant, f16, 2, 16, 16, 8192, 8192, 128, pattern});
  return cases;
}
