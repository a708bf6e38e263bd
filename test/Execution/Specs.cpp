//===- Specs.cpp - Random kernels and calls of them -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Specs.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;
using reference::AttentionProblem;
using std::string;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

bool KernelSpec::indexesPosition() const {
  auto indexes = [](const auto &form) { return form.indexesPosition; };
  return std::any_of(scores.begin(), scores.end(), indexes) ||
         std::any_of(masks.begin(), masks.end(), indexes);
}

std::optional<Index> KernelSpec::decodedRows() const {
  Index rows = queryHeads / keyValueHeads * fixedSizes.queryLength.value_or(0);
  if (rows < 1 || rows > 16 || packed || dropoutRate ||
      type == ElementType::f64)
    return std::nullopt;
  return rows;
}

static void chooseShapes(KernelSpec &spec, Random &random,
                         std::optional<ElementType> type) {
  spec.type = random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                        ElementType::f32, ElementType::f16,
                                        ElementType::bf16});
  spec.type = type.value_or(spec.type);
  spec.keyValueHeads = random.pick<Index>({1, 1, 2, 3, 4});
  spec.queryHeads = spec.keyValueHeads * random.pick<Index>({1, 1, 2, 3, 4});
  spec.keySize =
      random.pick<Index>({1, 2, 5, 6, 8, 16, 17, 32, 48, 64, 80, 128});
  spec.valueSize = random.chance(0.5)
                       ? spec.keySize
                       : random.pick<Index>({1, 3, 4, 7, 16, 40});
}

static void chooseOperands(KernelSpec &spec, Random &random) {
  spec.scale = random.pick<KernelSpec::Scale>(
      {KernelSpec::Scale::byDefault, KernelSpec::Scale::byDefault,
       KernelSpec::Scale::constant, KernelSpec::Scale::operand});
  spec.offset = random.pick<KernelSpec::Offset>(
      {KernelSpec::Offset::none, KernelSpec::Offset::scalar,
       KernelSpec::Offset::perBatch, KernelSpec::Offset::bottomRight});
  spec.offsetType = random.pick<string>({"index", "i32", "i64"});
  if (random.chance(0.3))
    spec.sink = random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                          ElementType::f16, ElementType::bf16});
  if (spec.type != ElementType::f64 && spec.sink == ElementType::f64)
    spec.sink = ElementType::f32; // No wider than the accumulation type.
  spec.logSumExp = random.chance(0.6);
  spec.packed = random.chance(0.25);
  if (random.chance(0.2))
    spec.dropoutRate = random.pick<double>({0, 0.1, 0.5, 0.9});
}

/// What few queries for each key/value head are computed for in a way of their
/// own.
static void chooseDecoding(KernelSpec &spec, Random &random) {
  spec.queryHeads = spec.keyValueHeads * random.pick<Index>({1, 2, 3, 4, 8});
  spec.keySize = random.pick<Index>({16, 32, 48, 64, 80, 128});
  spec.valueSize =
      random.chance(0.7) ? spec.keySize : random.pick<Index>({8, 16, 40, 96});
  spec.packed = false;
  spec.dropoutRate.reset();
  if (random.chance(0.6))
    spec.sink.reset();
}

/// Types and head sizes that matrices on GPUs have.
static void restrictToGPU(KernelSpec &spec, Random &random,
                          std::optional<ElementType> type) {
  spec.type = type.value_or(random.pick<ElementType>(
      {ElementType::f16, ElementType::bf16, ElementType::f32}));
  spec.keySize = random.pick<Index>({16, 32, 48, 64, 80, 128, 256});
  spec.valueSize =
      random.chance(0.7) ? spec.keySize : random.pick<Index>({16, 32, 48, 96});
  spec.dropoutRate.reset();
  if (spec.sink == ElementType::f64)
    spec.sink = ElementType::f32;
}

static void chooseForms(KernelSpec &spec, Random &random) {
  Index scores = random.pick<Index>({0, 0, 1, 1, 1, 2, 3});
  Index masks = random.pick<Index>({0, 1, 1, 1, 1, 2, 3});
  for (Index i = 0; i < scores; ++i)
    spec.scores.push_back(createScore(random.pick(getScoreNames()),
                                      {spec.queryHeads, spec.accumulation(),
                                       "score" + std::to_string(i) + "_"},
                                      random));
  for (Index i = 0; i < masks; ++i)
    spec.masks.push_back(createMask(random.pick(getMaskNames()),
                                    {spec.queryHeads, spec.accumulation(),
                                     "mask" + std::to_string(i) + "_"},
                                    random));
}

