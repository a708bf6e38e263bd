//===- Attention.cpp - The operator Attention of ONNX ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Tensors.h"

using namespace attn;
using namespace attn::ort;
using std::string;

namespace {
/// The indices of inputs and outputs.
enum Input : std::uint8_t {
  query,
  key,
  value,
  mask,
  pastKey,
  pastValue,
  keyLengths,
  numInputs
};
enum Output : std::uint8_t { result, presentKey, presentValue, products };

/// The sizes of a call, or those that the graph knows.
struct Sizes {
  Heads query, key, value;
  std::int64_t pastLength = 0;
  /// Of the past and the new ones.
  std::int64_t keyLength() const {
    return key.length < 0 || pastLength < 0 ? dynamic : key.length + pastLength;
  }
};

class AttentionOperator : public Operator {
public:
  AttentionOperator(Session &session, const GraphNode &node);
  void prepare() override;
  void run(const Call &call) override;

private:
  Sizes readSizes(const Shape &query, const Shape &key, const Shape &value,
                  const Shape *pastKey, const Shape *pastValue) const;
  Form createForm(const Sizes &sizes, const Shape &mask) const;

  Session &session;
  Kernels kernels;
  std::int64_t queryHeads, keyValueHeads; ///< 0 if absent.
  bool hasPast, hasLengths;
  Form base; ///< What all calls have in common.
  Sizes known;
  Shape knownMask;
};
} // namespace

AttentionOperator::AttentionOperator(Session &session, const GraphNode &node)
    : session(session), kernels(session),
      queryHeads(node.integer("q_num_heads", 0)),
      keyValueHeads(node.integer("kv_num_heads", 0)),
      hasPast(bool(node.input(pastKey))),
      hasLengths(bool(node.input(keyLengths))) {
  node.expectOnly({"is_causal", "kv_num_heads", "left_window_size",
                   "q_num_heads", "qk_matmul_output_mode", "right_window_size",
                   "scale", "softcap", "softmax_precision"},
                  numInputs);
  base.type = readFloatType(node);
  checkSoftmaxPrecision(node, base.type);
  if (node.output(products))
    decline("qk_matmul_output is used");
  for (Input input : {key, value, pastKey, pastValue})
    if (node.input(input) && node.input(input).type != base.type)
      decline("types of its inputs differ");
  if (hasPast != bool(node.input(pastValue)))
    decline("past keys and values are not used together");
  if (hasPast && hasLengths)
    decline("nonpad_kv_seqlen is used with past_key");
  if (const GraphValue &given = node.input(mask)) {
    if (given.type == ElementType::i1)
      base.mask = Form::Mask::boolean;
    else if (given.type == base.type)
      base.mask = Form::Mask::additive;
    else
      decline("its mask is neither of bool nor of the query's type");
    knownMask = given.shape;
  }
  base.isCausal = node.integer("is_causal", 0) != 0;
  base.left = node.integer("left_window_size", -1);
  base.right = node.integer("right_window_size", -1);
  base.softcap = node.real("softcap", 0);
  if (node.has("scale"))
    base.scale = node.real("scale", 0);
  base.hasLengths = hasLengths;
  if (base.isCausal || base.left >= 0 || base.right >= 0)
    base.offsets = hasPast      ? Form::Offsets::one
                   : hasLengths ? Form::Offsets::ofBatches
                                : Form::Offsets::none;
  known = readSizes(node.input(query).shape, node.input(key).shape,
                    node.input(value).shape,
                    hasPast ? &node.input(pastKey).shape : nullptr,
                    hasPast ? &node.input(pastValue).shape : nullptr);
}

Sizes AttentionOperator::readSizes(const Shape &query, const Shape &key,
                                   const Shape &value, const Shape *pastKey,
                                   const Shape *pastValue) const {
  Sizes sizes = {readHeads("Q", query, queryHeads),
                 readHeads("K", key, keyValueHeads),
                 readHeads("V", value, keyValueHeads)};
  const Heads &q = sizes.query, &k = sizes.key, &v = sizes.value;
  expectSameKeys(q, k, v);
  if (pastKey) {
    Heads pastK = readHeads("past_key", *pastKey, keyValueHeads);
    Heads pastV = readHeads("past_value", *pastValue, keyValueHeads);
    for (const Heads &past : {pastK, pastV}) {
      expectSize("batch of the past", q.batch, past.batch);
      expectSize("heads of the past", k.heads, past.heads);
    }
    expectSize("head size of past_key", k.size, pastK.size);
    expectSize("head size of past_value", v.size, pastV.size);
    expectSize("length of past_value", pastK.length, pastV.length);
    sizes.pastLength = pastK.length;
  }
  return sizes;
}

