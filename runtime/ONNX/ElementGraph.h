//===- ElementGraph.h - Graphs of one element at a time ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph that changes the scores of an attention is one of whole tensors. What
// it makes of one score is code for a region, if every element of its result
// depends on the score of its own position alone.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_ELEMENTGRAPH_H
#define ATTN_RUNTIME_ONNX_ELEMENTGRAPH_H

#include "runtime/ONNX/NodeImport.h"
#include "runtime/ONNX/Tensors.h"

#include "dialect/Attention/NamedMasksAndScores.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace attn::onnx {

struct LazyTensor;
using LazyValue = std::shared_ptr<const LazyTensor>;

/// Where the code of elements is written, and what it reads.
class ElementScope {
public:
  /// `score` is what the graph changes, null if it may not be read, `position`
  /// its indices, and `captures` those of the graph as values of this place.
  ElementScope(mlir::attn::RegionBuilder at, Value score,
               const mlir::attn::Position &position, ValueRange captures)
      : at(at), score(score),
        position({position.b, position.h, position.p, position.j}),
        captures(captures) {}

  /// An element; null if it depends on a score that it may not.
  Value load(const LazyValue &tensor, ArrayRef<Value> indices);
  /// The same of a tensor that broadcasts to `shape`.
  Value loadBroadcast(const LazyValue &tensor, ArrayRef<OpFoldResult> shape,
                      ArrayRef<Value> indices);
  Value zero();

  const mlir::attn::RegionBuilder at;
  const Value score;
  const SmallVector<Value, 4> position;
  const ValueRange captures;

private:
  /// Each element is computed once.
  std::map<std::pair<const LazyTensor *, std::vector<void *>>, Value> known;
  Value zeroIndex;
};

/// A tensor of a graph, by the code of its elements.
struct LazyTensor {
  Sizes shape;
  Type elementType;
  std::function<Value(ElementScope &, ArrayRef<Value>)> load = nullptr;
  /// The elements, where it is of a few integers that are known.
  std::optional<Sizes> integers = std::nullopt;
  /// Whether it is the number -inf, or the score as it was.
  bool isHidden = false, isScore = false;
};

/// A graph that changes scores, as code.
struct ElementGraph {
  /// Those of all scores.
  Sizes shape;
  /// The score, and, where the graph makes scores of -inf by a condition, the
  /// condition under which it does not; null if it has none.
  LazyValue score = nullptr, keep = nullptr;
  /// What their code reads from outside.
  SmallVector<Value> captures = {};
};

/// Reads a graph of one input and one output, both of `shape` and type. `what`
/// is its name for messages.
FailureOr<ElementGraph> readElementGraph(NodeImport &at, const Graph &graph,
                                         StringRef what,
                                         ArrayRef<OpFoldResult> shape,
                                         Type type);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_ELEMENTGRAPH_H
