//===- GroupQuery.cpp - ONNX Runtime's GroupQueryAttention ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Rotation.h"
#include "runtime/ONNXRuntime/Tensors.h"

#include <algorithm>

using namespace attn;
using namespace attn::ort;
using std::string;

namespace {
/// The indices of inputs and outputs.
enum Input : std::uint8_t {
  query,
  key,
  value,
  pastKey,
  pastValue,
  lastKeys,
  totalLength,
  cosine,
  sine,
  positions,
  bias,
  sink,
  numInputs
};
enum Output : std::uint8_t { result, presentKey, presentValue, products };

/// Query, key and value of a call, or of the graph, with the number of elements
/// from one token to the next in their tensors.
struct Projections {
  Heads query, key;
  std::int64_t queryStride = dynamic, keyStride = dynamic;
};

/// What a call says of the lengths of its sequences.
struct Lengths {
  std::int64_t total; ///< The longest, in the past and new.
  Shape before;       ///< Of each batch, the tokens before the first query.
};

class GroupQueryOperator : public Operator {
public:
  GroupQueryOperator(Session &session, const GraphNode &node);
  void prepare() override;
  void run(const Call &call) override;

private:
  Projections readProjections(const Shape &query, const Shape &key,
                              const Shape &value) const;
  Lengths readLengths(const Call &call, const Projections &sizes,
                      const TensorValue &past) const;
  Form createForm(const Projections &sizes, Form::Offsets offsets) const;

  Session &session;
  Kernels kernels;
  std::int64_t queryHeads, keyValueHeads;
  bool isPacked, isRotated, isInterleaved;
  Form base; ///< What all calls have in common.
  Projections known;
  Shape knownBias;
};
} // namespace

GroupQueryOperator::GroupQueryOperator(Session &session, const GraphNode &node)
    : session(session), kernels(session),
      queryHeads(node.integer("num_heads", 0)),
      keyValueHeads(node.integer("kv_num_heads", 0)),
      isPacked(!node.input(key)), isRotated(node.integer("do_rotary", 0) != 0),
      isInterleaved(node.integer("rotary_interleaved", 0) != 0) {
  node.expectOnly({"causal", "do_rotary", "k_norm_epsilon", "k_quant_type",
                   "kv_cache_bit_width", "kv_num_heads", "local_window_size",
                   "num_heads", "q_norm_epsilon", "qk_norm_epsilon",
                   "qk_output", "rotary_interleaved", "scale",
                   "sliding_window_cache", "smooth_softmax", "softcap",
                   "v_quant_type"},
                  numInputs);
  if (queryHeads <= 0 || keyValueHeads <= 0 || queryHeads % keyValueHeads != 0)
    decline("num_heads is not a multiple of kv_num_heads");
  base.type = readFloatType(node);
  for (Input input : {key, value, pastKey, pastValue, cosine, sine, bias, sink})
    if (node.input(input) && node.input(input).type != base.type)
      decline("types of its inputs differ");
  if (node.output(products))
    decline("output_qk is used");
  for (const char *attribute : {"k_quant_type", "v_quant_type"})
    if (node.string(attribute, "NONE") != "NONE")
      decline(string(attribute) + " is not NONE");
  if (node.integer("sliding_window_cache", 0) != 0)
    decline("sliding_window_cache is used");
  if (bool(node.input(key)) != bool(node.input(value)) ||
      bool(node.input(pastKey)) != bool(node.input(pastValue)))
    decline("keys and values are not used together");
  if (isRotated && !(node.input(cosine) && node.input(sine)))
    decline("it rotates without tables");
  if (isRotated && node.input(positions))
    decline("it rotates by position_ids");
  if (node.input(sink) && node.integer("smooth_softmax", 0) > 0)
    decline("smooth_softmax is used with head_sink");

  base.queryHeads = queryHeads;
  base.keyValueHeads = keyValueHeads;
  if (float scale = node.real("scale", 0); scale != 0)
    base.scale = scale;
  base.softcap = node.real("softcap", 0);
  base.isCausal = node.integer("causal", 1) != 0;
  // The window counts the query's own key.
  if (std::int64_t window = node.integer("local_window_size", -1); window > 0)
    base.left = window - 1;
  base.hasSink =
      bool(node.input(sink)) || node.integer("smooth_softmax", 0) > 0;
  // Causal queries see no key after those of their sequence.
  base.hasLengths = !base.isCausal;
  if (const GraphValue &terms = node.input(bias)) {
    base.mask = Form::Mask::additive;
    knownBias = terms.shape;
  }
  known = readProjections(node.input(query).shape, node.input(key).shape,
                          node.input(value).shape);
}

