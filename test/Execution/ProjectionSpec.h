//===- ProjectionSpec.h - Kernels of a projection and calls -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_PROJECTIONSPEC_H
#define ATTN_TEST_EXECUTION_PROJECTIONSPEC_H

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include <string>
#include <vector>

namespace attn::test {

/// Tokens of (B, S, features), or (B, H, S, D) into or out of heads.
struct Tokens {
  Index heads = 0; ///< 0: features are those of no heads.
  Index size = 1;

  Index features() const { return heads ? heads * size : size; }
  std::string typeText(ElementType type, Index batch, Index length) const;
  Shape shape(Index batch, Index length) const {
    return heads ? Shape{batch, heads, length, size}
                 : Shape{batch, length, size};
  }
};

/// A kernel of one attn.projection.
struct ProjectionSpec {
  ElementType type = ElementType::f32, weightType = ElementType::f32,
              outType = ElementType::f32;
  /// In the types; negative if they are not.
  Index batch = -1, length = -1;
  Tokens input;
  std::vector<Tokens> outs;
  Index panel = 0; ///< Columns of one, 0 for a weight that is not packed.
  bool inPairs = false;
  bool isTransposed = false; ///< The kernel's argument is (N, K).
  bool hasBias = false;
  ElementType biasType = ElementType::f32;

  Index columns() const {
    Index sum = 0;
    for (const Tokens &out : outs)
      sum += out.features();
    return sum;
  }
  /// Of the argument.
  Shape weightShape() const {
    Index rows = input.features();
    if (!panel)
      return isTransposed ? Shape{columns(), rows} : Shape{rows, columns()};
    Index panels = (columns() + panel - 1) / panel;
    return inPairs ? Shape{panels, rows / 2, panel, 2}
                   : Shape{panels, rows, panel};
  }
  bool isQuantized() const { return weightType == ElementType::i8; }

  /// The kernel, of one function `f`.
  std::string text() const;
};

/// Random arguments of such a kernel.
struct ProjectionCall {
  TestTensor input, weight, scales, bias;

  ProjectionCall(const ProjectionSpec &spec, Index batch, Index length,
                 Random &random);
  std::vector<TestArgument> arguments(const ProjectionSpec &spec) const;
};

/// Runs a spec on random tensors everywhere, and expects no error.
void runSpec(const ProjectionSpec &spec, Index batch, Index length,
             Random &random);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_PROJECTIONSPEC_H
