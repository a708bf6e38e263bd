//===- MasksAndScores.cpp - The named ones, and combinations --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A named mask or score has a value too: for `||` and `!`, which IR has no
// names for, and for messages.
//
//===----------------------------------------------------------------------===//

#include "attn/masks.h"
#include "attn/scores.h"

#include "runtime/Builder/Node.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

using namespace attn;
using namespace attn::detail;

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

/// All items as one value.
static Bool combine(const Mask &mask) {
  if (mask.items().empty())
    return true;
  Bool result(mask.items().front().value);
  for (std::size_t i = 1; i < mask.items().size(); ++i)
    result = result && Bool(mask.items()[i].value);
  return result;
}

/// A mask without a name, of the value that `||` or `!` made of `operands`, and
/// what is named in them, once. Of very many, the last are not checked before a
/// call.
static Mask createMask(const Bool &keep,
                       std::initializer_list<const Mask *> operands) {
  std::vector<Item> parts;
  auto add = [&](const Item &item) {
    bool isNew =
        !item.arguments.empty() && parts.size() < Item::maxItems &&
        std::none_of(
            parts.begin(), parts.end(),
            [&](const Item &part) {
              return part.name == item.name &&
                     std::equal(part.arguments.begin(), part.arguments.end(),
                                item.arguments.begin(), item.arguments.end(),
                                [](const auto &x, const auto &y) {
                                  return &*x == &*y;
                                });
            });
    if (isNew)
      parts.push_back({item.value, item.name, item.literals, item.arguments});
  };
  for (const Mask *operand : operands)
    for (const Item &item : operand->items()) {
      for (const Item &part : item.parts)
        add(part);
      add(item);
    }
  return Mask(Item{keep.node(), {}, {}, {}, std::move(parts)});
}

/// The items of both; of lists that are refused, a part.
static std::vector<Item> join(const std::vector<Item> &a,
                              const std::vector<Item> &b) {
  if (a.size() > Item::maxItems)
    return {a.begin(), a.begin() + Item::maxItems + 1};
  std::vector<Item> result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

Mask attn::operator&&(const Mask &a, const Mask &b) {
  Mask result;
  result.conjunction = join(a.conjunction, b.conjunction);
  return result;
}

Mask attn::operator||(const Mask &a, const Mask &b) {
  return createMask(combine(a) || combine(b), {&a, &b});
}

Mask attn::operator!(const Mask &a) { return createMask(!combine(a), {&a}); }

Score attn::operator|(const Score &a, const Score &b) {
  Score result;
  result.sequence = join(a.sequence, b.sequence);
  return result;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Mask attn::causal() {
  Index q = getPosition(Symbol::query), k = getPosition(Symbol::key);
  return Mask(Item{(k <= q).node(), "causal", {}, {}});
}

Mask attn::slidingWindow(std::int64_t left, std::int64_t right) {
  std::string sizes = std::to_string(left) + ", " + std::to_string(right);
  constexpr std::int64_t largest = std::int64_t(1) << 61;
  if (std::min(left, right) < -1 || std::max(left, right) > largest)
    return Mask(
        Item{createInvalid(NodeType::boolean, "slidingWindow(" + sizes + ")",
                           "expected sizes from 0 to 2^61, or -1 for "
                           "no bound"),
             {},
             {},
             {}});
  Index q = getPosition(Symbol::query), k = getPosition(Symbol::key);
  Bool keep = true;
  if (left >= 0)
    keep = q - left <= k;
  if (right >= 0)
    keep = left >= 0 ? keep && k <= q + right : k <= q + right;
  return Mask(Item{keep.node(), "sliding_window", std::move(sizes), {}});
}

Mask detail::createPrefixLM(const Index &length,
                            const DeclarationPtr &lengths) {
  Index q = getPosition(Symbol::query), k = getPosition(Symbol::key);
  return Mask(Item{(k < length || k <= q).node(), "prefix_lm", {}, {lengths}});
}

Mask detail::createKeyPadding(const Bool &keep, const DeclarationPtr &padding) {
  return Mask(Item{keep.node(), "key_padding", {}, {padding}});
}

Mask detail::createDocument(const Bool &keep, const DeclarationPtr &ofQuery,
                            const DeclarationPtr &ofKey) {
  return Mask(Item{keep.node(), "document", {}, {ofQuery, ofKey}});
}

/// `tensor(b, h, q, k)`, broadcast, with the query's position or its row.
static NodePtr loadBroadcast(const DeclarationPtr &tensor, Symbol query) {
  const Symbol symbols[] = {Symbol::batch, Symbol::head, query, Symbol::key};
  std::size_t rank = tensor->shape.size();
  std::vector<NodePtr> indices;
  for (std::size_t dim = 0; dim < rank; ++dim)
    indices.push_back(tensor->shape[dim] == 1
                          ? createIndex(0)
                          : getSymbol(symbols[4 - rank + dim]));
  return createLoad(tensor, std::move(indices));
}

static std::string nameBy(Symbol query, const char *name) {
  return std::string(name) + (query == Symbol::row ? " rows" : "");
}

Mask detail::createBoolean(const DeclarationPtr &allowed, Symbol query) {
  return Mask(Item{
      loadBroadcast(allowed, query), nameBy(query, "boolean"), {}, {allowed}});
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Score attn::softcap(const Real &cap) {
  Real s(getSymbol(Symbol::score));
  Item item{(cap * tanh(s / cap)).node(), {}, {}, {}};
  if (const double *number = cap.node()->as<double>()) {
    item.name = "softcap";
    item.literals = writeNumber(*number);
    if (!(*number > 0) || !std::isfinite(*number))
      item.value =
          createInvalid(NodeType::real, "softcap(" + item.literals + ")",
                        "expected a positive, finite number");
  } else if (const auto *scalar = cap.node()->as<detail::Scalar>()) {
    item.name = "softcap";
    item.arguments = {scalar->declaration};
  }
  return Score(std::move(item));
}

Score detail::createAlibi(const Real &slope, const DeclarationPtr &slopes) {
  Real s(getSymbol(Symbol::score));
  Index q = getPosition(Symbol::query), k = getPosition(Symbol::key);
  return Score(Item{(s - slope * abs(q - k)).node(), "alibi", {}, {slopes}});
}

Score detail::createBias(const DeclarationPtr &bias, Symbol query) {
  Real s(getSymbol(Symbol::score));
  return Score(Item{(s + Real(loadBroadcast(bias, query))).node(),
                    nameBy(query, "bias"),
                    {},
                    {bias}});
}
