//===- LayerText.cpp - Kernels of one layer -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/LayerText.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

string LayerText::tensorType(const Shape &shape, ElementType element) {
  string text = "tensor<";
  for (Index size : shape)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text + string(nameOf(element)) + ">";
}

string LayerText::add(const string &name, const Shape &shape,
                      const Shape &sizes, ElementType element, double deviation,
                      double mean, bool isWritable) {
  tensors.emplace_back(element, sizes);
  Random random(seed++);
  tensors.back().fill([&] {
    return element == ElementType::i8 ? double(random.between(-127, 127))
                                      : mean + deviation * random.normal();
  });
  return declare(name, tensorType(shape, element), tensors.back().view(),
                 isWritable);
}

string LayerText::addIntegers(const string &name,
                              const std::vector<double> &elements) {
  tensors.push_back(i32(elements));
  return declare(name, "tensor<?xi32>", tensors.back().view());
}

string LayerText::declare(const string &name, const string &text,
                          const TestArgument &argument, bool isWritable) {
  parameters += (parameters.empty() ? "%" : ", %") + name + ": " + text +
                (isWritable ? " {bufferization.writable = true}" : "");
  arguments.push_back(argument);
  return text;
}

void LayerText::addMap(const string &clause, Index rows, Index columns,
                       ElementType element, bool hasBias, const string &kind) {
  double deviation = 1 / std::sqrt(double(rows));
  Shape shape = {rows, columns};
  if (panel > 0) {
    shape = {(columns + panel - 1) / panel, rows, panel};
    if (inPairs && rows % 2 == 0)
      shape = {shape[0], rows / 2, panel, 2};
  }
  string operands = "%" + clause,
         types = add(clause, shape, shape, element, deviation);
  if (element == ElementType::i8) {
    operands += ", %" + clause + "_scales";
    types += ", " + add(clause + "_scales", {columns}, {columns},
                        ElementType::f32, 0.001, deviation / 70);
  }
  if (hasBias) {
    operands += ", %" + clause + "_bias";
    types +=
        ", " + add(clause + "_bias", {columns}, {columns},
                   type == ElementType::f64 ? type : ElementType::f32, 0.3);
  }
  clauses += " " + clause + kind + "(" + operands + " : " + types + ")";
}

void LayerText::addCaches(ElementType element, Index batch, Index capacity) {
  auto addCache = [&](const string &name, Index size) {
    return add(name, {-1, keyHeads, -1, size},
               {batch, keyHeads, capacity, size}, element, 1, 0,
               /*isWritable=*/true);
  };
  results = addCache("keys", keySize);
  results += ", " + addCache("values", valueSize);
  if (element != ElementType::i8)
    return;
  for (const char *name : {"keys_scales", "values_scales"}) {
    results += ", " + add(name, {-1, keyHeads, -1}, {batch, keyHeads, capacity},
                          ElementType::f32, 0.001, 0.02, /*isWritable=*/true);
    caches += string(", %") + name;
  }
}

string LayerText::write() const {
  string input = tensorType({-1, -1, width}, type),
         output = tensorType({-1, -1, outputWidth}, type);
  string types = output, outs = "%init", result = "%y", returned = "%y";
  if (!results.empty()) {
    types += ", " + results;
    outs += ", " + caches;
    Index count = caches.find("scales") == string::npos ? 3 : 5;
    result += ":" + std::to_string(count);
    returned = "%y#0";
    for (Index i = 1; i < count; ++i)
      returned += ", %y#" + std::to_string(i);
  }
  return "func.func @f(" + parameters + ") -> (" + types +
         ") {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : "
         "index\n%b = tensor.dim %x, %c0 : " +
         input + "\n%s = tensor.dim %x, %c1 : " + input +
         "\n%init = tensor.empty(%b, %s) : " + output + "\n" + result +
         " = attn.multi_head_attention heads(" + std::to_string(heads) + ", " +
         std::to_string(keyHeads) + ") sizes(" + std::to_string(keySize) +
         ", " + std::to_string(valueSize) + ") ins(%x : " + input + ")" + ins +
         " outs(" + outs + " : " + types + ")" + clauses + "\nreturn " +
         returned + " : " + types + "\n}\n";
}
