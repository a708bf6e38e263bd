//===- ScoreGraph.h - Graphs that change scores -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_SCOREGRAPH_H
#define ATTN_RUNTIME_ONNXRUNTIME_SCOREGRAPH_H

#include "attn/attention.h"
#include "runtime/ONNXRuntime/Graph.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attn::ort {

/// A tensor that a score reads: of the graph, or of what is around it.
struct CapturedTensor {
  std::string name; ///< In the kernel.
  ElementType type;
  std::array<std::int64_t, 4> sizes; ///< With leading ones.
  std::vector<std::byte> constant;   ///< Dense; empty if an input has it.
  std::size_t input = 0;             ///< Among those that the node captures.
  /// Dimensions, and those of the scores (B, Hq, Sq, Skv) whose sizes they
  /// have.
  std::vector<std::pair<std::size_t, int>> axes = {};
};

/// What a score_mod of FlexAttention does.
struct ScoreChange {
  Score score;
  Mask mask; ///< Where it does not make scores -inf.
  std::vector<CapturedTensor> captured;
};

/// A graph takes the scores (B, Hq, Sq, Skv) and gives others. A Failure says
/// what in it is not a function of one score and its position.
ScoreChange readScoreGraph(const Api &api, const abi::Graph *graph,
                           const std::vector<GraphValue> &captured);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_SCOREGRAPH_H
