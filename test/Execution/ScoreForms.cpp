//===- ScoreForms.cpp - Scores of the random tests ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/FormCreation.h"
#include "test/Execution/RandomRegions.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;
using std::nullopt;
using std::optional;
using std::string;

static string anyFloat(Random &random) {
  return random.pick<string>({"f64", "f32", "f16", "bf16"});
}

//===----------------------------------------------------------------------===//
// Named scores
//===----------------------------------------------------------------------===//

static ScoreForm createSoftcap(const FormContext &, Random &random) {
  double cap = random.pick<double>({1.5, 5, 30});
  auto bind = [cap](const std::vector<Value> &) -> ScoreFunction {
    return [cap](double s, Index, Index, Index, Index) {
      return cap * std::tanh(s / cap);
    };
  };
  return {"", "softcap(" + std::to_string(cap) + ")", {}, bind};
}

static ScoreForm createSoftcapOperand(const FormContext &context,
                                      Random &random) {
  ArgumentForm cap =
      scalarArgument(context, "cap", anyFloat(random), [](Random &r) -> Value {
        return r.pick<double>({1.5, 5, 30});
      });
  auto bind = [](const std::vector<Value> &values) -> ScoreFunction {
    return [cap = std::get<double>(values[0])](double s, Index, Index, Index,
                                               Index) {
      return cap * std::tanh(s / cap);
    };
  };
  return {"", "softcap(%" + cap.name + " : " + cap.type + ")", {cap}, bind};
}

static ScoreForm createAlibi(const FormContext &context, Random &random) {
  ElementType accumulation = context.accumulation;
  ArgumentForm slopes = tensorArgument(
      context, "slopes", {Dim::head}, anyFloat(random),
      [](const Extents &, Random &r) { return 0.01 * r.between(0, 25); });
  auto bind = [=](const std::vector<Value> &values) -> ScoreFunction {
    return [=, t = values[0]](double s, Index, Index h, Index p, Index j) {
      return s - *element(t, {h}, accumulation) * std::abs(double(p - j));
    };
  };
  return {
      "", "alibi(%" + slopes.name + " : " + slopes.type + ")", {slopes}, bind};
}

static ScoreForm createBiasBy(Dim query, const string &name,
                              const FormContext &context, Random &random) {
  ElementType accumulation = context.accumulation;
  std::vector<Dim> dims = broadcastDims(random, query);
  ArgumentForm bias = tensorArgument(
      context, "bias", dims, anyFloat(random), [](const Extents &, Random &r) {
        return r.chance(0.1) ? -std::numeric_limits<double>::infinity()
                             : r.normal();
      });
  auto bind = [=](const std::vector<Value> &values) -> ScoreFunction {
    return [=, t = values[0]](double s, Index b, Index h, Index p,
                              Index j) -> optional<double> {
      optional<double> term =
          element(t, broadcastIndex(dims, b, h, p, j), accumulation);
      return term ? optional(s + *term) : nullopt;
    };
  };
  return {"",
          name + "(%" + bias.name + " : " + bias.type + ")",
          {bias},
          bind,
          hasPosition(dims),
          /*indexesRow=*/query == Dim::row};
}

static ScoreForm createBias(const FormContext &context, Random &random) {
  return createBiasBy(Dim::position, "bias", context, random);
}

static ScoreForm createBiasRows(const FormContext &context, Random &random) {
  return createBiasBy(Dim::row, "bias rows", context, random);
}

//===----------------------------------------------------------------------===//
// Scores as regions
//===----------------------------------------------------------------------===//