Projections GroupQueryOperator::readProjections(const Shape &query,
                                                const Shape &key,
                                                const Shape &value) const {
  Projections sizes;
  for (const Shape *shape : {&query, &key, &value})
    if (!shape->empty() && shape->size() != 3)
      refuse("query, key and value: expected rank 3, got " + describe(*shape));
  if (isPacked) {
    // All heads of queries, then those of keys, then those of values.
    sizes.query = readHeads("query", query, queryHeads + 2 * keyValueHeads);
    sizes.query.heads = queryHeads;
    sizes.key = sizes.query;
    sizes.key.heads = keyValueHeads;
  } else {
    sizes.query = readHeads("query", query, queryHeads);
    sizes.key = readHeads("key", key, keyValueHeads);
    Heads v = readHeads("value", value, keyValueHeads);
    for (const Heads &other : {sizes.key, v}) {
      expectSize("batch of key and value", sizes.query.batch, other.batch);
      expectSize("length of key and value", sizes.query.length, other.length);
      expectSize("head size of key and value", sizes.query.size, other.size);
    }
  }
  if (!query.empty())
    sizes.queryStride = query[2];
  sizes.keyStride = isPacked || key.empty() ? sizes.queryStride : key[2];
  return sizes;
}

Lengths GroupQueryOperator::readLengths(const Call &call,
                                        const Projections &sizes,
                                        const TensorValue &past) const {
  TensorValue last = call.input(lastKeys), total = call.input(totalLength);
  std::int64_t batches = sizes.query.batch, length = sizes.query.length;
  std::int64_t numLast = 1, numTotal = 1;
  for (std::int64_t size : last.shape)
    numLast *= size;
  for (std::int64_t size : total.shape)
    numTotal *= size;
  if (last.type != ElementType::i32 || numLast != batches)
    refuse("seqlens_k: expected " + std::to_string(batches) +
           " numbers of i32, got " + describe(last.shape));
  if (total.type != ElementType::i32 || numTotal != 1)
    refuse("total_sequence_length: expected a number of i32, got " +
           describe(total.shape));
  Lengths lengths = {*static_cast<const std::int32_t *>(total.data), {}};
  std::int64_t pastLength = past ? past.shape[2] : 0;
  if (lengths.total < length || (!past && lengths.total != length))
    refuse("total_sequence_length: expected the " + std::to_string(length) +
           " new tokens" + (past ? " and those of the past" : "") + ", got " +
           std::to_string(lengths.total));
  const auto *lasts = static_cast<const std::int32_t *>(last.data);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    // Of a prompt the sequences may be shorter, and are padded.
    std::int64_t before = lengths.total == length
                              ? 0
                              : std::max<std::int64_t>(
                                    lasts[batch] + std::int64_t(1) - length, 0);
    if (before > pastLength || before + length > lengths.total ||
        lasts[batch] < 0 || lasts[batch] >= lengths.total)
      refuse("seqlens_k: expected the new tokens and at most the " +
             std::to_string(pastLength) + " of the past, less 1, got " +
             std::to_string(lasts[batch]) + " for batch " +
             std::to_string(batch));
    lengths.before.push_back(before);
  }
  return lengths;
}

Form GroupQueryOperator::createForm(const Projections &sizes,
                                    Form::Offsets offsets) const {
  Form form = base;
  form.headSize = form.valueHeadSize = sizes.query.size;
  form.batch = known.query.batch;
  form.queryLength = known.query.length;
  form.offsets = offsets;
  return form;
}

void GroupQueryOperator::prepare() {
  // Of a bias, only calls know which dimensions it has.
  if (known.query.size >= 0 && base.mask == Form::Mask::none)
    kernels.get(createForm(known, Form::Offsets::one));
}

