//===- SpecText.cpp - The text of a random kernel -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Specs.h"

#include <cstdio>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {
/// Writes a kernel.
class KernelWriter {
public:
  explicit KernelWriter(const KernelSpec &spec) : spec(spec) {}

  string write() {
    const KernelSpec::FixedSizes &sizes = spec.fixedSizes;
    string query =
        tensor({sizes.batch, spec.queryHeads, sizes.queryLength, spec.keySize});
    std::optional<Index> keyBatch = sizes.batch;
    if (spec.ragged == KernelSpec::Ragged::packedQueries)
      keyBatch = std::nullopt;
    string key =
        tensor({keyBatch, spec.keyValueHeads, sizes.keyLength, spec.keySize});
    string value =
        tensor({keyBatch, spec.keyValueHeads, sizes.keyLength, spec.valueSize});
    string output =
        tensor({std::nullopt, spec.queryHeads, std::nullopt, spec.valueSize});
    string lse = "tensor<?x" + std::to_string(spec.queryHeads) + "x?x" +
                 string(nameOf(spec.accumulation())) + ">";
    string types = output + (spec.logSumExp ? ", " + lse : "");

    parameters = "%query: " + query + ", %key: " + key + ", %value: " + value;
    string clauses = writeClauses();
    string results = spec.logSumExp ? "%0#0, %0#1" : "%0";
    return "func.func @attention(" + parameters + ")\n    -> (" + types +
           ") {\n  %c0 = arith.constant 0 : index\n"
           "  %c2 = arith.constant 2 : index\n"
           "  %batch = tensor.dim %query, %c0 : " +
           query + "\n  %length = tensor.dim %query, %c2 : " + query +
           "\n  %empty = tensor.empty(%batch, %length) : " + output +
           (spec.logSumExp
                ? "\n  %emptyLSE = tensor.empty(%batch, %length) : " + lse
                : "") +
           "\n  %0" + (spec.logSumExp ? ":2" : "") +
           " = attn.attention\n      ins(%query, %key, %value : " + query +
           ", " + key + ", " + value + ")\n      outs(%empty" +
           (spec.logSumExp ? ", %emptyLSE" : "") + " : " + types + ")" +
           clauses + "\n  return " + results + " : " + types + "\n}\n";
  }

private:
  string tensor(const std::vector<std::optional<Index>> &sizes) {
    string result = "tensor<";
    for (std::optional<Index> size : sizes)
      result += (size ? std::to_string(*size) : "?") + "x";
    return result + string(nameOf(spec.type)) + ">";
  }

  void addParameter(const string &name, const string &type) {
    parameters += ",\n    %" + name + ": " + type;
  }

  /// "\n      keyword(%name : type)", and the parameter.
  string writeOperand(const string &keyword, const string &type) {
    addParameter(keyword, type);
    return "\n      " + keyword + "(%" + keyword + " : " + type + ")";
  }

  string writeClauses() {
    string result;
    if (spec.scale == KernelSpec::Scale::constant) {
      char number[32];
      std::snprintf(number, sizeof(number), "%.17e", spec.scaleFactor);
      result += "\n      scale(" + string(number) + ")";
    } else if (spec.scale == KernelSpec::Scale::operand) {
      result += writeOperand("scale", string(nameOf(spec.accumulation())));
    }
    if (spec.offset == KernelSpec::Offset::bottomRight)
      result += "\n      offset(bottom_right)";
    else if (spec.offset == KernelSpec::Offset::scalar)
      result += writeOperand("offset", spec.offsetType);
    else if (spec.offset == KernelSpec::Offset::perBatch)
      result += writeOperand("offset", "tensor<?x" + spec.offsetType + ">");
    if (spec.sink)
      result +=
          writeOperand("sink", "tensor<" + std::to_string(spec.queryHeads) +
                                   "x" + string(nameOf(*spec.sink)) + ">");
    if (spec.ragged == KernelSpec::Ragged::counts)
      result += writeOperand("counts", "tensor<?x" + spec.countsType + ">");
    if (spec.ragged == KernelSpec::Ragged::packedQueries)
      result += writeOperand("sequences", "tensor<?xi32>");
    if (spec.ragged == KernelSpec::Ragged::packed) {
      addParameter("cumulative_query", "tensor<?xi32>");
      addParameter("cumulative_key", "tensor<?xi32>");
      result += "\n      sequences(%cumulative_query, %cumulative_key : "
                "tensor<?xi32>, tensor<?xi32>)";
    }
    if (spec.dropoutRate) {
      addParameter("seed", "i64");
      addParameter("call", "i32");
      result += "\n      dropout(" + std::to_string(*spec.dropoutRate) +
                ", %seed, %call)";
    }
    return result + writeForms("score", spec.scores) +
           writeForms("mask", spec.masks);
  }

  template <typename Form>
  string writeForms(const string &keyword, const std::vector<Form> &forms) {
    string result;
    for (const Form &form : forms) {
      result +=
          (result.empty() ? "\n      " + keyword + " " : ", ") + form.spelling;
      for (const ArgumentForm &argument : form.arguments)
        addParameter(argument.name, argument.type);
    }
    return result;
  }

  const KernelSpec &spec;
  string parameters;
};
} // namespace

string KernelSpec::text() const { return KernelWriter(*this).write(); }
