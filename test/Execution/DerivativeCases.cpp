//===- DerivativeCases.cpp - Functions to differentiate -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/DerivativeCases.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

RandomArguments::RandomArguments(const Signature &signature,
                                 const DerivativeCase &tested, Random &random) {
  auto integer = tested.integers.begin();
  for (const Parameter &parameter : signature.arguments) {
    if (parameter.isTensor && isFloat(parameter.type)) {
      TestTensor &tensor =
          tensors.emplace_back(parameter.type, parameter.shape);
      tensor.fill([&] { return random.normal(); });
      values.emplace_back(tensor.view());
    } else if (parameter.isTensor) {
      TestTensor &tensor =
          tensors.emplace_back(parameter.type, parameter.shape);
      std::int64_t number = *integer++;
      tensor.fill([&] { return double(number); });
      values.emplace_back(tensor.view());
    } else if (isFloat(parameter.type)) {
      values.emplace_back(std::fabs(random.normal()) + 0.5);
    } else {
      values.emplace_back(*integer++);
    }
    names.push_back(parameter.name);
  }
}

std::vector<std::vector<double>>
attn::test::runKernel(const Kernel &kernel,
                      const std::vector<Argument> &arguments) {
  std::vector<TestTensor> results;
  std::vector<TensorView> views;
  auto shapes = kernel.resultShapes(arguments);
  EXPECT_TRUE(shapes) << shapes.error().message;
  for (std::size_t i = 0; i < shapes->size(); ++i)
    views.push_back(
        results.emplace_back(kernel.signature().results[i].type, (*shapes)[i])
            .mutableView());
  Status status = kernel.run(arguments, views);
  EXPECT_TRUE(status) << status.error().message;
  std::vector<std::vector<double>> elements;
  for (const TestTensor &result : results)
    elements.push_back(result.elements());
  return elements;
}

/// `attn.attention` of these clauses, with more arguments, all of f64.
static string attention(const string &clauses, const string &arguments = "",
                        bool logSumExp = false) {
  string q = "tensor<2x4x5x6xf64>", k = "tensor<2x2x7x6xf64>",
         v = "tensor<2x2x7x3xf64>", o = "tensor<2x4x5x3xf64>",
         l = "tensor<2x4x5xf64>";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + arguments +
         ") -> " + (logSumExp ? "(" + o + ", " + l + ")" : o) +
         " {\n  %o0 = tensor.empty() : " + o +
         "\n  %l0 = tensor.empty() : " + l + "\n  %o" +
         (logSumExp ? ":2" : "") + " = attn.attention ins(%q, %k, %v : " + q +
         ", " + k + ", " + v + ") outs(%o0" +
         (logSumExp ? ", %l0 : " + o + ", " + l : " : " + o) + ") " + clauses +
         "\n  return %o" +
         (logSumExp ? "#0, %o#1 : " + o + ", " + l : " : " + o) + "\n}\n";
}

/// The same of `attn.multi_token_attention`, of the last five of seven queries.
static string multiToken(const string &clauses, const string &arguments) {
  string q = "tensor<2x4x7x3xf64>", k = "tensor<2x2x6x3xf64>",
         v = "tensor<2x2x6x2xf64>", o = "tensor<2x4x5x2xf64>",
         l = "tensor<2x4x5xf64>";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + arguments +
         ") -> (" + o + ", " + l + ") {\n  %o0 = tensor.empty() : " + o +
         "\n  %l0 = tensor.empty() : " + l +
         "\n  %o:2 = attn.multi_token_attention ins(%q, %k, %v : " + q + ", " +
         k + ", " + v + ") outs(%o0, %l0 : " + o + ", " + l + ") " + clauses +
         "\n  return %o#0, %o#1 : " + o + ", " + l + "\n}\n";
}

std::vector<DerivativeCase>
attn::test::selectDerivativeCases(std::size_t first) {
  std::vector<DerivativeCase> all = getDerivativeCases(), selected;
  if (runsAllCases())
    return all;
  for (std::size_t i = first; i < all.size(); i += 2)
    selected.push_back(all[i]);
  return selected;
}

