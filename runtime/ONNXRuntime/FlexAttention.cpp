//===- FlexAttention.cpp - The operator FlexAttention of ONNX -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/ScoreGraph.h"
#include "runtime/ONNXRuntime/Tensors.h"

using namespace attn;
using namespace attn::ort;

namespace {
enum Input : std::uint8_t { query, key, value, numInputs };

/// The sizes of a call, or those that the graph knows.
struct Sizes {
  Heads query, key, value;
};

class FlexOperator : public Operator {
public:
  FlexOperator(Session &session, const GraphNode &node, ScoreChange change);
  void prepare() override;
  void run(const Call &call) override;

private:
  static Sizes readSizes(const Shape &query, const Shape &key,
                         const Shape &value);
  Form createForm(const Sizes &sizes) const;

  std::vector<CapturedTensor> captured;
  Kernels kernels;
  Form base; ///< What all calls have in common.
  Sizes known;
};
} // namespace

FlexOperator::FlexOperator(Session &session, const GraphNode &node,
                           ScoreChange change)
    : captured(std::move(change.captured)),
      kernels(session, std::move(change.score), std::move(change.mask)) {
  node.expectOnly({"prob_mod", "scale", "score_mod", "softmax_precision"},
                  numInputs);
  base.type = readFloatType(node);
  checkSoftmaxPrecision(node, base.type);
  for (Input input : {key, value})
    if (node.input(input).type != base.type)
      decline("types of its inputs differ");
  if (node.has("prob_mod"))
    decline("it has a prob_mod");
  if (node.has("scale"))
    base.scale = node.real("scale", 0);
  known = readSizes(node.input(query).shape, node.input(key).shape,
                    node.input(value).shape);
}

Sizes FlexOperator::readSizes(const Shape &query, const Shape &key,
                              const Shape &value) {
  Sizes sizes = {readHeads("Q", query, 0), readHeads("K", key, 0),
                 readHeads("V", value, 0)};
  expectSameKeys(sizes.query, sizes.key, sizes.value);
  return sizes;
}

Form FlexOperator::createForm(const Sizes &sizes) const {
  Form form = base;
  form.queryHeads = sizes.query.heads;
  form.keyValueHeads = sizes.key.heads;
  form.headSize = sizes.query.size;
  form.valueHeadSize = sizes.value.size;
  form.batch = known.query.batch;
  form.queryLength = known.query.length;
  form.keyLength = known.key.length;
  return form;
}

void FlexOperator::prepare() {
  for (std::int64_t size :
       {known.query.heads, known.key.heads, known.query.size, known.value.size})
    if (size < 0)
      return;
  kernels.get(createForm(known));
}

void FlexOperator::run(const Call &call) {
  TensorValue q = call.input(query), k = call.input(key), v = call.input(value);
  Sizes sizes = readSizes(q.shape, k.shape, v.shape);
  Operands operands;
  operands.set("query", viewHeads(q, sizes.query))
      .set("key", viewHeads(k, sizes.key))
      .set("value", viewHeads(v, sizes.value));
  std::array<std::int64_t, 4> scores = {sizes.query.batch, sizes.query.heads,
                                        sizes.query.length, sizes.key.length};
  for (const CapturedTensor &tensor : captured) {
    for (auto [dim, axis] : tensor.axes)
      expectSize("dimension " + std::to_string(axis) +
                     " of a tensor that score_mod reads",
                 scores[axis], tensor.sizes[dim]);
    const void *data = tensor.constant.data();
    if (tensor.constant.empty()) {
      TensorValue given = call.input(numInputs + tensor.input);
      Shape sizes = {tensor.sizes.begin(), tensor.sizes.end()};
      if (!given || toRank4(given.shape) != tensor.sizes)
        refuse("a tensor that score_mod reads: expected " + describe(sizes) +
               ", got " + describe(given.shape));
      data = given.data;
    }
    operands.set(tensor.name, TensorView(addressOf(data), tensor.type,
                                         tensor.sizes, /*readOnly=*/true));
  }
  Heads out = sizes.query;
  out.size = sizes.value.size;
  void *data = call.output(0, {out.batch, out.heads, out.length, out.size});
  kernels.run(call, createForm(sizes), operands,
              viewHeads(data, base.type, out, /*tokenStride=*/0,
                        /*readOnly=*/false));
}

std::unique_ptr<Operator> ort::createFlexAttention(Session &session,
                                                   const GraphNode &node) {
  ScoreChange change;
  if (const abi::Graph *graph = node.graph("score_mod"))
    change = readScoreGraph(session.api, graph, node.captured);
  return std::make_unique<FlexOperator>(session, node, std::move(change));
}
