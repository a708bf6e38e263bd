//===- RaggedStepsTest.cpp - Sequences with their own numbers of queries --===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A7 and C6 together: steps that append to caches of every kind and attend to
// them, of sequences that have no query, a few, or many.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

constexpr Index queryHeads = 6, heads = 2, headSize = 32, pageSize = 16;

enum class Kind { contiguous, ring, paged };

/// One step: how many tokens sequences have, and have had before.
struct Step {
  Kind kind = Kind::paged;
  ElementType type = ElementType::f32; ///< Of caches.
  std::vector<Index> counts, before;
  bool isPadded = false; ///< A batch with counts, not packed rows.
  string clauses = {};   ///< More of the attention's.

  ElementType activation() const {
    return type == ElementType::i8 ? ElementType::f32 : type;
  }
  Index sum() const {
    return std::accumulate(counts.begin(), counts.end(), Index(0));
  }
  /// Positions of the longest sequence, in whole pages.
  Index capacity() const {
    Index most = 0;
    for (std::size_t n = 0; n < counts.size(); ++n)
      most = std::max(most, counts[n] + before[n]);
    return (most + pageSize) / pageSize * pageSize;
  }

  string text() const;
  /// Those of the function.
  std::vector<TestTensor> tensors() const;
};

string Step::text() const {
  auto tensor = [](const string &sizes, ElementType element) {
    return "tensor<" + sizes + "x" + string(nameOf(element)) + ">";
  };
  string start = isPadded ? "?x" : "1x",
         rows = kind == Kind::paged ? "16" : "?",
         query = tensor(start + "6x?x32", activation()),
         row = tensor(start + "2x?x32", activation()),
         all = tensor("?x2x?x32", activation()),
         cache = tensor("?x2x" + rows + "x32", type),
         scales = tensor("?x2x" + rows, ElementType::f32);
  bool isQuantized = type == ElementType::i8;
  string clause = kind == Kind::paged  ? "table(%table : tensor<?x?xi32>)"
                  : kind == Kind::ring ? "ring"
                                       : "",
         ragged = (isPadded ? "counts" : "sequences") +
                  string("(%ragged : tensor<?xi32>)"),
         updated = isQuantized ? cache + ", " + scales : cache;
  string result =
      "func.func @f(%query: " + query + ", %new: " + row +
      ", %cache: " + cache + " {bufferization.writable = true}" +
      (isQuantized ? ", %scales: " + scales + " {bufferization.writable = true}"
                   : "") +
      ", %before: tensor<?xi32>, %after: tensor<?xi32>, %ragged: tensor<?xi32>"
      ", %size: index" +
      (kind == Kind::paged ? ", %table: tensor<?x?xi32>" : "") + ") -> (" +
      query + ", " + updated + ") {\n%c0 = arith.constant 0 : index\n" +
      "%c2 = arith.constant 2 : index\n%batch = tensor.dim %query, %c0 : " +
      query + "\n%tokens = tensor.dim %query, %c2 : " + query + "\n";
  result += string("%appended") + (isQuantized ? ":2" : "") +
            " = attn.cache_append ins(%new : " + row + ") outs(%cache" +
            (isQuantized ? ", %scales" : "") + " : " + updated +
            ") lengths(%before : tensor<?xi32>) " + ragged + " " + clause +
            "\n";
  string stored = isQuantized ? "%appended#0, %appended#1" : "%appended";
  result += "%key = attn.cache_read ins(" + stored + " : " + updated +
            ") lengths(%after : tensor<?xi32>) " + clause + " size(%size) -> " +
            all + "\n";
  result += "%init = tensor.empty(" +
            string(isPadded ? "%batch, %tokens" : "%tokens") + ") : " + query +
            "\n%output = attn.attention ins(%query, %key, %key : " + query +
            ", " + all + ", " + all + ") outs(%init : " + query +
            ") offset(%before : tensor<?xi32>) " + ragged + clauses +
            " mask causal" +
            (kind == Kind::ring ? ", sliding_window(40, 0)" : "") + "\n";
  return result + "return %output, " + stored + " : " + query + ", " + updated +
         "\n}\n";
}

