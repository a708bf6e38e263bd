//===- RandomGradients.cpp - Random gradients against the oracle ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// random-gradients [--regions] [--seed N] [--count N] [--type NAME]
//
// The gradients of the kernels of random-specs, and, of every fourth number, of
// multi-token attention, with respect to all tensors of floats, and the
// tangents of the former along all of these: by the CPU pipeline on one thread
// and on two, which must give the same bits, and by the reference, within their
// tolerance of the oracle, which differentiates scores by difference quotients.
// That gives nothing where a score has a kink nearby: in a hundredth of all
// elements at the most, where there are many.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "attn/gradient.h"
#include "runtime/Interpreter/Interpreter.h"
#include "test/Execution/KernelCache.h"
#include "test/Execution/MultiTokenTesting.h"
#include "test/Execution/SpecAnswers.h"
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

using namespace attn;
using namespace attn::reference;
using namespace attn::test;
using std::string;

namespace {

struct Configuration {
  string name;
  Engine engine;
  string pipeline;
};

/// A function that is a derivative, and what its results are called; behind the
/// first `numMain` are those of captures.
struct Derivative {
  string entry;
  std::vector<string> names;
  std::size_t numMain;
  double numOutputs = 0; ///< Elements of the output that a gradient is of.
  double factor = 1;     ///< Of the probabilities that dropout leaves.
};

class Runner {
public:
  Runner(std::vector<Configuration> configurations, const SpecChoice &choice)
      : configurations(std::move(configurations)), choice(choice) {}

  /// Checks the derivatives of one spec. False if something is wrong, which has
  /// been printed.
  bool run(std::uint64_t number);
  /// False if too little was compared.
  bool printSummary() const {
    std::printf("  %.0f of %.0f elements have no derivative\n", numUnknown,
                numElements);
    for (const auto &[name, error] : largestErrors)
      std::printf("  largest error of %s: %.2g\n", name.c_str(), error);
    std::printf("  %" PRIu64 " specs fail as they should\n", numErrors);
    return numElements < 1e6 || numUnknown <= 0.01 * numElements;
  }

private:
  /// Checks one derivative, of inputs of `type`.
  bool check(std::uint64_t number, ElementType type, const string &text,
             const Derivative &derivative,
             const std::vector<Argument> &arguments);
  bool fail(std::uint64_t number, const string &text, const string &message) {
    std::printf(
        "gradient (--seed %" PRIu64 " --count 1%s%s): %s\n%s\n", number,
        choice.onlyRegions ? " --regions" : "",
        choice.type ? (" --type " + string(nameOf(*choice.type))).c_str() : "",
        message.c_str(), text.c_str());
    return false;
  }

  std::vector<Configuration> configurations;
  SpecChoice choice;
  std::uint64_t numErrors = 0;
  double numElements = 0, numUnknown = 0;
  std::map<string, double> largestErrors;
};

/// A kernel with arguments of a call.
struct Sample {
  string text, entry;
  ElementType type;
  std::vector<Argument> arguments;
  std::vector<TestTensor> tensors; ///< That arguments are views of.
  std::vector<std::pair<ElementType, Shape>> results;
  std::optional<Call> call = std::nullopt; ///< The same.
  /// Gradients before those of captures.
  std::size_t numOwn = 3;
  double factor = 1; ///< See `Derivative`.
};

/// Tensors for results.
struct Results {
  std::vector<TestTensor> tensors;
  std::vector<TensorView> views;
};

} // namespace

static Expected<Results> createResults(const Kernel &kernel,
                                       const std::vector<Argument> &arguments) {
  auto shapes = kernel.resultShapes(arguments);
  if (!shapes)
    return shapes.error();
  Results results;
  for (std::size_t i = 0; i < shapes->size(); ++i)
    results.views.push_back(
        results.tensors
            .emplace_back(kernel.signature().results[i].type, (*shapes)[i])
            .mutableView());
  return results;
}

static Answer runGradient(const Kernel &kernel,
                          const std::vector<Argument> &arguments) {
  Answer answer;
  Expected<Results> results = createResults(kernel, arguments);
  if (!results) {
    answer.error = results.error().message;
    return answer;
  }
  if (Status status = kernel.run(arguments, results->views); !status) {
    answer.error = status.error().message;
    return answer;
  }
  for (const TestTensor &tensor : results->tensors)
    answer.results.push_back(tensor.elements());
  return answer;
}