void GroupQueryOperator::run(const Call &call) {
  TensorValue q = call.input(query), k = call.input(key), v = call.input(value);
  TensorValue pastK = call.input(pastKey), pastV = call.input(pastValue);
  Projections sizes = readProjections(q.shape, k.shape, v.shape);
  Heads keys = sizes.key;
  for (const TensorValue *past : {&pastK, &pastV})
    if (*past && (past->shape.size() != 4 || past->shape[0] != keys.batch ||
                  past->shape[1] != keys.heads || past->shape[3] != keys.size ||
                  past->shape[2] != pastK.shape[2]))
      refuse("past_key and past_value: expected " +
             describe({keys.batch, keys.heads, dynamic, keys.size}) + ", got " +
             describe(past->shape));
  Lengths lengths = readLengths(call, sizes, pastK);
  auto before = [&](std::int64_t batch) { return lengths.before[batch]; };

  // Where queries, keys and values begin, of one tensor or of three.
  ElementType type = base.type;
  auto view = [&](const TensorValue &tensor, const Heads &heads,
                  std::int64_t skipped, std::int64_t stride) {
    const auto *data = static_cast<const std::byte *>(tensor.data);
    return viewHeads(data ? data + skipped * heads.size * sizeOf(type) : data,
                     type, heads, stride);
  };
  std::int64_t stride = sizes.keyStride;
  TensorView queries = view(q, sizes.query, 0, sizes.queryStride);
  TensorView newKeys =
      view(isPacked ? q : k, keys, isPacked ? queryHeads : 0, stride);
  TensorView newValues =
      view(isPacked ? q : v, keys, isPacked ? queryHeads + keyValueHeads : 0,
           stride);

  std::optional<Scratch::Buffer> rotatedQueries, rotatedKeys;
  if (isRotated) {
    RotaryTables tables = readRotaryTables(call.input(cosine), call.input(sine),
                                           lengths.total, keys.size);
    tables.isInterleaved = isInterleaved;
    queries =
        rotate(call, tables, queries, before, session.scratch, rotatedQueries);
    newKeys =
        rotate(call, tables, newKeys, before, session.scratch, rotatedKeys);
  }

  Heads all = keys;
  all.length = std::max(lengths.total, pastK ? pastK.shape[2] : 0);
  std::optional<Scratch::Buffer> allKeys, allValues;
  auto gather = [&](const TensorView &fresh, const TensorValue &past,
                    Output present, std::optional<Scratch::Buffer> &buffer) {
    bool isWanted = call.hasOutput(present);
    if (!isWanted && !past)
      return fresh;
    void *data =
        isWanted
            ? call.output(present, {all.batch, all.heads, all.length, all.size})
            : allocate(session.scratch, all, type, buffer);
    append(call,
           {.past = past.data,
            .pastLength = past ? past.shape[2] : 0,
            .fresh = fresh,
            .present = data,
            .presentLength = all.length},
           before);
    // Without what is after the longest sequence.
    std::array<std::int64_t, 4> visible = {all.batch, all.heads, lengths.total,
                                           all.size};
    std::array<std::int64_t, 4> strides = {all.heads * all.length * all.size,
                                           all.length * all.size, all.size, 1};
    return TensorView(addressOf(data), type, visible, strides,
                      /*readOnly=*/true);
  };
  Operands operands;
  operands.set("query", queries)
      .set("key", gather(newKeys, pastK, presentKey, allKeys))
      .set("value", gather(newValues, pastV, presentValue, allValues));

  // One number for all sequences where it can be.
  bool isEven = std::ranges::all_of(lengths.before, [&](std::int64_t tokens) {
    return tokens == lengths.before.front();
  });
  Form form =
      createForm(sizes, isEven ? Form::Offsets::one : Form::Offsets::ofBatches);
  Shape batches = {all.batch};
  if (!isEven)
    operands.set("offset", TensorView(lengths.before.data(), ElementType::i64,
                                      batches, /*readOnly=*/true));
  else
    operands.set("offset", lengths.before.empty() ? 0 : lengths.before.front());
  Shape ends;
  if (form.hasLengths) {
    TensorValue last = call.input(lastKeys);
    for (std::int64_t batch = 0; batch < all.batch; ++batch)
      ends.push_back(static_cast<const std::int32_t *>(last.data)[batch] + 1);
    operands.set("lengths", TensorView(addressOf(ends.data()), ElementType::i64,
                                       batches, /*readOnly=*/true));
  }
  std::vector<std::byte> zeros;
  if (form.hasSink) {
    TensorValue logits = call.input(sink);
    // A smooth softmax has a logit of 0, whose bits are 0.
    if (!logits)
      zeros.resize(queryHeads * sizeOf(type));
    else if (logits.shape != Shape{queryHeads})
      refuse("head_sink: expected (" + std::to_string(queryHeads) + "), got " +
             describe(logits.shape));
    operands.set("sink", TensorView(logits ? logits.data : zeros.data(), type,
                                    Shape{queryHeads}, /*readOnly=*/true));
  }
  std::optional<Scratch::Buffer> biasBuffer;
  if (form.mask != Form::Mask::none) {
    TensorValue terms = call.input(bias);
    form.isBroadcast = broadcastMask(
        knownBias, terms.shape,
        {all.batch, queryHeads, sizes.query.length, lengths.total});
    operands.set("mask",
                 viewMask(terms, lengths.total, session.scratch, biasBuffer));
  }

  Heads out = sizes.query;
  void *data =
      call.output(result, {out.batch, out.length, out.heads * out.size});
  kernels.run(call, form, operands,
              viewHeads(data, type, out, out.heads * out.size,
                        /*readOnly=*/false));
}

std::unique_ptr<Operator> ort::createGroupQuery(Session &session,
                                                const GraphNode &node) {
  return std::make_unique<GroupQueryOperator>(session, node);
}
