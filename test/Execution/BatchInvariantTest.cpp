//===- BatchInvariantTest.cpp - The same bits in any company --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan that is batch_invariant: what a query gets does not depend on how many
// come with it, so neither on how its prompt is cut into chunks.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <iterator>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

constexpr Index tokens = 170, pageSize = 16, pages = 11;
const string invariant = "{attn.plan = #attn.plan<batch_invariant = true>}";

/// Attention of a prompt, or a part of it, on a cache.
struct Prompt {
  ElementType type = ElementType::f32; ///< Of the cache.
  bool isPaged = false;
  Index heads = 6, keyValueHeads = 2, headSize = 64;
  string clauses = "mask causal";

  bool isQuantized() const { return type == ElementType::i8; }
  ElementType activation() const {
    return isQuantized() ? ElementType::f32 : type;
  }
  std::size_t rowBytes() const {
    return std::size_t(headSize) * sizeOf(activation());
  }

  /// Of a fixed number of queries, or of any.
  string text(std::optional<Index> queries = {}) const;
  std::vector<TestTensor> tensors() const;
  /// The output of `count` queries from `first` on.
  std::vector<std::byte> run(const std::vector<TestTensor> &tensors,
                             Index first, Index count, unsigned threads = 1,
                             bool isStatic = false) const;
  /// Those rows of the output of all.
  std::vector<std::byte> rowsOf(const std::vector<std::byte> &output,
                                Index first, Index count) const;
};

string Prompt::text(std::optional<Index> queries) const {
  auto tensor = [&](Index number, const string &rows, ElementType element) {
    return "x" + std::to_string(number) + "x" + rows + "x" +
           std::to_string(headSize) + "x" + string(nameOf(element)) + ">";
  };
  string rows = queries ? std::to_string(*queries) : "?",
         query = "tensor<1" + tensor(heads, rows, activation()),
         key = "tensor<1" + tensor(keyValueHeads, "?", activation()),
         cache = (isPaged ? "tensor<?" : "tensor<1") +
                 tensor(keyValueHeads, isPaged ? "16" : "?", type),
         scales = (isPaged ? "tensor<?x" : "tensor<1x") +
                  std::to_string(keyValueHeads) + (isPaged ? "x16" : "x?") +
                  "xf32>",
         stored = isQuantized() ? "%cache, %scales : " + cache + ", " + scales
                                : "%cache : " + cache;
  return "func.func @f(%query: " + query + ", %cache: " + cache +
         (isQuantized() ? ", %scales: " + scales : "") +
         ", %length: tensor<1xi32>, %table: tensor<1x?xi32>, %first: index, "
         "%size: index) -> " +
         query + " {\n%c2 = arith.constant 2 : index\n" +
         "%queries = tensor.dim %query, %c2 : " + query +
         "\n%key = attn.cache_read ins(" + stored +
         ") lengths(%length : tensor<1xi32>)" +
         (isPaged ? " table(%table : tensor<1x?xi32>)" : "") +
         " size(%size) -> " + key + "\n%init = tensor.empty(" +
         (queries ? "" : "%queries") + ") : " + query +
         "\n%output = attn.attention ins(%query, %key, %key : " + query + ", " +
         key + ", " + key + ") outs(%init : " + query +
         ") offset(%first : index) " + clauses + " " + invariant +
         "\nreturn %output : " + query + "\n}\n";
}

std::vector<TestTensor> Prompt::tensors() const {
  Index capacity = pages * pageSize;
  Shape sizes = {1, keyValueHeads, capacity, headSize};
  if (isPaged)
    sizes = {pages, keyValueHeads, pageSize, headSize};
  std::vector<TestTensor> result = {
      normal(activation(), {1, heads, tokens, headSize}, 1)};
  std::ranges::move(cacheRows(type, sizes, /*seed=*/2),
                    std::back_inserter(result));
  std::vector<double> table;
  for (Index i = 0; i < pages; ++i)
    table.push_back(double(i * 7 % pages));
  result.push_back(TestTensor(ElementType::i32, {1, pages}, std::move(table)));
  return result;
}