Form AttentionOperator::createForm(const Sizes &sizes,
                                   const Shape &mask) const {
  Form form = base;
  form.queryHeads = sizes.query.heads;
  form.keyValueHeads = sizes.key.heads;
  form.headSize = sizes.query.size;
  form.valueHeadSize = sizes.value.size;
  form.batch = known.query.batch;
  form.queryLength = known.query.length;
  form.keyLength = known.keyLength();
  if (form.mask != Form::Mask::none)
    form.isBroadcast = broadcastMask(knownMask, mask,
                                     {sizes.query.batch, sizes.query.heads,
                                      sizes.query.length, sizes.keyLength()});
  return form;
}

void AttentionOperator::prepare() {
  for (std::int64_t size :
       {known.query.heads, known.key.heads, known.query.size, known.value.size})
    if (size < 0)
      return;
  kernels.get(createForm(known, knownMask));
}

void AttentionOperator::run(const Call &call) {
  TensorValue q = call.input(query), k = call.input(key), v = call.input(value);
  TensorValue given = call.input(mask);
  TensorValue pastK = call.input(pastKey), pastV = call.input(pastValue);
  Sizes sizes =
      readSizes(q.shape, k.shape, v.shape, hasPast ? &pastK.shape : nullptr,
                hasPast ? &pastV.shape : nullptr);
  Form form = createForm(sizes, given.shape);

  // Keys and values, from where they are all together.
  std::optional<Scratch::Buffer> allKeys, allValues;
  auto gather = [&](const TensorValue &fresh, const Heads &heads,
                    const TensorValue &past, Output present,
                    std::optional<Scratch::Buffer> &buffer) {
    TensorView view = viewHeads(fresh, heads);
    bool isWanted = call.hasOutput(present);
    if (!isWanted && !past)
      return view;
    Heads all = heads;
    all.length = sizes.keyLength();
    void *data =
        isWanted
            ? call.output(present, {all.batch, all.heads, all.length, all.size})
            : allocate(session.scratch, all, form.type, buffer);
    append(call,
           {.past = past.data,
            .pastLength = sizes.pastLength,
            .fresh = view,
            .present = data,
            .presentLength = all.length},
           [&](std::int64_t) { return sizes.pastLength; });
    return viewHeads(data, form.type, all, /*tokenStride=*/0);
  };
  Operands operands;
  operands.set("query", viewHeads(q, sizes.query))
      .set("key", gather(k, sizes.key, pastK, presentKey, allKeys))
      .set("value", gather(v, sizes.value, pastV, presentValue, allValues));

  std::optional<Scratch::Buffer> maskBuffer;
  if (given)
    operands.set("mask", viewMask(given, sizes.keyLength(), session.scratch,
                                  maskBuffer));
  Shape offsets;
  if (hasLengths) {
    TensorValue lengths = call.input(keyLengths);
    if (lengths.shape != Shape{sizes.query.batch})
      refuse("nonpad_kv_seqlen: expected (" +
             std::to_string(sizes.query.batch) + "), got " +
             describe(lengths.shape));
    const auto *counts = static_cast<const std::int64_t *>(lengths.data);
    for (std::int64_t batch = 0; batch < sizes.query.batch; ++batch)
      offsets.push_back(counts[batch] - sizes.query.length);
    operands.set("lengths",
                 TensorView(addressOf(lengths.data), ElementType::i64,
                            lengths.shape, /*readOnly=*/true));
  }
  Shape batches = {sizes.query.batch};
  if (form.offsets == Form::Offsets::one)
    operands.set("offset", sizes.pastLength);
  else if (form.offsets == Form::Offsets::ofBatches)
    operands.set("offset", TensorView(addressOf(offsets.data()),
                                      ElementType::i64, batches,
                                      /*readOnly=*/true));

  Heads out = sizes.query;
  out.size = sizes.value.size;
  bool hasTokens = q.shape.size() == 3;
  std::int64_t tokenSize = out.heads * out.size;
  void *data = call.output(
      result, hasTokens ? Shape{out.batch, out.length, tokenSize}
                        : Shape{out.batch, out.heads, out.length, out.size});
  kernels.run(call, form, operands,
              viewHeads(data, form.type, out, hasTokens ? tokenSize : 0,
                        /*readOnly=*/false));
}

std::unique_ptr<Operator> ort::createAttention(Session &session,
                                               const GraphNode &node) {
  return std::make_unique<AttentionOperator>(session, node);
}