std::vector<DerivativeCase> attn::test::getDerivativeCases() {
  std::vector<string> main = {"q", "k", "v"};
  auto with = [&](std::vector<string> more) {
    std::vector<string> all = main;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  return {
      {"plain", attention(""), main},
      {"causal", attention("mask causal"), main},
      {"logSumExp", attention("offset(bottom_right) mask causal", "", true),
       main},
      {"bias",
       attention("score bias(%t : tensor<4x5x7xf64>)",
                 ", %t: tensor<4x5x7xf64>"),
       with({"t"})},
      {"alibiAndSink",
       attention("sink(%s : tensor<4xf64>) score alibi(%t : tensor<4xf64>) "
                 "mask causal",
                 ", %s: tensor<4xf64>, %t: tensor<4xf64>", true),
       with({"s", "t"})},
      // The mask hides distances that the table does not have.
      {"factorOfDistance",
       attention("score(%s, %b, %h, %p, %j) captures(%a = %t : tensor<5xf64>) {"
                 "%d = arith.subi %p, %j : index "
                 "%e = tensor.extract %a[%d] : tensor<5xf64> "
                 "%f = arith.mulf %e, %s : f64 attn.yield %f : f64 } "
                 "mask causal",
                 ", %t: tensor<5xf64>"),
       with({"t"})},
      {"dropout",
       attention("dropout(0.4, %s, %c)", ", %s: i64, %c: i32"),
       main,
       {11, 3}},
      {"softcap", attention("score softcap(2.0) mask sliding_window(2, 1)"),
       main},
      {"packed",
       R"(func.func @f(%q: tensor<1x2x9x4xf64>, %k: tensor<1x1x8x4xf64>,
           %v: tensor<1x1x8x4xf64>, %n: tensor<3xi32>) -> tensor<1x2x9x4xf64> {
         %o = tensor.empty() : tensor<1x2x9x4xf64>
         %c = arith.constant dense<[0, 3, 7]> : tensor<3xi32>
         %m = arith.constant dense<[0, 5, 8]> : tensor<3xi32>
         %r = attn.attention ins(%q, %k, %v : tensor<1x2x9x4xf64>,
             tensor<1x1x8x4xf64>, tensor<1x1x8x4xf64>)
             outs(%o : tensor<1x2x9x4xf64>)
             sequences(%c, %m : tensor<3xi32>, tensor<3xi32>) mask causal
         return %r : tensor<1x2x9x4xf64>
       })",
       main,
       {0}},
      {"layer",
       R"(func.func @f(%x: tensor<2x5x6xf64>, %w: tensor<6x36xf64>,
           %wb: tensor<36xf64>, %ow: tensor<16x5xf64>, %ob: tensor<5xf64>,
           %cos: tensor<16x2xf64>, %sin: tensor<16x2xf64>, %n0: tensor<4xf64>,
           %n1: tensor<4xf64>, %n2: tensor<4xf64>, %g: tensor<6x16xf64>,
           %seed: i64, %call: i32) -> tensor<2x5x5xf64> {
         %o = tensor.empty() : tensor<2x5x5xf64>
         %qkv = tensor.extract_slice %w[0, 0] [6, 32] [1, 1]
             : tensor<6x36xf64> to tensor<6x32xf64>
         %bias = tensor.extract_slice %wb[0] [32] [1]
             : tensor<36xf64> to tensor<32xf64>
         %y = attn.multi_head_attention heads(4, 2) sizes(4, 4)
             ins(%x : tensor<2x5x6xf64>) outs(%o : tensor<2x5x5xf64>)
             qkv(%qkv, %bias : tensor<6x32xf64>, tensor<32xf64>)
             output(%ow, %ob : tensor<16x5xf64>, tensor<5xf64>)
             norms(%n0, %n1 : tensor<4xf64>, tensor<4xf64>)
             output_norm(%n2 : tensor<4xf64>) layer(2)
             gate elements(%g : tensor<6x16xf64>)
             rope interleaved(%cos, %sin : tensor<16x2xf64>, tensor<16x2xf64>)
             dropout(0.2, 0.3, %seed, %call) mask causal
         return %y : tensor<2x5x5xf64>
       })",
       {"x", "w", "wb", "ow", "ob", "n0", "n1", "n2", "g"},
       {5, 7}},
      {"stages",
       multiToken("sink(%s : tensor<4xf64>) "
                  "convolve_before(%kb : tensor<4x3x5xf64>) "
                  "mix_before(%mb : tensor<2x2x2xf64>) "
                  "convolve_after(%ka : tensor<4x2x2x3xf64>) "
                  "score softcap(3.0) mask causal",
                  ", %s: tensor<4xf64>, %kb: tensor<4x3x5xf64>, "
                  "%mb: tensor<2x2x2xf64>, %ka: tensor<4x2x2x3xf64>"),
       with({"s", "kb", "mb", "ka"})},
      {"stagesWithDropout",
       multiToken("convolve_after(%ka : tensor<4x2x3xf64>) "
                  "mix_after(%ma : tensor<1x4x4xf64>) dropout(0.4, %n, %c) "
                  "score bias(%t : tensor<4x7x6xf64>)",
                  ", %ka: tensor<4x2x3xf64>, %ma: tensor<1x4x4xf64>, "
                  "%t: tensor<4x7x6xf64>, %n: i64, %c: i32"),
       with({"ka", "ma", "t"}),
       {11, 3}},
      {"elementwise",
       R"(func.func @f(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>)
           -> tensor<4x3xf64> {
         %c = arith.constant dense<2.0> : tensor<3x4xf64>
         %a = arith.mulf %x, %y : tensor<3x4xf64>
         %b = math.tanh %a : tensor<3x4xf64>
         %e = math.exp %x : tensor<3x4xf64>
         %s = arith.addf %e, %c : tensor<3x4xf64>
         %d = arith.divf %b, %s : tensor<3x4xf64>
         %r = math.sqrt %s : tensor<3x4xf64>
         %z = arith.subf %d, %r : tensor<3x4xf64>
         %i = tensor.empty() : tensor<4x3xf64>
         %t = linalg.transpose ins(%z : tensor<3x4xf64>)
             outs(%i : tensor<4x3xf64>) permutation = [1, 0]
         return %t : tensor<4x3xf64>
       })",
       {"x", "y"}},
      {"contractions",
       R"(#a = affine_map<(i, j, k) -> (k, i)>
         #b = affine_map<(i, j, k) -> (j, k)>
         #c = affine_map<(i, j, k) -> (i, j)>
         func.func @f(%x: tensor<4x3xf64>, %y: tensor<3x5xf64>,
             %z: tensor<2x4xf64>, %r: tensor<5x2xf64>, %w: tensor<2x4x5xf64>,
             %v: tensor<2x5x3xf64>, %u: tensor<3xf64>)
             -> (tensor<5x2xf64>, tensor<2x4x3xf64>, tensor<4xf64>) {
         %zero = arith.constant 0.0 : f64
         %0 = tensor.empty() : tensor<4x5xf64>
         %1 = linalg.fill ins(%zero : f64) outs(%0 : tensor<4x5xf64>)
             -> tensor<4x5xf64>
         %xy = linalg.matmul ins(%x, %y : tensor<4x3xf64>, tensor<3x5xf64>)
             outs(%1 : tensor<4x5xf64>) -> tensor<4x5xf64>
         %t = linalg.generic {indexing_maps = [#a, #b, #c],
             iterator_types = ["parallel", "parallel", "reduction"]}
             ins(%xy, %z : tensor<4x5xf64>, tensor<2x4xf64>)
             outs(%r : tensor<5x2xf64>) {
         ^bb0(%p: f64, %q: f64, %s: f64):
           %m = arith.mulf %p, %q : f64
           %n = arith.addf %s, %m : f64
           linalg.yield %n : f64
         } -> tensor<5x2xf64>
         %2 = tensor.empty() : tensor<2x4x3xf64>
         %3 = linalg.fill ins(%zero : f64) outs(%2 : tensor<2x4x3xf64>)
             -> tensor<2x4x3xf64>
         %wv = linalg.batch_matmul ins(%w, %v : tensor<2x4x5xf64>,
             tensor<2x5x3xf64>) outs(%3 : tensor<2x4x3xf64>)
             -> tensor<2x4x3xf64>
         %4 = tensor.empty() : tensor<4xf64>
         %5 = linalg.fill ins(%zero : f64) outs(%4 : tensor<4xf64>)
             -> tensor<4xf64>
         %xu = linalg.matvec ins(%x, %u : tensor<4x3xf64>, tensor<3xf64>)
             outs(%5 : tensor<4xf64>) -> tensor<4xf64>
         return %t, %wv, %xu : tensor<5x2xf64>, tensor<2x4x3xf64>,
             tensor<4xf64>
       })",
       {"x", "y", "z", "r", "w", "v", "u"}},
      {"crossLayer",
       R"(func.func @f(%x: tensor<2x3x6xf64>, %m: tensor<2x4x5xf64>,
           %q: tensor<6x8xf64>, %k: tensor<5x4xf64>, %v: tensor<5x6xf64>,
           %w: tensor<12x6xf64>, %t: tensor<2x3x4xf64>) -> tensor<2x3x6xf64> {
         %o = tensor.empty() : tensor<2x3x6xf64>
         %y = attn.multi_head_attention heads(4, 2) sizes(2, 3)
             ins(%x : tensor<2x3x6xf64>) outs(%o : tensor<2x3x6xf64>)
             source(%m : tensor<2x4x5xf64>) query(%q : tensor<6x8xf64>)
             key(%k : tensor<5x4xf64>) value(%v : tensor<5x6xf64>)
             output(%w : tensor<12x6xf64>)
             score(%s, %b, %h, %p, %j) captures(%a = %t : tensor<2x3x4xf64>) {
               %e = tensor.extract %a[%b, %p, %j] : tensor<2x3x4xf64>
               %f = arith.mulf %e, %s : f64
               %c = math.sin %f : f64
               attn.yield %c : f64
             }
         %z = arith.addf %y, %x : tensor<2x3x6xf64>
         return %z : tensor<2x3x6xf64>
       })",
       {"x", "m", "q", "k", "v", "w", "t"}},
  };
}