/// Mostly short, sometimes of several tiles and blocks; what i8 can hold.
static Index pickLength(Random &random) {
  static const std::vector<Index> lengths = {0,  1,  2,  3,  5,  7,  8,
                                             13, 15, 16, 17, 31, 32, 33};
  return random.chance(0.1) ? random.between(34, 125) : random.pick(lengths);
}

KernelSpec attn::test::createKernelSpec(Random &random,
                                        std::optional<ElementType> type,
                                        bool forGPU) {
  KernelSpec spec;
  chooseShapes(spec, random, type);
  chooseOperands(spec, random);
  bool isDecoding = random.chance(0.25);
  if (isDecoding)
    chooseDecoding(spec, random);
  if (forGPU)
    restrictToGPU(spec, random, type);
  // Of the size that the heads have in the end: scores of standard normal rows
  // are of order 1, as the tolerances have it.
  spec.scaleFactor = random.pick<double>({0.5, 0.7, 1.25, -1, 0}) /
                     std::sqrt(double(spec.keySize));
  chooseForms(spec, random);
  if (isDecoding)
    spec.fixedSizes.queryLength = random.pick<Index>({1, 1, 1, 2, 3, 4, 7});
  else if (random.chance(0.15))
    spec.fixedSizes = {spec.packed ? 1 : random.between(0, 2),
                       pickLength(random), pickLength(random)};
  // Bottom right gives negative positions where there are more queries than
  // keys, which is an error where a tensor is indexed by them.
  if (spec.offset == KernelSpec::Offset::bottomRight &&
      spec.indexesPosition() && (spec.packed || spec.fixedSizes.keyLength))
    spec.offset = KernelSpec::Offset::none;
  return spec;
}

namespace {
/// Writes a kernel.
class KernelWriter {
public:
  explicit KernelWriter(const KernelSpec &spec) : spec(spec) {}

