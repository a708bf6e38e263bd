//===- InsertedPasses.cpp - Kernels to insert passes into -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/InsertedPasses.h"
#include "test/Execution/Random.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

using namespace attn::test;

static std::string readExample(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(ATTN_SOURCE_DIR "/examples/" + path);
  EXPECT_TRUE(bool(file)) << path;
  return file ? (*file)->getBuffer().str() : "";
}

static std::string attentionText(const std::string &type,
                                 const std::string &length,
                                 const std::string &mask) {
  std::string query = "tensor<?x8x" + length + "x64x" + type + ">";
  std::string key = "tensor<?x2x?x64x" + type + ">";
  return "func.func @attention(%q: " + query + ", %k: " + key + ", %v: " + key +
         ", %o: " + query + ") -> " + query +
         " {\n  %r = attn.attention ins(%q, %k, %v : " + query + ", " + key +
         ", " + key + ")\n      outs(%o : " + query + ") " + mask +
         "\n  return %r : " + query + "\n}\n";
}

/// Of `attentionText`: inputs, where the result begins, and the result.
static std::vector<InsertedArgument> attentionArguments(const std::string &type,
                                                        std::int64_t queries,
                                                        std::int64_t keys) {
  InsertedArgument query = {type, {2, 8, queries, 64}},
                   key = {type, {2, 2, keys, 64}};
  return {query, key, key, query, query};
}

std::vector<InsertedKernel> attn::test::listInsertedKernels() {
  const InsertedArgument gradientQuery = {"f32", {1, 8, 70, 64}},
                         gradientKey = {"f32", {1, 2, 90, 64}},
                         rows = {"f32", {1, 8, 70}},
                         stepQuery = {"f32", {2, 8, 1, 64}},
                         stepRow = {"f32", {2, 2, 1, 64}},
                         pages = {"f32", {12, 2, 16, 64}},
                         tokens = {"f32", {2, 5, 576}},
                         angles = {"f32", {64, 32}},
                         cache = {"f32", {2, 3, 64, 64}},
                         query = {"f32", {1, 8, 40, 64}},
                         key = {"f32", {1, 2, 40, 64}},
                         projected = {"bf16", {1, 1024, 2048}};
  return {{"prefill", false, attentionText("f32", "?", ""),
           attentionArguments("f32", 70, 300)},
          {"causal_bf16", true, attentionText("bf16", "?", "mask causal"),
           attentionArguments("bf16", 130, 300)},
          {"window", true,
           attentionText("bf16", "?", "mask causal, sliding_window(255, 0)"),
           attentionArguments("bf16", 300, 600)},
          {"decode_cached",
           false,
           readExample("decode/step.mlir"),
           {stepQuery,
            stepRow,
            stepRow,
            pages,
            pages,
            {"i32", {2, 4}, {3, 0, 7, 11, 5, 1, 2, 9}},
            {"i32", {2}, {37, 5}},
            {"i32", {2}, {38, 6}},
            stepQuery}},
          {"decode_split", false, attentionText("f32", "1", ""),
           attentionArguments("f32", 1, 3000)},
          {"projection",
           true,
           R"(
!x = tensor<1x1024x2048xbf16>
!w = tensor<64x1024x32x2xbf16>
func.func @project(%x: !x, %w: !w, %y: !x) -> !x {
  %r = attn.projection ins(%x, %w : !x, !w) outs(%y : !x)
  return %r : !x
}
)",
           {projected, {"bf16", {64, 1024, 32, 2}}, projected, projected}},
          {"layer",
           false,
           readExample("layer/decoder.mlir"),
           {tokens,
            {"bf16", {576, 960}},
            {"bf16", {576, 576}},
            angles,
            angles,
            cache,
            cache,
            {"i32", {2}, {20, 3}},
            tokens}},
          {"multi_token",
           false,
           readExample("multi_token/paper.mlir"),
           {query, key, key, {"f32", {8, 6, 11}}, {"f32", {4, 2, 2}}, query}},
          {"gradient",
           false,
           R"(
!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
!l = tensor<?x8x?xf32>
func.func @gradient(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %d: !q, %iq: !q,
                    %ik: !k, %iv: !k) -> (!q, !k, !k) {
  %r:3 = attn.attention_backward ins(%q, %k, %v, %o, %l, %d : !q, !k, !k, !q, !l, !q)
      outs(%iq, %ik, %iv : !q, !k, !k) mask causal
  return %r#0, %r#1, %r#2 : !q, !k, !k
}
)",
           {gradientQuery, gradientKey, gradientKey, gradientQuery, rows,
            gradientQuery, gradientQuery, gradientKey, gradientKey,
            gradientQuery, gradientKey, gradientKey}}};
}

std::vector<std::string>
attn::test::selectInserted(const InsertedKernel &kernel, std::size_t place) {
  if (runsAllCases())
    return kInserted;
  std::vector<InsertedKernel> kernels = listInsertedKernels();
  auto number = llvm::find_if(kernels,
                              [&](const InsertedKernel &other) {
                                return other.name == kernel.name;
                              }) -
                kernels.begin();
  return {kInserted[(std::size_t(number) + place) % kInserted.size()]};
}