/// What an error may always be in multi-token attention, whose oracle gives
/// scales of errors of its stages' gradients only: where all that another
/// gradient is a sum of cancels, it is no more accurate than that. What dropout
/// leaves is larger by a factor, and with it all that cancels. Those of
/// captures are sums of thousands. They are relative to the sum of the output
/// times its gradient, and gather an error for each of `terms` elements of an
/// output of 16 bits. That is uniform, up to half a unit of numbers that are
/// around 1 at the most, where a row sees one key, with gradients that are
/// standard normal: independent ones have a deviation of at most about `0.21 *
/// sqrt(terms)` units together. The bound is 2.4 times that, where all rows see
/// one key.
static double getSmallest(ElementType type, double terms, double factor) {
  double unit = factor * (type == ElementType::f64   ? 0x1p-30
                          : type == ElementType::f32 ? 0x1p-21
                          : type == ElementType::f16 ? 0x1p-10
                                                     : 0x1p-7);
  if (terms == 0)
    return unit;
  bool isRounded = type == ElementType::f16 || type == ElementType::bf16;
  return unit * (isRounded ? std::max(8.0, std::sqrt(terms) / 2) : 8.0);
}

static Sample createSample(std::uint64_t number, const SpecChoice &choice) {
  if (number % 4 == 0 && !choice.onlyRegions && !choice.type) {
    MultiTokenSample stages = createMultiTokenSample(number / 4);
    const MultiTokenText &text = stages.text;
    const TestTensor &query = stages.tensors[0];
    Shape rows = {query.size(0), text.queryHeads, query.size(2) - text.past},
          output = rows;
    output.push_back(text.valueSize);
    Sample sample = {text.write(),   "f",
                     text.type,      stages.arguments,
                     stages.tensors, {{text.type, output}}};
    if (text.logSumExp)
      sample.results.push_back(
          {text.type == ElementType::f64 ? ElementType::f64 : ElementType::f32,
           rows});
    sample.numOwn += text.stages.size();
    return sample;
  }
  Random random(number * 2), ofCall(number * 2 + 1);
  KernelSpec spec = createKernelSpec(random, choice);
  Call call = createCall(spec, ofCall);
  Sample sample = {spec.text(),      "attention", spec.type,
                   call.arguments(), {},          {}};
  for (const TensorView &result : call.results())
    sample.results.push_back(
        {result.type(), Shape(result.sizes().begin(), result.sizes().end())});
  sample.call.emplace(std::move(call));
  sample.factor = 1 / (1 - spec.dropoutRate.value_or(0));
  return sample;
}

bool Runner::run(std::uint64_t number) {
  Sample sample = createSample(number, choice);
  const string &text = sample.text;
  // Arguments by name.
  Expected<Kernel> forward =
      configurations[0].engine.compile(text, {.pipeline = "reference"});
  if (!forward)
    return fail(number, text, forward.error().message);
  GradientOptions options;
  std::vector<std::pair<ElementType, Shape>> moving;
  const std::vector<Parameter> &parameters = forward->signature().arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].isTensor && isFloat(parameters[i].type)) {
      options.of.push_back(parameters[i].name);
      const TensorView &view = *sample.arguments[i].view();
      moving.emplace_back(view.type(),
                          Shape(view.sizes().begin(), view.sizes().end()));
    }

  Random ofSeeds(number * 2 + 1);
  std::vector<TestTensor> seeds;
  seeds.reserve(sample.results.size() + moving.size());
  auto withSeeds = [&](const std::vector<std::pair<ElementType, Shape>> &like) {
    std::vector<Argument> all = sample.arguments;
    for (const auto &[type, shape] : like) {
      TestTensor &seed = seeds.emplace_back(type, shape);
      seed.fill([&] { return ofSeeds.normal(); });
      all.emplace_back(seed.view());
    }
    return all;
  };

  double numOutputs = 1;
  for (auto size : sample.results[0].second)
    numOutputs *= double(size);
  Derivative gradient{sample.entry + "_gradient", options.of, sample.numOwn,
                      numOutputs, sample.factor},
      tangent{sample.entry + "_tangent",
              {"output", "log-sum-exp"},
              2,
              /*numOutputs=*/0,
              sample.factor};
  Expected<string> reverse = differentiate(text, options);
  if (!reverse)
    return fail(number, text, reverse.error().message);
  if (!check(number, sample.type, *reverse, gradient,
             withSeeds(sample.results)))
    return false;
  if (!sample.call)
    return true;
  Expected<string> along = differentiateForward(text, options);
  if (!along)
    return fail(number, text, along.error().message);
  return check(number, sample.type, *along, tangent, withSeeds(moving));
}

