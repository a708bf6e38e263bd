//===- LayerText.h - Kernels of one layer -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_LAYERTEXT_H
#define ATTN_TEST_EXECUTION_LAYERTEXT_H

#include "test/Execution/EverywhereRun.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::test {

/// A kernel of one attn.multi_head_attention and its arguments, written part by
/// part. It is the function `f`, whose argument `x` is the layer's input.
struct LayerText {
  ElementType type = ElementType::f32;
  Index heads = 2, keyHeads = 1, keySize = 4, valueSize = 4, width = 6,
        outputWidth = 5;
  /// Columns of a panel of the weights; 0 if they are not packed.
  Index panel = 0;
  bool inPairs = false; ///< Whether panels hold pairs of rows, if even.
  std::string parameters, clauses, ins;
  /// The types of the caches, and their names where they are destinations.
  std::string results, caches = "%keys, %values";
  std::vector<TestArgument> arguments;
  std::vector<TestTensor> tensors; ///< What the arguments are views of.
  std::uint64_t seed = 1;

  LayerText() { tensors.reserve(40); }

  /// "tensor<...>"; a size of -1 is dynamic.
  static std::string tensorType(const Shape &shape, ElementType element);

  /// An argument of the type `shape` and the sizes `sizes`, with normal
  /// elements, or any of i8; returns its type.
  std::string add(const std::string &name, const Shape &shape,
                  const Shape &sizes, ElementType element, double deviation,
                  double mean = 0, bool isWritable = false);
  std::string addIntegers(const std::string &name,
                          const std::vector<double> &elements);
  std::string declare(const std::string &name, const std::string &text,
                      const TestArgument &argument, bool isWritable = false);

  /// `clause kind(%weight[, %scales][, %bias] : types)`.
  void addMap(const std::string &clause, Index rows, Index columns,
              ElementType element, bool hasBias, const std::string &kind = "");

  /// Caches of these sizes (batch or pages, capacity or page size), and their
  /// scales if they are of i8.
  void addCaches(ElementType element, Index batch, Index capacity);

  std::string write() const;
  Results run() const { return runEverywhere(write(), arguments); }
  /// Less to compile, for what another layer is held to.
  Results runReference() const {
    return runEverywhere(write(), arguments, /*quantizeQueries=*/false,
                         {"reference"});
  }
};

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_LAYERTEXT_H
