//===- onednn.cpp - The attention pattern of oneDNN's Graph API -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph that oneDNN's documentation gives for scaled dot-product attention,
// with an additive mask, as one fused partition.
//
//===----------------------------------------------------------------------===//

#include <oneapi/dnnl/dnnl_graph.hpp>

#include <cstring>
#include <memory>
#include <string>

using namespace dnnl::graph;
using Tensor = logical_tensor;
using Kind = op::kind;

namespace {

struct Attention {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  compiled_partition compiled;
  std::vector<tensor> inputs, outputs;
};

std::string message;

/// Describes the graph. Pointers are those of the inputs, by the tensors' ids.
std::unique_ptr<Attention> build(long heads, long queries, long keys, long size,
                                 bool bf16, void *query, void *key, void *value,
                                 void *scale, void *mask, void *output) {
  auto attention = std::make_unique<Attention>();
  auto type = bf16 ? Tensor::data_type::bf16 : Tensor::data_type::f32;
  std::size_t id = 0;
  auto describe = [&](Tensor::dims sizes, Tensor::data_type type) {
    return Tensor(id++, type, sizes, Tensor::layout_type::strided);
  };
  Tensor q = describe({1, heads, queries, size}, type);
  Tensor k = describe({1, heads, keys, size}, type);
  Tensor v = describe({1, heads, keys, size}, type);
  Tensor divisor = describe({1}, type);
  Tensor bias = describe({1, 1, queries, keys}, type);
  Tensor::dims pairs = {1, heads, queries, keys};
  Tensor scores = describe(pairs, type), scaled = describe(pairs, type),
         masked = describe(pairs, type), weights = describe(pairs, type);
  Tensor result = describe({1, heads, queries, size}, type);

  op dot(100, Kind::MatMul, {q, k}, {scores}, "dot");
  dot.set_attr<bool>(op::attr::transpose_b, true);
  op scaling(101, Kind::Divide, {scores, divisor}, {scaled}, "scale");
  op masking(102, Kind::Add, {scaled, bias}, {masked}, "mask");
  op softmax(103, Kind::SoftMax, {mask ? masked : scaled}, {weights},
             "softmax");
  softmax.set_attr<std::int64_t>(op::attr::axis, -1);
  op sum(104, Kind::MatMul, {weights, v}, {result}, "sum");

  graph whole(dnnl::engine::kind::cpu);
  whole.add_op(dot);
  whole.add_op(scaling);
  if (mask)
    whole.add_op(masking);
  whole.add_op(softmax);
  whole.add_op(sum);
  whole.finalize();
  std::vector<partition> partitions = whole.get_partitions();
  if (partitions.size() != 1 || !partitions[0].is_supported()) {
    message = "the graph falls into " + std::to_string(partitions.size()) +
              " partitions";
    return nullptr;
  }

  std::vector<Tensor> ports = partitions[0].get_input_ports();
  void *pointers[] = {query, key, value, scale, mask};
  Tensor described[] = {q, k, v, divisor, bias};
  std::vector<Tensor> inputs;
  for (const Tensor &port : ports)
    inputs.push_back(described[port.get_id()]);
  attention->compiled =
      partitions[0].compile(inputs, {result}, attention->engine);
  for (const Tensor &input : inputs)
    attention->inputs.emplace_back(input, attention->engine,
                                   pointers[input.get_id()]);
  attention->outputs.emplace_back(result, attention->engine, output);
  return attention;
}

} // namespace

extern "C" const char *attention_message() { return message.c_str(); }

extern "C" void *attention_create(long heads, long queries, long keys,
                                  long size, bool bf16, void *query, void *key,
                                  void *value, void *scale, void *mask,
                                  void *output) {
  try {
    return build(heads, queries, keys, size, bf16, query, key, value, scale,
                 mask, output)
        .release();
  } catch (const dnnl::error &error) {
    message = error.what();
    return nullptr;
  }
}

extern "C" void attention_run(void *handle) {
  auto *attention = static_cast<Attention *>(handle);
  attention->compiled.execute(attention->stream, attention->inputs,
                              attention->outputs);
  attention->stream.wait();
}
