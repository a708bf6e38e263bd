//===- Attention.cpp - Variants of attention in Python --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Attention.h"

#include "python/src/Captures.h"
#include "python/src/Errors.h"
#include "python/src/MasksAndScores.h"
#include "python/src/Types.h"
#include "python/src/Values.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cctype>
#include <cstring>
#include <optional>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;
using namespace attn;
using namespace attn::python;
using detail::Declaration;
using std::string;

/// Calls `function<T>()` with the one of these types that is `type`, or the
/// last.
template <typename T, typename... More, typename Function>
static auto withType(ElementType type, const Function &function) {
  if constexpr (sizeof...(More) > 0)
    if (type != elementTypeOf<T>)
      return withType<More...>(type, function);
  return function.template operator()<T>();
}

template <typename Function>
static Offset withInteger(ElementType type, const Function &function) {
  return withType<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(
      type, function);
}

/// The Tensor of C++, of a declaration with one dimension of T.
template <typename T> static Tensor<T, 1> toVector(const Captured &tensor) {
  return Tensor<T, 1>(tensor.declaration->name, tensor.declaration->shape[0]);
}

static Offset toOffset(nb::handle offset) {
  if (nb::isinstance<Captured>(offset)) {
    const Captured &tensor = nb::cast<const Captured &>(offset);
    checkTensor("offset", *tensor.declaration, 1, isInteger, "integers");
    return withInteger(tensor.declaration->type, [&]<typename T>() {
      return Offset(toVector<T>(tensor));
    });
  }
  if (nb::isinstance<IndexScalar>(offset)) {
    const Declaration &scalar =
        *nb::cast<const IndexScalar &>(offset).declaration;
    return withInteger(scalar.type, [&]<typename T>() {
      return Offset(attn::Scalar<T>(scalar.name));
    });
  }
  if (PyLong_CheckExact(offset.ptr())) {
    long long tokens = PyLong_AsLongLong(offset.ptr());
    if (tokens == -1 && PyErr_Occurred())
      nb::raise_python_error();
    return Offset(tokens);
  }
  if (nb::isinstance<nb::str>(offset) &&
      nb::cast<string>(offset) == "bottom_right")
    return Offset::bottomRight();
  throwTypeError("offset: expected an int, an attn.scalar or a Tensor of "
                 "integers, or 'bottom_right', got " +
                 string(nb::repr(offset).c_str()));
}

static Sink toSink(const Captured &logits) {
  checkTensor("sink", *logits.declaration, 1, isReal, "floating-point numbers");
  return withType<double, float, f16, bf16>(
      logits.declaration->type,
      [&]<typename T>() { return Sink(toVector<T>(logits)); });
}

static Sequences toSequences(const std::pair<Captured, Captured> &lengths) {
  for (const Captured &tensor : {lengths.first, lengths.second})
    checkTensor(
        "sequences", *tensor.declaration, 1,
        [](ElementType type) { return type == ElementType::i32; }, "i32");
  return {toVector<std::int32_t>(lengths.first),
          toVector<std::int32_t>(lengths.second)};
}

string python::unwrapText(Expected<string> text) {
  if (text)
    return *text;
  // Members have other names in Python.
  static constexpr std::pair<const char *, const char *> names[] = {
      {"queryHeads", "heads"},
      {"keyValueHeads", "kv_heads"},
      {"headSize", "head_size"},
      {"isPacked", "packed"},
      {"isRing", "ring"},
      {"hasCounts", "counts"},
      {"outputWidth", "output_width"},
      {"sourceWidth", "source_width"},
      {"isFused", "fused"},
      {"hasBias", "bias"},
      {"hasOutputBias", "output_bias"},
      {"hasMemory", "memory"},
      {"headNorms", "head_norms"},
      {"hasPositions", "positions"},
      {"outputDropout", "output_dropout"},
      {"mixedHeads", "mixed_heads"},
      {"headNorm", "head_norm"},
      {"hasGate", "gate"},
      {"valueHeadSize", "value_head_size"},
      {"queryLength", "query_length"},
      {"keyLength", "key_length"},
      {"dynamic", "None"}};
  string message = text.error().message;
  // What is in quotes is a name of the user's.
  auto isInWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\'';
  };
  for (auto [member, name] : names)
    for (std::size_t at = 0; (at = message.find(member, at)) != string::npos;
         ++at) {
      std::size_t end = at + std::strlen(member);
      if ((at == 0 || !isInWord(message[at - 1])) &&
          (end == message.size() || !isInWord(message[end])))
        message.replace(at, end - at, name);
    }
  throwError(message);
}