bool Runner::check(std::uint64_t number, ElementType type, const string &text,
                   const Derivative &derivative,
                   const std::vector<Argument> &arguments) {
  std::vector<Answer> answers;
  std::vector<ElementType> types;
  for (const Configuration &configuration : configurations) {
    Expected<Kernel> kernel = configuration.engine.compile(
        text, {.pipeline = configuration.pipeline});
    if (!kernel)
      return fail(number, text,
                  configuration.name + ": " + kernel.error().message);
    answers.push_back(runGradient(*kernel, arguments));
    types.clear();
    for (const Parameter &result : kernel->signature().results)
      types.push_back(result.type);
  }
  Expected<std::vector<ReferenceResult>> expected =
      interpret(text, "gradient.mlir", derivative.entry, arguments);
  string errors;
  bool agree = true;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    agree &= answers[i].error.empty() == bool(expected);
    errors += "\n  " + configurations[i].name + ": " + answers[i].error;
  }
  if (!agree)
    return fail(number, text,
                "they do not fail together:\n  oracle: " +
                    (expected ? "" : expected.error().message) + errors);
  if (!expected) {
    ++numErrors;
    return true;
  }
  if (!haveSameBits(answers[0], answers[1]))
    return fail(number, text, "one thread and two differ");
  for (std::size_t i = 0; i < answers.size(); ++i)
    for (std::size_t r = 0; r < types.size(); ++r) {
      Tolerance tolerance = toleranceFor(types[r], Quantity::gradient),
                ofInputs = toleranceFor(type, Quantity::gradient);
      bool isCapture = r >= derivative.numMain;
      tolerance.bound = std::max(tolerance.bound, ofInputs.bound);
      const ReferenceResult &oracle = (*expected)[r];
      double terms = derivative.numOutputs /
                     std::max<double>(1, answers[i].results[r].size());
      if (oracle.scales.empty())
        tolerance.smallest =
            getSmallest(type, isCapture ? terms : 0, derivative.factor);
      numElements += double(oracle.values.size());
      numUnknown += double(std::ranges::count_if(
          oracle.scales, [](double scale) { return scale < 0; }));
      double &largest =
          largestErrors[derivative.entry + ", " + configurations[i].pipeline +
                        ", " + string(nameOf(type)) + ", result " +
                        (isCapture ? "of a capture" : std::to_string(r))];
      string difference =
          describeDifference(answers[i].results[r], oracle.values, tolerance,
                             &largest, oracle.scales);
      if (!difference.empty())
        return fail(number, text,
                    configurations[i].name + ", " + derivative.names[r] + ": " +
                        difference);
    }
  return true;
}

int main(int argc, char **argv) {
  SpecChoice choice;
  std::uint64_t seed = 1, count = 100;
  bool isRight = true;
  for (int i = 1; i < argc; ++i) {
    string option = argv[i];
    if (option == "--regions") {
      choice.onlyRegions = true;
      continue;
    }
    const char *value = i + 1 < argc ? argv[++i] : nullptr;
    if (!value)
      isRight = false;
    else if (option == "--seed")
      seed = std::strtoull(value, nullptr, 10);
    else if (option == "--count")
      count = std::strtoull(value, nullptr, 10);
    else if (option == "--type") {
      for (ElementType type : {ElementType::f64, ElementType::f32,
                               ElementType::f16, ElementType::bf16})
        if (nameOf(type) == string(value))
          choice.type = type;
      isRight &= choice.type.has_value();
    } else
      isRight = false;
  }
  if (!isRight) {
    std::fprintf(stderr,
                 "usage: %s [--regions] [--seed N] [--count N] "
                 "[--type f64|f32|f16|bf16]\n",
                 argv[0]);
    return 2;
  }
  std::vector<Configuration> configurations;
  for (auto [name, pipeline, threads] :
       {std::tuple("cpu on one thread", "cpu", 1u),
        std::tuple("cpu on two threads", "cpu", 2u),
        std::tuple("reference", "reference", 1u)}) {
    Expected<Engine> engine = Engine::create(
        {.cacheDirectory = getCacheDirectory(), .threads = threads});
    if (!engine) {
      std::fprintf(stderr, "%s\n", engine.error().message.c_str());
      return 1;
    }
    configurations.push_back({name, *engine, pipeline});
  }
  std::printf("seed %" PRIu64 ", %" PRIu64 " gradients\n", seed, count);
  Runner runner(std::move(configurations), choice);
  std::uint64_t failures = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    failures += !runner.run(seed + i);
    std::fflush(stdout);
  }
  std::printf("%" PRIu64 " of %" PRIu64 " gradients failed\n", failures, count);
  if (!runner.printSummary())
    ++failures;
  return failures ? 1 : 0;
}