static ScoreForm createAffineScore(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  ArgumentForm factor =
      scalarArgument(context, "factor", type, [](Random &r) -> Value {
        return 0.25 * double(r.between(1, 6));
      });
  ArgumentForm shifts =
      tensorArgument(context, "shifts", {Dim::head}, type,
                     [](const Extents &, Random &r) { return r.normal(); });
  auto bind = [](const std::vector<Value> &values) -> ScoreFunction {
    return [factor = std::get<double>(values[0]),
            t = values[1]](double s, Index, Index h, Index, Index) {
      return s * factor + *tensor(t).get({h});
    };
  };
  return {"",
          "(%s, %b, %h, %p, %j) captures(%f = %" + factor.name + " : " + type +
              ", %t = %" + shifts.name + " : " + shifts.type +
              ") {\n%x = tensor.extract %t[%h] : " + shifts.type +
              "\n%y = math.fma %s, %f, %x : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {factor, shifts},
          bind};
}

/// A table of biases by clamped distance, as T5 has.
static ScoreForm createRelativeBias(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  string tableType =
      "tensor<" + std::to_string(context.queryHeads) + "x9x" + type + ">";
  auto create = [heads = context.queryHeads, element = context.accumulation](
                    const Extents &, Random &random) -> Value {
    TestTensor result(element, {heads, 9});
    result.fill([&] { return random.normal(); });
    return result;
  };
  ArgumentForm table = {context.prefix + "table", tableType, create};
  auto bind = [](const std::vector<Value> &values) -> ScoreFunction {
    return [t = values[0]](double s, Index, Index h, Index p, Index j) {
      return s + *tensor(t).get({h, std::clamp<Index>(p - j, -4, 4) + 4});
    };
  };
  return {"",
          "(%s, %b, %h, %p, %j) captures(%t = %" + table.name + " : " +
              tableType + R"() {
        %four = arith.constant 4 : index
        %minus = arith.constant -4 : index
        %distance = arith.subi %p, %j : index
        %low = arith.maxsi %distance, %minus : index
        %clamped = arith.minsi %low, %four : index
        %column = arith.addi %clamped, %four : index
        %x = tensor.extract %t[%h, %column] : )" +
              tableType + "\n%y = arith.addf %s, %x : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {table},
          bind};
}

static ScoreForm createDistanceDecay(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  auto bind = [](const std::vector<Value> &) -> ScoreFunction {
    return [](double s, Index, Index, Index p, Index j) {
      return s - 0.125 * std::log1p(std::abs(double(p - j)));
    };
  };
  return {"",
          R"((%s, %b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %absolute = math.absi %distance : index
        %integer = arith.index_cast %absolute : index to i64
        %real = arith.sitofp %integer : i64 to )" +
              type + "\n%log = math.log1p %real : " + type +
              "\n%eighth = arith.constant 0.125 : " + type +
              "\n%decay = arith.mulf %log, %eighth : " + type +
              "\n%y = arith.subf %s, %decay : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {},
          bind};
}

static ScoreForm createLocalBoost(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  auto bind = [](const std::vector<Value> &) -> ScoreFunction {
    return [](double s, Index, Index, Index p, Index j) {
      return p - j < 4 ? s : 0.5 * s;
    };
  };
  return {"",
          R"((%s, %b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %four = arith.constant 4 : index
        %near = arith.cmpi slt, %distance, %four : index
        %half = arith.constant 0.5 : )" +
              type + "\n%less = arith.mulf %s, %half : " + type +
              "\n%y = arith.select %near, %s, %less : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {},
          bind};
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

static const Creators<ScoreFunction> scoreCreators = {
    {"softcap", createSoftcap},
    {"softcap of an operand", createSoftcapOperand},
    {"alibi", createAlibi},
    {"bias", createBias},
    {"bias rows", createBiasRows},
    {"score region: affine", createAffineScore},
    {"score region: relative bias", createRelativeBias},
    {"score region: distance decay", createDistanceDecay},
    {"score region: local boost", createLocalBoost},
    {"score region: random", createRandomScore},
};

const std::vector<string> &attn::test::getScoreNames() {
  static const std::vector<string> names = getNames(scoreCreators);
  return names;
}

ScoreForm attn::test::createScore(const string &name,
                                  const FormContext &context, Random &random) {
  ScoreForm result = scoreCreators.at(name)(context, random);
  result.name = name;
  return result;
}