std::vector<std::byte> Prompt::run(const std::vector<TestTensor> &tensors,
                                   Index first, Index count, unsigned threads,
                                   bool isStatic) const {
  TensorView all = tensors.front().view();
  std::vector<Index> sizes(all.sizes().begin(), all.sizes().end()),
      strides(all.strides().begin(), all.strides().end());
  sizes[2] = count;
  const auto *data = static_cast<const std::byte *>(all.data()) +
                     std::size_t(first) * rowBytes();
  std::vector<TestArgument> arguments = {
      Argument(TensorView(data, all.type(), sizes, strides,
                          /*readOnly=*/true)),
      tensors[1]};
  if (isQuantized())
    arguments.emplace_back(tensors[2]);
  TestTensor length = i32({double(first + count)});
  arguments.emplace_back(length);
  arguments.emplace_back(tensors.back());
  arguments.emplace_back(Argument(first));
  arguments.emplace_back(Argument(pages * pageSize));
  return runOnThreads(threads,
                      text(isStatic ? std::optional(count) : std::nullopt),
                      arguments)
      .front();
}

std::vector<std::byte> Prompt::rowsOf(const std::vector<std::byte> &output,
                                      Index first, Index count) const {
  std::vector<std::byte> result;
  for (Index head = 0; head < heads; ++head) {
    auto begin = output.begin() + std::ptrdiff_t(rowBytes()) *
                                      std::ptrdiff_t(head * tokens + first);
    result.insert(result.end(), begin,
                  begin + std::ptrdiff_t(rowBytes()) * count);
  }
  return result;
}

/// Chunks of all numbers of queries that have forms of their own.
void expectSameBits(const Prompt &prompt,
                    const std::vector<TestTensor> &tensors) {
  std::vector<std::byte> whole = prompt.run(tensors, 0, tokens);
  EXPECT_EQ(prompt.run(tensors, 0, tokens, /*threads=*/3), whole);
  Index first = 0;
  for (Index count : {70, 1, 2, 40, 1, 5, 17, 33, 1}) {
    EXPECT_EQ(prompt.run(tensors, first, count),
              prompt.rowsOf(whole, first, count))
        << count << " tokens from " << first << " on, in "
        << nameOf(prompt.type) << " with " << prompt.clauses;
    first += count;
  }
  ASSERT_EQ(first, tokens);
}

/// Numbers of queries that the kernel knows, by forms of their own.
void expectSameBitsOfKnown(const Prompt &prompt) {
  std::vector<TestTensor> tensors = prompt.tensors();
  std::vector<std::byte> whole = prompt.run(tensors, 0, tokens);
  for (Index count : {1, 6, 64})
    EXPECT_EQ(prompt.run(tensors, 101, count, 1, /*isStatic=*/true),
              prompt.rowsOf(whole, 101, count))
        << count << " tokens in " << nameOf(prompt.type);
}

TEST(BatchInvariant, chunks_of_a_prompt) {
  for (auto [type, isPaged] :
       coverChoices<ElementType, bool>({ElementType::f32, ElementType::f16,
                                        ElementType::bf16, ElementType::i8},
                                       {false, true})) {
    Prompt prompt{.type = type, .isPaged = isPaged};
    expectSameBits(prompt, prompt.tensors());
  }
}

TEST(BatchInvariant, known_numbers) {
  expectSameBitsOfKnown({.type = ElementType::f32});
  expectSameBitsOfKnown({.type = ElementType::bf16});
}

TEST(BatchInvariant, heads_masks_and_scores) {
  std::vector<Prompt> prompts = {{.heads = 2, .headSize = 48}};
  for (const char *clauses :
       {"score softcap(5.0) mask causal", "mask causal, sliding_window(40, 0)",
        "score softcap(5.0) mask causal, sliding_window(40, 0)"})
    prompts.push_back({.heads = 4, .keyValueHeads = 1, .clauses = clauses});
  for (auto [type, prompt] : coverChoices<ElementType, Prompt>(
           {ElementType::f32, ElementType::bf16}, prompts)) {
    prompt.type = type;
    expectSameBits(prompt, prompt.tensors());
  }
}

} // namespace
