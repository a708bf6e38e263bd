//===- ProjectionEpilogueTest.cpp - What follows projections, executed ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <cmath>
#include <sstream>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// (x w + residual) * factors, or (x v) / (1 + e^-(x w)) * factors.
struct EpilogueSpec {
  ElementType type, outType; ///< Of x and of what is projected.
  bool inPairs;              ///< A weight of bf16 in pairs, or plain of f32.
  bool isGated;
  Index batch, length, heads; ///< No heads: 0.
  Index features, columns;
  bool isStatic;

  ElementType weightType() const {
    return inPairs ? ElementType::bf16 : ElementType::f32;
  }
  Shape outShape() const {
    return heads ? Shape{batch, heads, length, columns / heads}
                 : Shape{batch, length, columns};
  }
  Shape weightShape() const {
    return inPairs ? Shape{columns / 32, features / 2, 32, 2}
                   : Shape{features, columns};
  }
  double weight(const TestTensor &w, Index k, Index n) const {
    return inPairs ? *w.get({n / 32, k / 2, n % 32, k % 2}) : *w.get({k, n});
  }
  string typeText(const Shape &shape, ElementType element) const {
    string text = "tensor<";
    for (std::size_t i = 0; i < shape.size(); ++i)
      text += (!isStatic && i + 2 == shape.size() && i > 0
                   ? "?"
                   : std::to_string(shape[i])) +
              "x";
    return text + string(nameOf(element)) + ">";
  }

  string text() const {
    string x = typeText({batch, length, features}, type),
           y = typeText(outShape(), outType),
           z = typeText(outShape(), ElementType::f32), w = "tensor<";
    for (Index size : weightShape())
      w += std::to_string(size) + "x";
    w += string(nameOf(weightType())) + ">";
    string factors = "tensor<" +
                     std::to_string(heads ? columns / heads : columns) +
                     "xf32>",
           dims = heads ? "b, h, i, j" : "b, i, j",
           identity = "affine_map<(" + dims + ") -> (" + dims + ")>",
           n = isStatic ? "" : "%n";
    std::ostringstream o;
    o << "func.func @f(%x: " << x << ", %w: " << w << ", %v: " << w
      << ", %residual: " << z << ", %factors: " << factors << ") -> " << z
      << " {\n%c1 = arith.constant 1 : index\n%n = tensor.dim %x, %c1 : " << x
      << "\n%e = tensor.empty(" << n << ") : " << y << "\n%out = tensor.empty("
      << n << ") : " << z << "\n%0 = attn.projection ins(%x, %w : " << x << ", "
      << w << ") outs(%e : " << y
      << ")\n%1 = attn.projection ins(%x, %v : " << x << ", " << w
      << ") outs(%e : " << y << ")\n%2 = linalg.generic {indexing_maps = ["
      << identity << ", " << identity << ", affine_map<(" << dims
      << ") -> (j)>, " << identity
      << "], iterator_types = [\"parallel\", \"parallel\", \"parallel\""
      << (heads ? ", \"parallel\"" : "") << "]} ins(%0, "
      << (isGated ? "%1" : "%residual") << ", %factors : " << y << ", "
      << (isGated ? y : z) << ", " << factors << ") outs(%out : " << z
      << ") {\n^bb0(%a0: " << nameOf(outType)
      << ", %b0: " << nameOf(isGated ? outType : ElementType::f32)
      << ", %factor: f32, %unused: f32):\n";
    auto widen = [&](const char *to, const char *from, bool isWide) {
      o << to << " = " << (isWide ? "arith.addf " : "arith.extf ") << from
        << (isWide ? ", %zero : f32\n" : " : bf16 to f32\n");
    };
    o << "%zero = arith.constant 0.0 : f32\n";
    widen("%a", "%a0", outType == ElementType::f32);
    widen("%b", "%b0", !isGated || outType == ElementType::f32);
    if (isGated)
      o << "%one = arith.constant 1.0 : f32\n%m = arith.negf %a : f32\n"
        << "%p = math.exp %m : f32\n%d = arith.addf %p, %one : f32\n"
        << "%s = arith.divf %b, %d fastmath<arcp> : f32\n";
    else
      o << "%s = arith.addf %a, %b : f32\n";
    o << "%t = arith.mulf %s, %factor : f32\nlinalg.yield %t : f32\n} -> " << z
      << "\nreturn %2 : " << z << "\n}\n";
    return o.str();
  }
};

void runSpec(const EpilogueSpec &spec, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  auto normal = [&](ElementType type, const Shape &shape) {
    TestTensor tensor(type, shape);
    tensor.fill([&] { return random.normal(); });
    return tensor;
  };
  TestTensor x = normal(spec.type, {spec.batch, spec.length, spec.features}),
             w = normal(spec.weightType(), spec.weightShape()),
             v = normal(spec.weightType(), spec.weightShape()),
             residual = normal(ElementType::f32, spec.outShape()),
             factors = normal(ElementType::f32, {spec.outShape().back()}),
             out(ElementType::f32, spec.outShape());
  string text = spec.text();
  Expected<Kernel> kernel = getEngine().compile(text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n" << text;
  Status status = kernel->run(
      {x.view(), w.view(), v.view(), residual.view(), factors.view()},
      {out.mutableView()});
  ASSERT_TRUE(status) << status.error().message;
  Index size = spec.outShape().back();
  // Of sums of products of normal numbers, and what they are rounded to.
  double tolerance = std::sqrt(double(spec.features)) *
                     (spec.outType == ElementType::f32 ? 1e-5 : 0x1p-7);
  for (Index b = 0; b < spec.batch; ++b)
    for (Index i = 0; i < spec.length; ++i)
      for (Index n = 0; n < spec.columns; ++n) {
        double y = 0, z = 0;
        for (Index k = 0; k < spec.features; ++k) {
          double element = *x.get({b, i, k});
          y += element * spec.weight(w, k, n);
          z += spec.isGated ? element * spec.weight(v, k, n) : 0;
        }
        Shape at =
            spec.heads ? Shape{b, n / size, i, n % size} : Shape{b, i, n};
        double factor = *factors.get({n % size}),
               expected = (spec.isGated ? z / (1 + std::exp(-y))
                                        : y + *residual.get(at)) *
                          factor;
        ASSERT_NEAR(*out.get(at), expected,
                    tolerance * (1 + std::abs(z)) * (1 + std::abs(factor)))
            << b << ", " << i << ", " << n << " of\n"
            << text;
      }
}

constexpr ElementType f32 = ElementType::f32, bf16 = ElementType::bf16;

/// Few rows and many, more than a tile has, with features in one block and in
/// several, into heads and tokens, some columns of which fill no block.
TEST(ProjectionEpilogue, sum_and_gate) {
  std::uint64_t seed = 8800;
  for (auto [spec, isGated] : coverChoices<EpilogueSpec, bool>(
           {{f32, f32, false, false, 1, 3, 0, 64, 100, false},
            {f32, f32, false, false, 1, 400, 0, 16, 100, false},
            {f32, f32, true, false, 1, 70, 2, 64, 128, true},
            {bf16, bf16, true, false, 1, 1, 0, 64, 96, true},
            {bf16, bf16, true, false, 1, 300, 0, 32, 96, false},
            {bf16, f32, true, false, 1, 70, 3, 704, 96, false},
            {bf16, bf16, true, false, 2, 40, 0, 64, 64, false},
            {bf16, bf16, true, false, 1, 0, 0, 64, 64, false}},
           {false, true})) {
    spec.isGated = isGated;
    runSpec(spec, seed++);
  }
}

} // namespace
