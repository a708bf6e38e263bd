//===- ProjectionSpec.cpp - Kernels of a projection and calls -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/ProjectionSpec.h"

#include "gtest/gtest.h"

#include <sstream>

using namespace attn;
using namespace attn::test;
using std::string;

string Tokens::typeText(ElementType type, Index batch, Index length) const {
  auto size = [](Index n) { return n < 0 ? "?" : std::to_string(n); };
  string text = "tensor<" + size(batch) + "x";
  if (heads)
    text += std::to_string(heads) + "x";
  return text + size(length) + "x" + std::to_string(this->size) + "x" +
         string(nameOf(type)) + ">";
}

string ProjectionSpec::text() const {
  auto weightText = [&](const Shape &shape) {
    string text = "tensor<";
    for (Index size : shape)
      text += std::to_string(size) + "x";
    return text + string(nameOf(weightType)) + ">";
  };
  string in = input.typeText(type, batch, length),
         argument = weightText(weightShape()), weight = argument;
  auto vector = [&](ElementType element) {
    return "tensor<" + std::to_string(columns()) + "x" +
           string(nameOf(element)) + ">";
  };
  std::ostringstream o;
  string results, empties, names;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    string separator = i ? ", " : "";
    results += separator + outs[i].typeText(outType, batch, length);
    empties += separator + "%e" + std::to_string(i);
    names += separator + "%r#" + std::to_string(i);
  }
  o << "func.func @f(%x: " << in << ", %w: " << argument;
  if (isQuantized())
    o << ", %scales: " << vector(ElementType::f32);
  if (hasBias)
    o << ", %bias: " << vector(biasType);
  o << ") -> (" << results << ") {\n%c0 = arith.constant 0 : index\n"
    << "%c1 = arith.constant " << (input.heads ? 2 : 1) << " : index\n"
    << "%b = tensor.dim %x, %c0 : " << in
    << "\n%s = tensor.dim %x, %c1 : " << in << "\n";
  for (std::size_t i = 0; i < outs.size(); ++i)
    o << "%e" << i << " = tensor.empty("
      << (batch < 0    ? length < 0 ? "%b, %s" : "%b"
          : length < 0 ? "%s"
                       : "")
      << ") : " << outs[i].typeText(outType, batch, length) << "\n";
  if (isTransposed) {
    weight = weightText({input.features(), columns()});
    o << "%t0 = tensor.empty() : " << weight
      << "\n%t = linalg.transpose ins(%w : " << argument
      << ") outs(%t0 : " << weight << ") permutation = [1, 0]\n";
  }
  o << "%r:" << outs.size() << " = attn.projection ins(%x, "
    << (isTransposed ? "%t" : "%w") << " : " << in << ", " << weight
    << ") outs(" << empties << " : " << results << ")";
  if (isQuantized())
    o << " scales(%scales : " << vector(ElementType::f32) << ")";
  if (hasBias)
    o << " bias(%bias : " << vector(biasType) << ")";
  o << "\nreturn " << names << " : " << results << "\n}\n";
  return o.str();
}

static Layout layout(Random &random) {
  Layout layout;
  layout.rowPadding = random.between(0, 2);
  return layout;
}

ProjectionCall::ProjectionCall(const ProjectionSpec &spec, Index batch,
                               Index length, Random &random)
    : input(spec.type, spec.input.shape(batch, length), layout(random)),
      weight(spec.weightType, spec.weightShape()),
      scales(ElementType::f32, {spec.columns()}),
      bias(spec.biasType, {spec.columns()}) {
  input.fill([&] { return random.normal(); });
  weight.fill([&] {
    return spec.isQuantized() ? double(random.between(-127, 127))
                              : random.normal();
  });
  scales.fill([&] { return 0.01 * (1 + double(random.between(0, 9))); });
  bias.fill([&] { return random.normal(); });
}

std::vector<TestArgument>
ProjectionCall::arguments(const ProjectionSpec &spec) const {
  std::vector<TestArgument> result = {input, weight};
  if (spec.isQuantized())
    result.push_back(scales);
  if (spec.hasBias)
    result.push_back(bias);
  return result;
}

void attn::test::runSpec(const ProjectionSpec &spec, Index batch, Index length,
                         Random &random) {
  ProjectionCall call(spec, batch, length, random);
  Results results = runEverywhere(spec.text(), call.arguments(spec));
  EXPECT_EQ(results.error, "");
}