std::vector<TestTensor> Step::tensors() const {
  Index number = Index(counts.size()), longest = 0;
  std::vector<double> after, begin = {0};
  for (std::size_t n = 0; n < counts.size(); ++n) {
    longest = std::max(longest, counts[n]);
    after.push_back(double(before[n] + counts[n]));
    begin.push_back(begin.back() + double(counts[n]));
  }
  Index entries = isPadded ? number : 1, rows = isPadded ? longest : sum();
  std::vector<TestTensor> result = {
      normal(activation(), {entries, queryHeads, rows, headSize}, 1),
      normal(activation(), {entries, heads, rows, headSize}, 2)};
  Index pages = capacity() / pageSize;
  Shape sizes = {number, heads, capacity(), headSize};
  if (kind == Kind::ring)
    sizes[2] = 40 + longest;
  if (kind == Kind::paged)
    sizes = {number * pages, heads, pageSize, headSize};
  std::ranges::move(cacheRows(type, sizes, /*seed=*/3),
                    std::back_inserter(result));
  result.push_back(i32({before.begin(), before.end()}));
  result.push_back(i32(after));
  result.push_back(i32(
      isPadded ? std::vector<double>(counts.begin(), counts.end()) : begin));
  if (kind == Kind::paged) {
    // Pages of a sequence in no order.
    std::vector<double> table;
    for (Index i = 0; i < number * pages; ++i)
      table.push_back(double((i * 7 + 3) % (number * pages)));
    if (std::gcd(number * pages, Index(7)) != 1)
      std::iota(table.begin(), table.end(), 0);
    result.push_back(
        TestTensor(ElementType::i32, {number, pages}, std::move(table)));
  }
  return result;
}

/// The size comes before the table.
std::vector<TestArgument> toArguments(const Step &step,
                                      const std::vector<TestTensor> &tensors) {
  std::vector<TestArgument> result(tensors.begin(), tensors.end());
  auto place = result.end() - (step.kind == Kind::paged ? 1 : 0);
  result.insert(place, Argument(step.capacity()));
  return result;
}

Results run(const Step &step) {
  std::vector<TestTensor> tensors = step.tensors();
  return runEverywhere(step.text(), toArguments(step, tensors));
}

const std::vector<Index> mixed = {1, 0, 70, 5, 2, 33},
                         past = {40, 7, 0, 12, 90, 3};

TEST(RaggedSteps, caches_of_every_kind) {
  // Each type with each kind somewhere, packed and padded.
  ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::i8,
                         ElementType::f16};
  Kind kinds[] = {Kind::paged, Kind::contiguous, Kind::ring, Kind::paged};
  for (int i = 0; i < 4; ++i) {
    Step step{kinds[i], types[i], mixed, past, /*isPadded=*/i % 2 == 1};
    EXPECT_EQ(run(step).error, "");
  }
}

TEST(RaggedSteps, caches_with_dropout) {
  int i = 0;
  for (Kind kind : {Kind::paged, Kind::contiguous, Kind::ring}) {
    Step step{kind, ElementType::f32,          mixed,
              past, /*isPadded=*/i++ % 2 == 1, " dropout(0.3, %seed, %call)"};
    string text = step.text();
    text.insert(text.find("%c0 ="), "%seed = arith.constant 4711 : i64\n"
                                    "%call = arith.constant 8 : i32\n");
    EXPECT_EQ(runEverywhere(text, toArguments(step, step.tensors())).error, "");
  }
}

TEST(RaggedSteps, without_sequences_or_tokens) {
  Step none{.counts = {}, .before = {}};
  EXPECT_EQ(run(none).error, "");
  Step empty{.counts = {0, 0}, .before = {3, 0}};
  EXPECT_EQ(run(empty).error, "");
}

TEST(RaggedSteps, numbers_that_lie) {
  Step step{.counts = {2, 1}, .before = {0, 3}};
  auto fails = [&](std::size_t number, const std::vector<double> &elements,
                   const string &part) {
    std::vector<TestTensor> tensors = step.tensors();
    tensors[number] = i32(elements);
    string error = runEverywhere(step.text(), toArguments(step, tensors)).error;
    EXPECT_NE(error.find(part), string::npos) << error;
  };
  fails(5, {0, 2, 1}, "'ragged': expected numbers that do not decrease");
  fails(5, {0, 2, 4}, "'ragged': expected numbers that do not decrease");
  fails(5, {-1, 2, 3}, "'ragged': expected numbers that do not decrease");
  fails(3, {0, -3}, "'before'");
  fails(3, {0, 31}, "longer than its pages");
  step.isPadded = true;
  fails(5, {2, 3}, "'ragged': expected numbers from 0 to");
  fails(5, {2, -1}, "'ragged': expected numbers from 0 to");
}

