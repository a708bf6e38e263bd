//===- MasksAndScores.cpp - Masks and scores in Python --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/MasksAndScores.h"

#include "python/src/Captures.h"
#include "python/src/Values.h"

#include <algorithm>
#include <optional>

namespace nb = nanobind;
using namespace nb::literals;
using namespace attn;
using namespace attn::python;
using detail::Declaration, detail::DeclarationPtr;
using detail::getPosition, detail::Symbol;
using std::string;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static Mask traceMask(const nb::callable &function) {
  nb::object result =
      function(getPosition(Symbol::batch), getPosition(Symbol::head),
               getPosition(Symbol::query), getPosition(Symbol::key));
  std::optional<Value> value = toValue(result);
  const Bool *keep = value ? std::get_if<Bool>(&*value) : nullptr;
  if (!keep)
    throwTypeError("mask: expected a function that gives a Bool, such as k <= "
                   "q, got " +
                   typeName(result));
  return Mask(detail::Item{keep->node(), {}, {}, {}});
}

static Mask makeKeyPadding(const Captured &tensor) {
  const DeclarationPtr &declaration = tensor.declaration;
  Index b = getPosition(Symbol::batch), k = getPosition(Symbol::key);
  if (isBoolean(declaration->type)) {
    checkTensor("key_padding", *declaration, 2, isBoolean,
                "i1, or one of 1 dimension of integers");
    return detail::createKeyPadding(
        Bool(detail::createLoad(declaration, {b.node(), k.node()})),
        declaration);
  }
  checkTensor("key_padding", *declaration, 1, isInteger,
              "integers, or one of 2 dimensions of i1");
  return detail::createKeyPadding(
      k < Index(detail::createLoad(declaration, {b.node()})), declaration);
}

static Mask makePrefixLM(const Captured &lengths) {
  checkTensor("prefix_lm", *lengths.declaration, 1, isInteger, "integers");
  return detail::createPrefixLM(
      Index(detail::createLoad(lengths.declaration,
                               {getPosition(Symbol::batch).node()})),
      lengths.declaration);
}

static Mask makeDocument(const Captured &ofQuery, const Captured &ofKey) {
  const DeclarationPtr &query = ofQuery.declaration, &key = ofKey.declaration;
  checkTensor("document", *query, 2, isInteger, "integers");
  checkTensor("document", *key, 2, isInteger, "integers");
  if (query->type != key->type)
    throwTypeError("document: expected two Tensors of one type, got " +
                   describe(*query) + " and " + describe(*key));
  Index b = getPosition(Symbol::batch);
  auto load = [&](const DeclarationPtr &tensor, Symbol position) {
    return Index(
        detail::createLoad(tensor, {b.node(), getPosition(position).node()}));
  };
  return detail::createDocument(
      load(query, Symbol::query) == load(key, Symbol::key), query, key);
}

/// Throws a TypeError unless a tensor broadcasts to (B, H, Sq, Skv).
static void checkBroadcast(const char *what, const Declaration &tensor,
                           bool (*isRight)(ElementType), const char *types) {
  checkTensor(what, tensor, std::min<std::size_t>(tensor.shape.size(), 4),
              isRight, types);
}

static Mask makeBoolean(const DeclarationPtr &allowed, Symbol query) {
  checkBroadcast("boolean", *allowed, isBoolean, "i1");
  return detail::createBoolean(allowed, query);
}

Mask python::toMask(nb::handle mask) {
  if (nb::isinstance<Mask>(mask))
    return nb::cast<Mask>(mask);
  if (PyCallable_Check(mask.ptr()))
    return traceMask(nb::borrow<nb::callable>(mask));
  throwTypeError("mask: expected a Mask or a function of (b, h, q, k), got " +
                 typeName(mask));
}

