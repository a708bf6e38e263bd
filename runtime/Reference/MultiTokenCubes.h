//===- MultiTokenCubes.h - Steps of multi-token attention -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the oracles of multi-token attention and of its gradients compute on the
// way, with whole matrices.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTITOKENCUBES_H
#define ATTN_REFERENCE_MULTITOKENCUBES_H

#include "runtime/Reference/MultiToken.h"

#include <string>

namespace attn::reference {

/// A number for each head, query and key of one batch entry.
struct Cube {
  using Index = std::int64_t;

  Index heads = 0, queries = 0, keys = 0;
  std::vector<double> elements = {};

  Cube() = default;
  Cube(Index heads, Index queries, Index keys)
      : heads(heads), queries(queries), keys(keys),
        elements(std::size_t(heads * queries * keys)) {}
  double &at(Index h, Index i, Index j) {
    return elements[std::size_t((h * queries + i) * keys + j)];
  }
  double at(Index h, Index i, Index j) const {
    return elements[std::size_t((h * queries + i) * keys + j)];
  }
  bool contains(Index i, Index j) const {
    return i >= 0 && i < queries && j >= 0 && j < keys;
  }
  /// 0 outside.
  double get(Index h, Index i, Index j) const {
    return contains(i, j) ? at(h, i, j) : 0;
  }
};

/// The stages on one side, as numbers.
struct StageNumbers {
  using Index = std::int64_t;

  std::vector<double> kernel, mixing; ///< Empty if absent.
  /// Heads of a group, of the kernel and of the mixing.
  Index kernelHeads = 1, mixedHeads = 1;
  Index kernelQueries = 0, kernelKeys = 0;
  /// Rows before its own that a row depends on.
  Index halo = 0;

  /// `visit(number, e, a, c)` for the elements of the kernel of head `h`: their
  /// places in it, and how far they reach.
  template <typename Visit> void visitKernel(Index h, Visit visit) const {
    std::size_t number =
        std::size_t(h * kernelHeads * kernelQueries * kernelKeys);
    for (Index e = 0; e < kernelHeads; ++e)
      for (Index a = 0; a < kernelQueries; ++a)
        for (Index c = 0; c < kernelKeys; ++c)
          visit(number++, h - h % kernelHeads + e, a - (kernelQueries - 1),
                c - (kernelKeys - 1) / 2);
  }
  /// Where the weight with which head `h` reads the `e`th of its group is.
  std::size_t getWeight(Index h, Index e) const {
    return std::size_t((h / mixedHeads * mixedHeads + e) * mixedHeads +
                       h % mixedHeads);
  }
};

/// What a side's stages read and make, 0 where hidden.
struct StagedCubes {
  Cube read, convolved, result;
};

/// The steps of one batch entry.
struct MultiTokenCubes {
  std::int64_t offset = 0; ///< Position of the first query.
  std::vector<bool> hidden;
  Cube products; ///< Scaled, of what is not hidden.
  StagedCubes before, after;
  std::vector<double> logSumExp; ///< (heads, queries)
};

/// What the stages make of a cube, 0 where hidden.
StagedCubes applyStages(const StageNumbers &stages, Cube cube,
                        const std::vector<bool> &hidden);

/// A problem with its operands as numbers.
class MultiTokenSteps {
public:
  using Index = std::int64_t;

  /// Or says which part of the problem is malformed.
  static Expected<MultiTokenSteps> create(const MultiTokenProblem &problem);
  Expected<MultiTokenCubes> compute(Index b) const;

  /// The row of keys that head `h` of entry `b` sees at column `j`.
  Index getKeyRow(Index b, Index h, Index j) const {
    return (b * keyHeads + h / (heads / keyHeads)) * keys + j;
  }

  MultiTokenProblem problem;
  StageNumbers before, after;
  std::vector<double> query, key, value;
  Index batches = 0, heads = 0, queries = 0, keyHeads = 0, keys = 0,
        keySize = 0, valueSize = 0;
  Index rows = 0; ///< Of the output.
  double scale = 1;

private:
  Expected<Cube> computeScores(Index b, MultiTokenCubes &cubes) const;
  Cube computeSoftmax(Cube scores, MultiTokenCubes &cubes) const;
};

} // namespace attn::reference

#endif // ATTN_REFERENCE_MULTITOKENCUBES_H
