//===- AttentionCase.cpp - One attention to measure -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/AttentionCase.h"

#include <algorithm>

using namespace attn;
using namespace attn::bench;

Index AttentionCase::countVisiblePairs() const {
  Index pairs = 0;
  for (Index position = 0; position < length; ++position) {
    const Visibility &visibility = variant.visibility;
    Index first = visibility.before
                      ? std::max(position - *visibility.before, Index(0))
                      : 0;
    Index last = visibility.after
                     ? std::min(position + *visibility.after, numKeys() - 1)
                     : numKeys() - 1;
    pairs += std::max(last - first + 1, Index(0));
  }
  return pairs;
}

static std::string tensorType(const std::vector<std::string> &sizes,
                              ElementType type) {
  std::string text = "tensor<";
  for (const std::string &size : sizes)
    text += size + "x";
  return text + std::string(nameOf(type)) + ">";
}

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

std::string AttentionCase::text(ElementType type, bool logSumExp) const {
  auto toSize = [&](Index size) {
    return dynamicLength ? "?" : std::to_string(size);
  };
  std::string rows = toSize(length), keys = toSize(numKeys());
  auto mainType = [&](Index heads, const std::string &number, Index size) {
    return tensorType(
        {"1", std::to_string(heads), number, std::to_string(size)}, type);
  };
  std::string query = mainType(queryHeads, rows, headSize),
              key = mainType(keyValueHeads, keys, headSize),
              value = mainType(keyValueHeads, keys, valueSize()),
              output = mainType(queryHeads, rows, valueSize());

  std::string arguments =
      "%query: " + query + ", %key: " + key + ", %value: " + value;
  std::string clauses = variant.clauses;
  for (const Operand &operand : variant.operands) {
    std::vector<std::string> sizes;
    for (Index size : operand.sizes)
      sizes.push_back(std::to_string(size));
    std::string operandType = tensorType(sizes, operand.type.value_or(type));
    arguments += ", %" + operand.name + ": " + operandType;
    replaceAll(clauses, "$" + operand.name + ":", operandType);
    replaceAll(clauses, "$" + operand.name, "%" + operand.name);
  }

  if (variant.dropoutRate > 0) {
    arguments += ", %seed: i64, %call: i32";
    clauses = "dropout(" + std::to_string(variant.dropoutRate) +
              ", %seed, %call) " + clauses;
  }

  std::string size, init;
  if (dynamicLength) {
    size = "%length";
    init = "  %c2 = arith.constant 2 : index\n"
           "  %length = tensor.dim %query, %c2 : " +
           query + "\n";
  }
  init += "  %init = tensor.empty(" + size + ") : " + output + "\n";
  std::string outs = "%init", types = output, results = "%output";
  if (logSumExp) {
    std::string sums =
        tensorType({"1", std::to_string(queryHeads), rows},
                   type == ElementType::f64 ? type : ElementType::f32);
    init += "  %lse_init = tensor.empty(" + size + ") : " + sums + "\n";
    outs += ", %lse_init";
    types += ", " + sums;
    results += ", %lse";
  }
  return "func.func @attention(" + arguments + ") -> (" + types + ") {\n" +
         init + "  " + results +
         " = attn.attention\n"
         "      ins(%query, %key, %value : " +
         query + ", " + key + ", " + value + ")\n      outs(" + outs + " : " +
         types + ")\n      " + clauses + "\n  return " + results + " : " +
         types + "\n}\n";
}