static void bindMasks(nb::module_ &module) {
  nb::class_<Mask>(module, "Mask",
                   R"(Which keys a query attends to.

Masks are combined with ``&``, ``|`` and ``~``.)")
      .def(
          "__and__", [](const Mask &a, const Mask &b) { return a && b; },
          nb::is_operator())
      .def(
          "__or__", [](const Mask &a, const Mask &b) { return a || b; },
          nb::is_operator())
      .def("__invert__", [](const Mask &a) { return !a; })
      .def("__bool__", [](const Mask &) -> bool {
        throwTypeError("use &, | and ~ instead of and, or and not: a Mask is "
                       "neither true nor false");
      });
  module.def(
      "mask", &traceMask, "function"_a,
      R"(Keeps the positions where ``function(b, h, q, k)`` is true: of batch (or
sequence), query head, position of the query and position of the key.)");
  module.def("causal", &causal, "Keys up to the query's position.");
  module.def(
      "sliding_window", &slidingWindow, "left"_a, "right"_a,
      R"(Keys from ``left`` before to ``right`` after the query's position; -1 is
unbounded on that side.)");
  module.def(
      "prefix_lm", &makePrefixLM, "lengths"_a,
      "The first ``lengths[b]`` keys, and those up to the query's position.");
  module.def(
      "key_padding", &makeKeyPadding, "tensor"_a,
      R"(The first ``tensor[b]`` keys, of integers; or the keys where ``tensor[b, k]``,
of i1.)");
  module.def(
      "document", &makeDocument, "of_query"_a, "of_key"_a,
      R"(Keys of the query's document: where ``of_query[b, q] == of_key[b, k]``.)");
  module.def(
      "boolean",
      [](const Captured &allowed) {
        return makeBoolean(allowed.declaration, Symbol::query);
      },
      "allowed"_a,
      R"(Where ``allowed[b, h, q, k]``, of i1, with the position of the query.

Given as ``rows(allowed)``, with its row in the call. Leading dimensions may be
missing, and a dimension of a size that is known to be 1 stands for any.)");
  module.def(
      "boolean",
      [](const CapturedRows &allowed) {
        return makeBoolean(allowed.declaration, Symbol::row);
      },
      "allowed"_a);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

static Score traceScore(const nb::callable &function) {
  nb::object result =
      function(Expr(detail::getSymbol(Symbol::score)),
               getPosition(Symbol::batch), getPosition(Symbol::head),
               getPosition(Symbol::query), getPosition(Symbol::key));
  Real changed = python::toReal(
      result,
      "score: expected a function that gives a number, such as s - abs(q - k)");
  return Score(detail::Item{changed.node(), {}, {}, {}});
}

static Score makeAlibi(const Captured &slopes) {
  checkTensor("alibi", *slopes.declaration, 1, isReal,
              "floating-point numbers");
  return detail::createAlibi(
      Real(detail::createLoad(slopes.declaration,
                              {getPosition(Symbol::head).node()})),
      slopes.declaration);
}

static Score makeBias(const DeclarationPtr &terms, Symbol query) {
  checkBroadcast("bias", *terms, isReal, "floating-point numbers");
  return detail::createBias(terms, query);
}

Score python::toScore(nb::handle score) {
  if (nb::isinstance<Score>(score))
    return nb::cast<Score>(score);
  if (PyCallable_Check(score.ptr()))
    return traceScore(nb::borrow<nb::callable>(score));
  throwTypeError(
      "score: expected a Score or a function of (s, b, h, q, k), got " +
      typeName(score));
}

static void bindScores(nb::module_ &module) {
  nb::class_<Score>(module, "Score",
                    R"(How scores change before the softmax.

``a | b`` is first ``a``, then ``b``.)")
      .def(
          "__or__", [](const Score &a, const Score &b) { return a | b; },
          nb::is_operator());
  module.def(
      "score", &traceScore, "function"_a,
      R"(What ``function(s, b, h, q, k)`` makes of a score: of the scaled dot product,
batch (or sequence), query head, position of the query and position of the key.)");
  module.def(
      "softcap",
      [](nb::handle cap) {
        return softcap(python::toReal(cap, "softcap: expected a number"));
      },
      "cap"_a,
      R"(``cap * tanh(s / cap)``: bounds scores by a positive number, or by an
``attn.scalar``.)");
  module.def(
      "alibi", &makeAlibi, "slopes"_a,
      R"(``s - slopes[h] * abs(q - k)``, with one slope for each query head (Press et
al., arXiv:2108.12409).)");
  module.def(
      "bias",
      [](const Captured &terms) {
        return makeBias(terms.declaration, Symbol::query);
      },
      "terms"_a,
      R"(``s + terms[b, h, q, k]``, with the position of the query.

Given as ``rows(terms)``, with its row in the call. Leading dimensions may be
missing, and a dimension of a size that is known to be 1 stands for any.)");
  module.def(
      "bias",
      [](const CapturedRows &terms) {
        return makeBias(terms.declaration, Symbol::row);
      },
      "terms"_a);
}

void python::bindMasksAndScores(nb::module_ &module) {
  bindMasks(module);
  bindScores(module);
}
