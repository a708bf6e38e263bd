//===- Layer.h - The oracle for a layer's other ops ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_LAYER_H
#define ATTN_REFERENCE_LAYER_H

#include "attn/error.h"
#include "attn/tensor_view.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace attn::reference {

/// What attn.rope computes, in double precision.
struct RopeProblem {
  TensorView input;        ///< (B, H, S, D), of any float type and strides.
  TensorView cosine, sine; ///< (S_max, R / 2).
  bool interleaved = false;
  /// Of every row, (B, S), row-major.
  std::vector<std::int64_t> positions;
};

/// (B, H, S, D), dense. An error for a position that is in no table.
Expected<std::vector<double>> rope(const RopeProblem &problem);

/// What attn.merge computes, in double precision, of outputs (B, H, S, D) and
/// log-sum-exps (B, H, S).
struct MergeProblem {
  TensorView output1, logSumExp1, output2, logSumExp2;
};

struct MergeResult {
  std::vector<double> output;    ///< (B, H, S, D), dense.
  std::vector<double> logSumExp; ///< (B, H, S), dense.
};

Expected<MergeResult> merge(const MergeProblem &problem);

/// What attn.projection computes, in double precision.
struct ProjectionProblem {
  TensorView input; ///< (B, S, K) or (B, H, S, D), of any float type.
  /// (K, N), (panels, K, P) or (panels, K / 2, P, 2).
  TensorView weight;
  std::optional<TensorView> scales, bias; ///< (N).
  /// Shapes of the results, (B, S, N_i) or (B, H_i, S, D_i).
  std::vector<std::vector<std::int64_t>> outputs;
};

/// Each result, dense.
Expected<std::vector<std::vector<double>>>
project(const ProjectionProblem &problem);

/// What attn.head_norm computes, in double precision.
struct HeadNormProblem {
  TensorView input; ///< (B, H, S, D), of any float type and strides.
  /// (D) or (H, D); all ones when absent.
  std::optional<TensorView> weight;
  double epsilon = 1e-5;
  std::optional<std::int64_t> layer; ///< For the scale, N4.
};

/// (B, H, S, D), dense.
Expected<std::vector<double>> headNorm(const HeadNormProblem &problem);

/// What attn.dropout computes, in double precision.
struct OutputDropoutProblem {
  TensorView input; ///< (B, S, M), of any float type and strides.
  double rate = 0;
  std::uint64_t seed = 0;
  std::uint32_t call = 0;
};

/// (B, S, M), dense.
Expected<std::vector<double>> dropout(const OutputDropoutProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_LAYER_H
