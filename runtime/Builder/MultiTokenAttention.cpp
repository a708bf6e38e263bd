//===- MultiTokenAttention.cpp - Writes multi-token attention as IR -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/multi_token_attention.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/AttentionWriter.h"
#include "runtime/Builder/Node.h"
#include "runtime/Builder/Parameters.h"

#include <cmath>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

/// So large that no kernel could be stored, and products do not overflow.
static constexpr std::int64_t largestSize = std::int64_t(1) << 30;

static Status checkGroup(const string &member, std::int64_t heads,
                         const Attention &attention) {
  if (heads >= 1 && attention.queryHeads % heads == 0)
    return {};
  return expected(member,
                  "a divisor of queryHeads, which is " +
                      std::to_string(attention.queryHeads),
                  std::to_string(heads));
}

static Status check(const string &member, const MultiTokenStages &stages,
                    const Attention &attention) {
  if (const auto &kernel = stages.kernel) {
    for (auto [name, size] : {std::pair(".kernel.queries", kernel->queries),
                              std::pair(".kernel.keys", kernel->keys)})
      if (size < 1 || size > largestSize)
        return expected(member + name, "1 to 2^30", std::to_string(size));
    if (kernel->keys % 2 == 0)
      return expected(member + ".kernel.keys", "an odd number",
                      std::to_string(kernel->keys));
    if (kernel->heads) {
      if (Status status =
              checkGroup(member + ".kernel.heads", *kernel->heads, attention);
          !status)
        return status;
      if (stages.mixedHeads)
        return expected(member + ".mixedHeads", "none with a kernel with heads",
                        std::to_string(*stages.mixedHeads));
    }
  }
  if (stages.mixedHeads)
    return checkGroup(member + ".mixedHeads", *stages.mixedHeads, attention);
  return {};
}

static Status check(const MultiTokenAttention &description) {
  const Attention &attention = description.attention;
  if (Status checked = builder::check(attention); !checked)
    return checked;
  if (attention.sequences)
    return expected("attention.sequences", "none in multi-token attention",
                    "one");
  if (attention.isBatchInvariant)
    return expected("attention.isBatchInvariant",
                    "false in multi-token attention", "true");
  if (attention.queryHeads > largestSize)
    return expected("attention.queryHeads", "at most 2^30",
                    std::to_string(attention.queryHeads));
  for (auto [member, stages] : {std::pair("before", &description.before),
                                std::pair("after", &description.after)})
    if (Status status = check(member, *stages, attention); !status)
      return status;
  bool isDouble = attention.type == ElementType::f64;
  if (!isFloat(description.weights) ||
      (description.weights == ElementType::f64 && !isDouble))
    return expected("weights",
                    string(isDouble ? "f64, " : "") + "f32, f16 or bf16",
                    string(nameOf(description.weights)));
  if (description.past < 0 || (attention.queryLength != dynamic &&
                               description.past > attention.queryLength))
    return expected("past",
                    attention.queryLength == dynamic
                        ? string("at least 0")
                        : "0 to the query length, which is " +
                              std::to_string(attention.queryLength),
                    std::to_string(description.past));
  if (const auto &norm = description.headNorm) {
    double epsilon = isDouble ? norm->epsilon : double(float(norm->epsilon));
    if (!(epsilon > 0 && std::isfinite(epsilon)))
      return expected("headNorm.epsilon",
                      string("a number that is positive and finite in ") +
                          (isDouble ? "f64" : "f32"),
                      writeNumber(norm->epsilon));
    if (norm->layer.value_or(0) < 0)
      return expected("headNorm.layer", "at least 0",
                      std::to_string(*norm->layer));
  }
  return {};
}

static void addStages(Additions &additions, const string &side,
                      const MultiTokenStages &stages, std::int64_t heads,
                      ElementType type) {
  auto add = [&](const string &keyword, const string &name,
                 std::vector<std::int64_t> shape) {
    additions.stages.emplace_back(
        keyword + "_" + side,
        DeclarationPtr({name + "_" + side, type, true, std::move(shape)}));
  };
  if (const auto &kernel = stages.kernel) {
    std::vector<std::int64_t> shape = {heads, kernel->queries, kernel->keys};
    if (kernel->heads)
      shape.insert(shape.begin() + 1, *kernel->heads);
    add("convolve", "kernel", shape);
  }
  if (auto mixed = stages.mixedHeads)
    add("mix", "mixing", {heads / *mixed, *mixed, *mixed});
}