#if ATTN_GPU
/// There, each element of packed rows looks for its sequence.
TEST(RaggedSteps, on_the_emulator) {
  auto runThere = [](const Step &step, std::vector<TestTensor> tensors) {
    return runEverywhere(step.text(), toArguments(step, tensors),
                         /*quantizeQueries=*/false, {"gpu-emulator"})
        .error;
  };
  // The first, the last and neighbouring sequences have no rows.
  const std::vector<Index> gaps = {0, 3, 0, 0, 17, 1, 0},
                           before = {5, 0, 9, 0, 30, 16, 1};
  Step steps[] = {{Kind::contiguous, ElementType::bf16, gaps, before},
                  {Kind::paged, ElementType::i8, gaps, before},
                  {Kind::paged, ElementType::f32, {1, 1, 1}, {5, 0, 33}},
                  {Kind::paged, ElementType::f16, gaps, before, true}};
  for (const Step &step : steps)
    EXPECT_EQ(runThere(step, step.tensors()), "");
  // Rows before the first sequence and after the last one are not stored.
  Step step{Kind::paged, ElementType::f16, {4, 2, 3}, {0, 3, 20}};
  std::vector<TestTensor> tensors = step.tensors();
  tensors[5] = i32({2, 3, 3, 8});
  tensors[4] = i32({1, 3, 25});
  EXPECT_EQ(runThere(step, tensors), "");
  tensors[5] = i32({2, 3, 3, 10});
  EXPECT_NE(runThere(step, tensors).find("numbers that do not decrease"),
            string::npos);
  for (const Step &none :
       {Step{Kind::contiguous, ElementType::f16, {0, 0}, {3, 0}},
        Step{Kind::paged, ElementType::f16, {}, {}}})
    EXPECT_EQ(runThere(none, none.tensors()), "");
}
#endif

// A6: rows of a sink are those of the packed batch.
TEST(RaggedSteps, a6_sink_of_each_row) {
  const char *text = R"(
    func.func @f(%q: tensor<1x2x8x16xf32>, %k: tensor<2x1x12x16xf32>,
                 %s: tensor<2x8xf32>, %cu: tensor<3xi32>)
        -> tensor<1x2x8x16xf32> {
      %o = tensor.empty() : tensor<1x2x8x16xf32>
      %r = attn.attention ins(%q, %k, %k : tensor<1x2x8x16xf32>,
              tensor<2x1x12x16xf32>, tensor<2x1x12x16xf32>)
          outs(%o : tensor<1x2x8x16xf32>) sink(%s : tensor<2x8xf32>)
          sequences(%cu : tensor<3xi32>)
      return %r : tensor<1x2x8x16xf32>
    })";
  TestTensor query = normal(ElementType::f32, {1, 2, 8, 16}, 1),
             key = normal(ElementType::f32, {2, 1, 12, 16}, 2),
             sink = normal(ElementType::f32, {2, 8}, 3), cu = i32({0, 3, 8});
  EXPECT_EQ(runEverywhere(text, {query, key, sink, cu}).error, "");
}

/// The bytes of the rows of sequence `n`.
std::vector<std::byte>
rowsOf(const Step &step, const std::vector<std::byte> &output, std::size_t n) {
  Index first = 0;
  for (std::size_t i = 0; i < n; ++i)
    first += step.counts[i];
  auto row = std::size_t(headSize) * sizeOf(step.activation());
  std::vector<std::byte> result;
  for (Index head = 0; head < queryHeads; ++head) {
    auto begin = output.begin() +
                 std::ptrdiff_t(std::size_t(head * step.sum() + first) * row);
    result.insert(result.end(), begin,
                  begin + std::ptrdiff_t(std::size_t(step.counts[n]) * row));
  }
  return result;
}

/// `count` of the entries of a dimension, from `first` on.
Argument slice(const TestTensor &tensor, int dimension, Index first,
               Index count) {
  TensorView all = tensor.view();
  std::vector<Index> sizes(all.sizes().begin(), all.sizes().end()),
      strides(all.strides().begin(), all.strides().end());
  sizes[std::size_t(dimension)] = count;
  const auto *data =
      static_cast<const std::byte *>(all.data()) +
      first * strides[std::size_t(dimension)] * Index(sizeOf(all.type()));
  return TensorView(data, all.type(), sizes, strides, /*readOnly=*/true);
}

// A15: what a sequence gets does not depend on threads, nor on its company.
TEST(RaggedSteps, a15_company) {
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    Step all{Kind::contiguous, type, mixed, past};
    std::vector<TestTensor> tensors = all.tensors();
    std::vector<TestArgument> arguments = toArguments(all, tensors);
    // Into a new cache, so that all calls begin with the same one.
    string text = all.text(), update = " {bufferization.writable = true}";
    text.erase(text.find(update), update.size());
    auto output = [&](unsigned threads,
                      const std::vector<TestArgument> &given) {
      return runOnThreads(threads, text, given).front();
    };
    std::vector<std::byte> together = output(1, arguments);
    EXPECT_EQ(output(3, arguments), together);
    Index first = 0;
    for (std::size_t n = 0; n < mixed.size(); ++n) {
      // The same rows, in a call with no other sequence.
      TestTensor begin = i32({0, double(mixed[n])});
      std::vector<TestArgument> own = {slice(tensors[0], 2, first, mixed[n]),
                                       slice(tensors[1], 2, first, mixed[n])};
      for (std::size_t i : {2, 3, 4})
        own.emplace_back(slice(tensors[i], 0, Index(n), 1));
      own.emplace_back(begin);
      own.push_back(arguments[6]);
      EXPECT_EQ(output(1, own), rowsOf(all, together, n))
          << "sequence " << n << " of " << nameOf(type);
      first += mixed[n];
    }
  }
}

} // namespace