using Size = std::optional<std::int64_t>;

static void initialize(
    Attention *self, std::int64_t heads, std::int64_t headSize,
    Size keyValueHeads, Size valueHeadSize, const string &type, Size batch,
    Size queryLength, Size keyLength, std::optional<nb::object> scale,
    std::optional<nb::object> offset, std::optional<Captured> sink,
    std::optional<std::pair<Captured, Captured>> sequences,
    const std::optional<Dropout> &dropout, std::optional<nb::object> score,
    std::optional<nb::object> mask, bool logSumExp, bool isBatchInvariant) {
  Attention attention{.type = parseType("type", type),
                      .queryHeads = heads,
                      .keyValueHeads = keyValueHeads,
                      .headSize = headSize,
                      .valueHeadSize = valueHeadSize,
                      .batch = batch.value_or(dynamic),
                      .queryLength = queryLength.value_or(dynamic),
                      .keyLength = keyLength.value_or(dynamic),
                      .dropout = dropout,
                      .logSumExp = logSumExp,
                      .isBatchInvariant = isBatchInvariant};
  if (scale)
    attention.scale = python::toReal(
        *scale, "scale: expected a number or an attn.scalar of one");
  if (offset)
    attention.offset = toOffset(*offset);
  if (sink)
    attention.sink = toSink(*sink);
  if (sequences)
    attention.sequences = toSequences(*sequences);
  if (score)
    attention.score = toScore(*score);
  if (mask)
    attention.mask = toMask(*mask);
  new (self) Attention(std::move(attention));
}

void python::bindAttention(nb::module_ &module) {
  nb::class_<Dropout>(module, "Dropout",
                      R"(Drops probabilities, with the generator Philox.

A call takes two integers of these names, a seed (i64) and the number of the call
(i32).)")
      .def(
          "__init__",
          [](Dropout *self, double rate, const string &seed,
             const string &call) {
            new (self) Dropout{rate, attn::Scalar<std::int64_t>(seed),
                               attn::Scalar<std::int32_t>(call)};
          },
          "rate"_a, "seed"_a = "seed", "call"_a = "call");

  nb::class_<Attention>(module, "Attention",
                        R"(A variant of attention.

Its kernel takes ``query`` (B, heads, Sq, head_size), ``key`` (B, kv_heads, Skv,
head_size) and ``value`` (B, kv_heads, Skv, value_head_size); after them every
Tensor and scalar that is mentioned, in the order scale, offset, sink, sequences,
dropout, score, mask. It gives the output (B, heads, Sq, value_head_size), and with
``log_sum_exp`` the log-sum-exp of the scores (B, heads, Sq).)")
      .def(
          "__init__", &initialize, nb::kw_only(), "heads"_a, "head_size"_a,
          "kv_heads"_a = nb::none(), "value_head_size"_a = nb::none(),
          "type"_a = "f32", "batch"_a = nb::none(),
          "query_length"_a = nb::none(), "key_length"_a = nb::none(),
          "scale"_a = nb::none(), "offset"_a = nb::none(),
          "sink"_a = nb::none(), "sequences"_a = nb::none(),
          "dropout"_a = nb::none(), "score"_a = nb::none(),
          "mask"_a = nb::none(), "log_sum_exp"_a = false,
          "batch_invariant"_a = false,
          R"(``type`` is that of query, key, value and output: f64, f32, f16 or bf16. There are
as many ``kv_heads`` as heads if they are None, and ``value_head_size`` is
``head_size``; ``batch`` and lengths that are None are known when the kernel is called.

``scale`` is 1 / sqrt(head_size) unless it is a number or a scalar. ``offset`` is the
position of the first query: an int, a scalar, a Tensor with one for each batch, or
'bottom_right', the key length less the query length. ``sink`` is a Tensor with a
logit for each head, which joins the softmax. ``sequences`` are two Tensors of i32,
the cumulative lengths (N + 1) of queries and of keys in a packed batch. ``score`` and
``mask`` are a Score and a Mask, or functions as ``attn.score`` and ``attn.mask`` take
them. With ``batch_invariant`` a query's output does not depend on how many there are
in a call.)")
      .def(
          "text", [](const Attention &self) { return unwrapText(self.text()); },
          "The kernel in the ``attn`` dialect.");
}