  string write() {
    const KernelSpec::FixedSizes &sizes = spec.fixedSizes;
    string query =
        tensor({sizes.batch, spec.queryHeads, sizes.queryLength, spec.keySize});
    string key = tensor(
        {sizes.batch, spec.keyValueHeads, sizes.keyLength, spec.keySize});
    string value = tensor(
        {sizes.batch, spec.keyValueHeads, sizes.keyLength, spec.valueSize});
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
    if (spec.packed) {
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

std::set<string> KernelSpec::features() const {
  std::set<string> result;
  result.insert("type " + string(nameOf(type)));
  result.insert(queryHeads == keyValueHeads ? "heads: one to one"
                : keyValueHeads == 1        ? "heads: one key head"
                                            : "heads: groups");
  if (keySize != valueSize)
    result.insert("Dk != Dv");
  if (keySize % 2 || valueSize % 2)
    result.insert("odd head size");
  if (keySize == 1 || valueSize == 1)
    result.insert("head size 1");
  result.insert(std::vector<string>{"scale by default", "scale constant",
                                    "scale operand"}[std::size_t(scale)]);
  result.insert(
      std::vector<string>{"no offset", "offset scalar", "offset per batch",
                          "offset bottom_right"}[std::size_t(offset)]);
  if (sink)
    result.insert("sink");
  if (logSumExp)
    result.insert("log-sum-exp");
  if (packed)
    result.insert("packed");
  if (dropoutRate)
    result.insert("dropout");
  if (fixedSizes.keyLength)
    result.insert("static sizes");
  if (std::optional<Index> rows = decodedRows()) {
    if (queryHeads > keyValueHeads)
      result.insert("few queries of a group");
    if (keySize % 16 == 0 && valueSize % 16 == 0)
      result.insert(*rows <= 8 ? "at most 8 rows" : "9 to 16 rows");
  }
  for (const ScoreForm &form : scores)
    result.insert(form.name);
  for (const MaskForm &form : masks)
    result.insert(form.name);
  if (masks.empty())
    result.insert("no mask");
  if (masks.size() > 1)
    result.insert("several masks");
  if (scores.size() > 1)
    result.insert("several scores");
  return result;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::vector<Argument> Call::arguments() const {
  std::vector<Argument> result;
  for (const Value &value : values)
    if (const TestTensor *tensor = std::get_if<TestTensor>(&value))
      result.push_back(tensor->view());
    else if (const Index *integer = std::get_if<Index>(&value))
      result.push_back(*integer);
    else
      result.push_back(std::get<double>(value));
  return result;
}

std::vector<TensorView> Call::results() const {
  std::vector<TensorView> result = {output.mutableView()};
  if (logSumExp)
    result.push_back(logSumExp->mutableView());
  return result;
}

namespace {

/// Where the rows of one b lie.
struct Sequence {
  Index batch, queryBegin, queryEnd, keyBegin, keyEnd;
  Index offset = 0;
};

/// Makes one call.
class CallBuilder {
public:
  CallBuilder(const KernelSpec &spec, Random &random)
      : spec(spec), random(random) {}

  Call build() {
    chooseSizes();
    chooseOffsets();
    std::vector<TestTensor> main = createInputs();
    std::vector<Value> values(main.begin(), main.end());
    addOperands(values);
    addForms(values);
    if (!inputsShareMemory)
      poisonWhatIsMasked(main);
    problem.query = main[0];
    problem.key = main[1];
    problem.value = main[2];
    TestTensor output(spec.type,
                      {batch, spec.queryHeads, queryLength, spec.valueSize},
                      chooseLayout(4, /*isOutput=*/true));
    std::optional<TestTensor> logSumExp;
    if (spec.logSumExp)
      logSumExp =
          TestTensor(spec.accumulation(), {batch, spec.queryHeads, queryLength},
                     chooseLayout(3, /*isOutput=*/true));
    return {std::move(values), output, logSumExp, std::move(problem),
            std::move(features)};
  }

private:
  void chooseSizes() {
    batch = spec.packed ? 1 : random.pick<Index>({0, 1, 1, 2, 2, 3});
    queryLength = pickLength(random);
    keyLength = random.chance(0.3) ? queryLength : pickLength(random);
    batch = spec.fixedSizes.batch.value_or(batch);
    queryLength = spec.fixedSizes.queryLength.value_or(queryLength);
    if (spec.offset == KernelSpec::Offset::bottomRight &&
        spec.indexesPosition())
      keyLength = std::max(keyLength, queryLength);
    if (spec.decodedRows() && random.chance(0.3))
      keyLength = random.between(60, 125);
    keyLength = spec.fixedSizes.keyLength.value_or(keyLength);
    if (batch == 0)
      features.insert("batch 0");
    if (queryLength == 0)
      features.insert("query length 0");
    if (queryLength == 1 && !spec.fixedSizes.queryLength && !spec.packed)
      features.insert("one query of any number");
    if (keyLength == 0)
      features.insert("key length 0");
    if (!spec.packed) {
      for (Index b = 0; b < batch; ++b)
        sequences.push_back({b, 0, queryLength, 0, keyLength});
      return;
    }
    Index count = random.pick<Index>({0, 1, 2, 3, 5});
    problem.cuQuery = cut(queryLength, count);
    problem.cuKey = cut(keyLength, count);
    for (Index n = 0; n < count; ++n) {
      Sequence sequence{0, problem.cuQuery[n], problem.cuQuery[n + 1],
                        problem.cuKey[n], problem.cuKey[n + 1]};
      if (sequence.queryBegin == sequence.queryEnd ||
          sequence.keyBegin == sequence.keyEnd)
        features.insert("empty sequence");
      sequences.push_back(sequence);
    }
    if (problem.cuQuery.front() != 0 || problem.cuQuery.back() != queryLength)
      features.insert("rows of no sequence");
  }

  /// Cumulative lengths of `count` sequences that cover [0, length], or less.
  std::vector<std::int64_t> cut(Index length, Index count) {
    std::vector<std::int64_t> result;
    for (Index n = 0; n <= count; ++n)
      result.push_back(random.between(0, length));
    std::sort(result.begin(), result.end());
    if (random.chance(0.7)) {
      result.front() = 0;
      result.back() = count ? length : 0;
    }
    return result;
  }

  Index chooseOffset() {
    // One in thirty may be outside a tensor that p indexes.
    if (spec.indexesPosition() && !random.chance(0.03))
      return random.between(0, 20);
    bool hasDistance = !spec.scores.empty();
    return random.pick<Index>({0, 3, 17, -2, -9, keyLength - queryLength,
                               hasDistance ? 40 : Index(1) << 40,
                               hasDistance ? -40 : -(Index(1) << 33)});
  }

  void chooseOffsets() {
    if (spec.offset == KernelSpec::Offset::bottomRight) {
      problem.bottomRight = true;
      for (Sequence &sequence : sequences)
        sequence.offset = (sequence.keyEnd - sequence.keyBegin) -
                          (sequence.queryEnd - sequence.queryBegin);
    } else if (spec.offset != KernelSpec::Offset::none) {
      auto choose = [&] {
        Index offset = chooseOffset();
        return spec.offsetType == "i32" ? Index(std::int32_t(offset)) : offset;
      };
      Index shared = choose();
      if (spec.offset == KernelSpec::Offset::scalar)
        problem.offsets = {shared};
      for (Sequence &sequence : sequences) {
        sequence.offset = shared;
        if (spec.offset == KernelSpec::Offset::perBatch)
          problem.offsets.push_back(sequence.offset = choose());
      }
    }
    for (const Sequence &sequence : sequences) {
      Index length = sequence.queryEnd - sequence.queryBegin;
      if (sequence.offset < 0)
        features.insert("negative offset");
      // A tensor of absurd size helps nobody.
      if (sequence.offset <= 1000)
        extents.positions =
            std::max(extents.positions, sequence.offset + length);
    }
    extents.batches = Index(sequences.size());
    extents.keyLength = keyLength;
  }

  Layout chooseLayout(int rank, bool isOutput) {
    Layout layout;
    if (random.chance(0.3)) {
      features.insert("rows with gaps");
      layout.rowPadding = random.between(1, 5);
    }
    if (random.chance(0.5)) {
      layout.order =
          rank == 3
              ? std::vector<int>{1, 0, 2}
              : random.pick<std::vector<int>>(
                    {{0, 2, 1, 3}, {0, 2, 1, 3}, {2, 1, 0, 3}, {1, 2, 0, 3}});
      features.insert(layout.order == std::vector<int>{0, 2, 1, 3}
                          ? "order (B, S, H, D)"
                          : "another order");
    }
    if (random.chance(0.1)) {
      features.insert("negative stride");
      layout.reversed = {int(random.between(0, rank - 2))};
    } else if (!isOutput && random.chance(0.15)) {
      features.insert("zero stride");
      layout.broadcast = {int(random.between(0, 2))};
      inputsShareMemory = true;
    }
    return layout;
  }

  std::vector<TestTensor> createInputs() {
    std::vector<TestTensor> main;
    if (spec.keySize == spec.valueSize && queryLength == keyLength &&
        random.chance(0.3)) {
      features.insert("packed QKV");
      main = TestTensor::createPacked(spec.type, batch, queryLength,
                                      spec.queryHeads, spec.keyValueHeads,
                                      spec.keySize);
    } else {
      main.emplace_back(
          spec.type, Shape{batch, spec.queryHeads, queryLength, spec.keySize},
          chooseLayout(4, false));
      for (Index headSize : {spec.keySize, spec.valueSize})
        main.emplace_back(spec.type,
                          Shape{batch, spec.keyValueHeads, keyLength, headSize},
                          chooseLayout(4, false));
    }
    for (TestTensor &tensor : main)
      tensor.fill([&] { return random.normal(); });
    return main;
  }

  /// A vector of integers.
  static TestTensor createVector(ElementType type,
                                 const std::vector<std::int64_t> &elements) {
    return TestTensor(type, {Index(elements.size())},
                      std::vector<double>(elements.begin(), elements.end()));
  }

  /// In the order in which KernelWriter writes them.
  void addOperands(std::vector<Value> &values) {
    if (spec.scale != KernelSpec::Scale::byDefault)
      problem.scale = spec.scaleFactor;
    if (spec.scale == KernelSpec::Scale::operand) {
      if (spec.accumulation() == ElementType::f32)
        problem.scale = float(spec.scaleFactor);
      values.push_back(*problem.scale);
    }
    if (spec.offset == KernelSpec::Offset::scalar)
      values.push_back(problem.offsets[0]);
    if (spec.offset == KernelSpec::Offset::perBatch)
      values.push_back(createVector(spec.offsetType == "i32" ? ElementType::i32
                                                             : ElementType::i64,
                                    problem.offsets));
    if (spec.sink) {
      TestTensor sink(*spec.sink, {spec.queryHeads});
      sink.fill([&] {
        return random.chance(0.05) ? -std::numeric_limits<double>::infinity()
                                   : random.normal();
      });
      problem.sink = sink.elements();
      values.push_back(sink);
    }
    if (spec.packed) {
      values.push_back(createVector(ElementType::i32, problem.cuQuery));
      values.push_back(createVector(ElementType::i32, problem.cuKey));
    }
    if (spec.dropoutRate) {
      auto seed = std::int64_t(random.bits());
      auto call = std::int32_t(random.bits());
      problem.dropout = {*spec.dropoutRate, std::uint64_t(seed),
                         std::uint32_t(call)};
      values.push_back(Index(seed));
      values.push_back(Index(call));
    }
  }

  /// Adds the forms' arguments, and the functions to the problem.
  void addForms(std::vector<Value> &values) {
    std::vector<ScoreFunction> scores = bind(spec.scores, values);
    std::vector<MaskFunction> masks = bind(spec.masks, values);
    if (!scores.empty())
      problem.score = [scores](double s, Index b, Index h, Index p,
                               Index j) -> std::optional<double> {
        std::optional<double> result = s;
        for (const ScoreFunction &score : scores)
          if (result)
            result = score(*result, b, h, p, j);
        return result;
      };
    if (!masks.empty())
      problem.mask = [masks](Index b, Index h, Index p,
                             Index j) -> std::optional<bool> {
        std::optional<bool> result = true;
        for (const MaskFunction &mask : masks) {
          std::optional<bool> keep = mask(b, h, p, j);
          if (keep && !*keep)
            return false; // Whatever the others are (A12).
          if (!keep)
            result = std::nullopt;
        }
        return result;
      };
  }

  template <typename Function>
  std::vector<Function> bind(const std::vector<Form<Function>> &forms,
                             std::vector<Value> &values) {
    std::vector<Function> result;
    for (const Form<Function> &form : forms) {
      std::vector<Value> own;
      for (const ArgumentForm &argument : form.arguments)
        own.push_back(argument.create(extents, random));
      values.insert(values.end(), own.begin(), own.end());
      result.push_back(form.bind(own));
    }
    return result;
  }

  /// Fills rows of query, key and value that no kept position reads with NaN
  /// and infinity (A13).
  void poisonWhatIsMasked(std::vector<TestTensor> &main) {
    std::set<std::vector<Index>> queries, keys; // (b, h, row) that are read.
    Index group = spec.queryHeads / spec.keyValueHeads;
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      const Sequence &sequence = sequences[n];
      for (Index h = 0; h < spec.queryHeads; ++h)
        for (Index i = sequence.queryBegin; i < sequence.queryEnd; ++i)
          for (Index j = sequence.keyBegin; j < sequence.keyEnd; ++j) {
            Index p = sequence.offset + (i - sequence.queryBegin);
            if (problem.mask &&
                problem.mask(Index(n), h, p, j - sequence.keyBegin) == false)
              continue;
            queries.insert({sequence.batch, h, i});
            keys.insert({sequence.batch, h / group, j});
          }
    }
    bool poisoned = false;
    auto poison = [&](TestTensor &tensor,
                      const std::set<std::vector<Index>> &read) {
      TestTensor copy = tensor; // Shares the memory.
      tensor.fill([&](const Shape &index) {
        if (read.count({index.begin(), index.end() - 1}))
          return *copy.get(index);
        poisoned = true;
        return random.pick<double>({std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity()});
      });
    };
    poison(main[0], queries);
    poison(main[1], keys);
    poison(main[2], keys);
    if (poisoned)
      features.insert("NaN where masked");
  }

  const KernelSpec &spec;
  Random &random;
  Index batch = 0, queryLength = 0, keyLength = 0;
  std::vector<Sequence> sequences;
  Extents extents;
  AttentionProblem problem;
  std::set<string> features;
  bool inputsShareMemory = false;
};

} // namespace

Call attn::test::createCall(const KernelSpec &spec, Random &random) {
  return CallBuilder(spec, random).build();
}