/// output * sigmoid(gate)
static string writeGate(const Additions::Append &append, const string &output,
                        const string &empty, const string &type,
                        const Declaration &gate, const Attention &attention) {
  string element(nameOf(attention.type)), ofGate(nameOf(gate.type)),
      sums(nameOf(getAccumulationType(attention)));
  string one = append("arith.constant 1.0 : " + sums);
  auto widen = [&](const string &name, const string &from) {
    return from == sums ? ""
                        : "    %wide_" + name + " = arith.extf %" + name +
                              " : " + from + " to " + sums + "\n";
  };
  string x = element == sums ? "%x" : "%wide_x",
         g = ofGate == sums ? "%g" : "%wide_g",
         narrow = element == sums
                      ? ""
                      : "    %narrow = arith.truncf %gated : " + sums + " to " +
                            element + "\n";
  return append(
      "linalg.generic {\n      indexing_maps = [affine_map<(b, h, i, d) -> (b, "
      "h, i, d)>, affine_map<(b, h, i, d) -> (b, h, i)>, affine_map<(b, h, i, "
      "d) -> (b, h, i, d)>],\n      iterator_types = [\"parallel\", "
      "\"parallel\", \"parallel\", \"parallel\"]}\n      ins(" +
      output + ", %gate : " + type + ", " + writeType(gate) + ") outs(" +
      empty + " : " + type + ") {\n  ^bb0(%x: " + element + ", %g: " + ofGate +
      ", %o: " + element + "):\n" + widen("x", element) + widen("g", ofGate) +
      "    %negated = arith.negf " + g + " : " + sums +
      "\n    %power = math.exp %negated : " + sums +
      "\n    %divisor = arith.addf %power, " + one + " : " + sums +
      "\n    %gated = arith.divf " + x + ", %divisor : " + sums + "\n" +
      narrow + "    linalg.yield " + (element == sums ? "%gated" : "%narrow") +
      " : " + element + "\n  } -> " + type);
}

Expected<string>
builder::writeMultiTokenAttention(const MultiTokenAttention &description,
                                  const Verbatim &verbatim) {
  if (Status checked = ::check(description); !checked)
    return std::move(checked).error();
  const Attention &attention = description.attention;
  ElementType weights = description.weights;
  std::int64_t heads = attention.queryHeads, past = description.past;
  const std::optional<HeadNorm> &headNorm = description.headNorm;
  Additions additions;
  additions.verbatim = verbatim;
  additions.operation = "attn.multi_token_attention";
  additions.past = past;
  addStages(additions, "before", description.before, heads, weights);
  addStages(additions, "after", description.after, heads, weights);
  Declaration weight{"head_norm",
                     weights,
                     true,
                     {attention.valueHeadSize.value_or(attention.headSize)}};
  Declaration gate{"gate",
                   weights,
                   true,
                   {attention.batch, heads,
                    attention.queryLength == dynamic
                        ? dynamic
                        : attention.queryLength - past}};
  if (headNorm)
    additions.moreArguments.emplace_back(weight);
  if (description.hasGate)
    additions.moreArguments.emplace_back(gate);
  additions.finish = [&](const Additions::Append &append, string output,
                         const string &empty, const string &type) {
    if (headNorm)
      output = append(
          "attn.head_norm ins(" + output + ", %head_norm : " + type + ", " +
          writeType(weight) + ")\n      outs(" + empty + " : " + type +
          ") epsilon(" + writeNumber(headNorm->epsilon) + ")" +
          (headNorm->layer ? " layer(" + std::to_string(*headNorm->layer) + ")"
                           : ""));
    return description.hasGate
               ? writeGate(append, output, empty, type, gate, attention)
               : output;
  };
  return writeAttention(attention, additions);
}

Expected<string> MultiTokenAttention::text() const {
  return writeMultiTokenAttention(*this, {});
}
