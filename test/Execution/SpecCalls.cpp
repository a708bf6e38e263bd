//===- SpecCalls.cpp - Random calls of a kernel ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Specs.h"

#include <algorithm>
#include <limits>

using namespace attn;
using namespace attn::test;
using reference::AttentionProblem;
using std::string;

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
  Index queryBatch, queryBegin, queryEnd, keyBatch, keyBegin, keyEnd;
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
    bool hasMany = spec.hasManyQueries;
    batch = spec.hasPackedQueries() ? 1
            : hasMany               ? random.pick<Index>({1, 1, 1, 2})
                                    : random.pick<Index>({0, 1, 1, 2, 2, 3});
    queryLength = hasMany && !random.chance(0.1) ? pickManyQueries(random)
                                                 : pickLength(random);
    keyLength = random.chance(0.3) ? queryLength
                : hasMany          ? pickManyKeys(random)
                                   : pickLength(random);
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
    if (queryLength == 1 && !spec.fixedSizes.queryLength &&
        spec.ragged == KernelSpec::Ragged::none)
      features.insert("one query of any number");
    if (keyLength == 0)
      features.insert("key length 0");
    keyBatch = batch;
    if (!spec.hasPackedQueries()) {
      for (Index b = 0; b < batch; ++b) {
        Index count = queryLength;
        if (spec.ragged == KernelSpec::Ragged::counts)
          problem.counts.push_back(count = random.between(0, queryLength));
        sequences.push_back({b, 0, count, b, 0, keyLength});
      }
      return;
    }
    bool packsKeys = spec.ragged == KernelSpec::Ragged::packed;
    Index count = random.pick<Index>({0, 1, 2, 3, 5});
    problem.cuQuery = cut(queryLength, count);
    if (packsKeys)
      problem.cuKey = cut(keyLength, count);
    else
      keyBatch = count;
    for (Index n = 0; n < count; ++n) {
      Sequence sequence{0, problem.cuQuery[n], problem.cuQuery[n + 1], n,
                        0, keyLength};
      if (packsKeys) {
        sequence.keyBatch = 0;
        sequence.keyBegin = problem.cuKey[n];
        sequence.keyEnd = problem.cuKey[n + 1];
      }
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
      extents.rows = std::max(extents.rows, length);
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
        spec.ragged != KernelSpec::Ragged::packedQueries &&
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
        main.emplace_back(
            spec.type, Shape{keyBatch, spec.keyValueHeads, keyLength, headSize},
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
    if (spec.ragged == KernelSpec::Ragged::counts)
      values.push_back(createVector(spec.countsType == "i32" ? ElementType::i32
                                                             : ElementType::i64,
                                    problem.counts));
    if (spec.hasPackedQueries())
      values.push_back(createVector(ElementType::i32, problem.cuQuery));
    if (spec.ragged == KernelSpec::Ragged::packed)
      values.push_back(createVector(ElementType::i32, problem.cuKey));
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
      result.push_back(form.indexesRow ? ofRows(form.bind(own))
                                       : form.bind(own));
    }
    return result;
  }

  /// Functions of positions of those that want rows.
  MaskFunction ofRows(const MaskFunction &function) const {
    return
        [function, sequences = sequences](Index b, Index h, Index p, Index j) {
          return function(b, h, p - sequences[std::size_t(b)].offset, j);
        };
  }
  ScoreFunction ofRows(const ScoreFunction &function) const {
    return [function, sequences = sequences](double s, Index b, Index h,
                                             Index p, Index j) {
      return function(s, b, h, p - sequences[std::size_t(b)].offset, j);
    };
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
            queries.insert({sequence.queryBatch, h, i});
            keys.insert({sequence.keyBatch, h / group, j});
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
  Index batch = 0, keyBatch = 0, queryLength = 0, keyLength = 0;
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
