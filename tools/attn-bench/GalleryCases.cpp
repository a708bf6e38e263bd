//===- GalleryCases.cpp - The variants of the gallery to measure ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/GalleryCases.h"

#include "examples/variants/gallery.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

// Inside, so that Index is the benchmarks' and not that of expressions.
namespace attn::bench {

Attention GalleryCase::attention(ElementType type) const {
  return create({.type = type, .queryHeads = heads, .headSize = headSize});
}

Attention GalleryCase::causal(ElementType type) const {
  Attention variant = attention(type);
  Attention result{.type = type,
                   .queryHeads = heads,
                   .keyValueHeads = variant.keyValueHeads,
                   .headSize = headSize,
                   .valueHeadSize = variant.valueHeadSize,
                   .mask = attn::causal()};
  if (queryLength < keyLength)
    result.offset = Offset::bottomRight();
  return result;
}

/// Calls `function` for the numbers of a block along one dimension until it
/// gives true; gives whether it did.
template <typename Function>
static bool anyInBlock(Index begin, Index length, Function function) {
  for (Index i = begin; i < std::min(begin + 64, length); ++i)
    if (function(i))
      return true;
  return false;
}

template <typename Sees>
static Index countBlockPairs(const GalleryCase &variant, Sees sees) {
  Index pairs = 0, rows = variant.queryLength, columns = variant.keyLength;
  for (Index head = 0; head < GalleryCase::heads; ++head)
    for (Index q = 0; q < rows; q += 64)
      for (Index k = 0; k < columns; k += 64)
        if (anyInBlock(q, rows, [&](Index row) {
              return anyInBlock(k, columns, [&](Index column) {
                return sees(head, row, column);
              });
            }))
          pairs +=
              std::min<Index>(64, rows - q) * std::min<Index>(64, columns - k);
  return pairs;
}

Index GalleryCase::countPairs() const { return countBlockPairs(*this, sees); }

Index GalleryCase::countCausalPairs() const {
  Index offset = std::max<Index>(0, keyLength - queryLength);
  return countBlockPairs(
      *this, [offset](Index, Index q, Index k) { return k <= q + offset; });
}

namespace {

bool seesAll(Index, Index, Index) { return true; }
bool seesBefore(Index, Index q, Index k) { return k <= q; }
bool seesWindow(Index q, Index k, Index size) { return k <= q && q - k < size; }

/// A number for each head.
Operand perHead(const char *name, double first, double factor) {
  return {name, ElementType::f32, {GalleryCase::heads}, [=](Index head) {
            return first * std::pow(factor, double(head));
          }};
}
Operand integers(const char *name, std::vector<Index> sizes,
                 std::function<Index(Index)> valueAt) {
  return {
      name, ElementType::i32, std::move(sizes),
      [valueAt = std::move(valueAt)](Index i) { return double(valueAt(i)); }};
}

constexpr Index length = 4096, half = length / 2;
constexpr Index documentLength = 512;
constexpr Index imageSize = 64; // Rows, and pixels in a row.
constexpr Index certain = 4032, nodes = 64;

/// Whether a block of 64 keys is chosen for 64 queries: an eighth of them, and
/// that of the queries.
bool isChosen(Index head, Index queries, Index keys) {
  return queries == keys || (queries * 5 + keys * 3 + head) % 8 == 0;
}

/// In the sizes that the gallery has by default.
std::vector<GalleryCase> createPositionCases() {
  return {
      {"causalMask", gallery::causalMask, seesBefore},
      {"window", [](auto base) { return gallery::window(base); },
       [](Index, Index q, Index k) { return seesWindow(q, k, 512); }},
      {"dilated", [](auto base) { return gallery::dilated(base); },
       [](Index, Index q, Index k) {
         return seesWindow(q, k, 512) && (q - k) % 4 == 0;
       }},
      {"stridedSparse", [](auto base) { return gallery::stridedSparse(base); },
       [](Index, Index q, Index k) {
         return k <= q && (q - k < 128 || k % 128 == 127);
       }},
      {"globalAndLocal",
       [](auto base) { return gallery::globalAndLocal(base); },
       [](Index, Index q, Index k) {
         return std::abs(q - k) <= 256 || k < 16 || q < 16;
       }},
      {"sinkAndWindow", [](auto base) { return gallery::sinkAndWindow(base); },
       [](Index, Index q, Index k) {
         return k <= q && (k < 4 || q - k < 1020);
       }},
      {"logSparse", [](auto base) { return gallery::logSparse(base); },
       [](Index, Index q, Index k) {
         return k == q || (k < q && std::has_single_bit(std::uint64_t(q - k)));
       }},
      {"hashMask", [](auto base) { return gallery::hashMask(base); },
       seesBefore}, // In every block.
      {"blockDiagonal", [](auto base) { return gallery::blockDiagonal(base); },
       [](Index, Index q, Index k) { return q / 512 == k / 512; }},
      {"chunked", [](auto base) { return gallery::chunked(base); },
       [](Index, Index q, Index k) { return k <= q && q / 1024 == k / 1024; }},
      {"neighborhood2D",
       [](auto base) { return gallery::neighborhood2D(base); },
       [](Index, Index q, Index k) {
         Index row = std::clamp<Index>(q / imageSize, 3, imageSize - 4);
         Index column = std::clamp<Index>(q % imageSize, 3, imageSize - 4);
         return std::abs(k / imageSize - row) <= 3 &&
                std::abs(k % imageSize - column) <= 3;
       }},
      {"disc", [](auto base) { return gallery::disc(base); },
       [](Index, Index q, Index k) {
         Index x = q % imageSize - k % imageSize;
         Index y = q / imageSize - k / imageSize;
         return x * x + y * y <= 16;
       }},
  };
}

std::vector<GalleryCase> createDataCases() {
  return {
      {"axial2D", [](auto base) { return gallery::axial2D(base); },
       [](Index, Index q, Index k) {
         return q / imageSize == k / imageSize ||
                q % imageSize == k % imageSize;
       }},
      {"prefix",
       gallery::prefix,
       [](Index, Index q, Index k) { return k <= q || k < half; },
       {integers("prefix_lengths", {1}, [](Index) { return half; })}},
      {"documents",
       gallery::documents,
       [](Index, Index q, Index k) {
         return k <= q && q / documentLength == k / documentLength;
       },
       {integers("document_numbers", {1, length},
                 [](Index i) { return i / documentLength; })}},
      // Causal attention on as many keys would take eight times as long.
      {.name = "documents8",
       .create = gallery::documents,
       .sees = [](Index, Index q,
                  Index k) { return k <= q && q / 1024 == k / 1024; },
       .tensors = {integers("document_numbers", {1, 8192},
                            [](Index i) { return i / 1024; })},
       .queryLength = 8192,
       .keyLength = 8192},
      {"crossAttention",
       gallery::crossAttention,
       [](Index, Index, Index k) { return k < half; },
       {integers("key_lengths", {1}, [](Index) { return half; })}},
      {"perHeadWindow",
       gallery::perHeadWindow,
       [](Index head, Index q, Index k) {
         return k <= q && q - k < 32 << head;
       },
       {integers("windows", {GalleryCase::heads},
                 [](Index head) { return Index(32) << head; })}},
      {"perHeadStride",
       gallery::perHeadStride,
       [](Index head, Index q, Index k) {
         return k <= q && (q - k) % (Index(1) << head) == 0;
       },
       {integers("strides", {GalleryCase::heads},
                 [](Index head) { return Index(1) << head; })}},
      {"scaledDistance",
       gallery::scaledDistance,
       [](Index head, Index q, Index k) {
         return k <= q && (q - k) / (Index(8) << head) < 3;
       },
       {integers("widths", {GalleryCase::heads},
                 [](Index head) { return Index(8) << head; })}},
      {"selectedBlocks",
       [](auto base) { return gallery::selectedBlocks(base); },
       [](Index head, Index q, Index k) {
         return k <= q && isChosen(head, q / 64, k / 64);
       },
       {{"chosen",
         ElementType::i1,
         {GalleryCase::heads, length / 64, length / 64},
         [](Index i) {
           constexpr Index blocks = length / 64;
           return double(
               isChosen(i / blocks / blocks, i / blocks % blocks, i % blocks));
         }}}},
      {"keyRanges",
       gallery::keyRanges,
       [](Index, Index q, Index k) {
         return k <= q && k >= q / documentLength * documentLength;
       },
       {integers("document_numbers", {length},
                 [](Index i) { return i / documentLength; }),
        integers("starts", {length / documentLength},
                 [](Index i) { return i * documentLength; })}},
      {.name = "tree",
       .create = gallery::tree,
       .sees =
           [](Index, Index q, Index k) {
             return k < certain || isAncestor(q, k - certain);
           },
       .tensors = {{"ancestor",
                    ElementType::i1,
                    {nodes, nodes},
                    [](Index i) {
                      return double(isAncestor(i / nodes, i % nodes));
                    }}},
       .scalars = {{"num_certain", certain}},
       .queryLength = nodes,
       .keyLength = length},
      {.name = "ringStep",
       .create = gallery::ringStep,
       .sees = seesAll, // Keys of a machine before this one.
       .scalars = {{"first_query", length}, {"first_key", 0}}},
  };
}

std::vector<GalleryCase> createScoreCases() {
  return {
      {"linearBias",
       gallery::linearBias,
       seesBefore,
       {perHead("slopes", 0.5, 0.5)}},
      {"logarithmicBias",
       gallery::logarithmicBias,
       seesBefore,
       {perHead("r1", 0.5, 1.25), perHead("r2", 0.25, 1.25)}},
      {"relativeBias",
       [](auto base) { return gallery::relativeBias(base); },
       seesAll,
       {{"table",
         ElementType::f32,
         {GalleryCase::heads, 257},
         [](Index i) { return double(i % 7) / 8; }}}},
      {"logBuckets",
       [](auto base) { return gallery::logBuckets(base); },
       seesBefore,
       {{"table",
         ElementType::f32,
         {32, GalleryCase::heads},
         [](Index i) { return double(i % 7) / 8; }}}},
      {"segmentBias",
       [](auto base) { return gallery::segmentBias(base); },
       seesAll,
       {integers("segments", {length}, [](Index i) { return i / 100 % 4; }),
        {"table",
         ElementType::f32,
         {GalleryCase::heads, 4, 4},
         [](Index i) { return double(i % 7) / 8; }}}},
      {"forgettingGate",
       gallery::forgettingGate,
       seesBefore,
       {{"log_forget_sums",
         ElementType::f32,
         {GalleryCase::heads, length},
         [](Index i) { return -double(i % length) / 64; }}}},
      {"prunedForgettingGate",
       [](auto base) { return gallery::prunedForgettingGate(base); },
       [](Index, Index q, Index k) { return seesWindow(q, k, 1025); },
       {{"log_forget_sums",
         ElementType::f32,
         {GalleryCase::heads, length},
         [](Index i) { return -double(i % length) / 64; }}}},
      {"scalableSoftmax",
       gallery::scalableSoftmax,
       seesBefore,
       {perHead("scales", 0.125, 1.125)}},
      {"powerDecay",
       gallery::powerDecay,
       seesBefore,
       {perHead("decays", 0.9375, 1.0078125)}},
      {"cappedScores", [](auto base) { return gallery::cappedScores(base); },
       seesBefore},
      {"distanceDecay", [](auto base) { return gallery::distanceDecay(base); },
       seesBefore},
      {"headTemperature",
       gallery::headTemperature,
       seesAll,
       {perHead("temperatures", 0.5, 1.25)}},
  };
}

std::vector<GalleryCase> createOtherCases() {
  return {
      {.name = "multiQueryDecode",
       .create = gallery::multiQueryDecode,
       .sees = seesAll,
       .queryLength = 1},
      {"learnedSink",
       [](auto base) { return gallery::learnedSink(base); },
       [](Index, Index q, Index k) { return seesWindow(q, k, 128); },
       {perHead("sink_logits", 1, 1)}},
      {"packed",
       gallery::packed,
       [](Index, Index q, Index k) {
         return k <= q && q / documentLength == k / documentLength;
       },
       {integers("starts", {length / documentLength + 1},
                 [](Index i) { return i * documentLength; })}},
      {"differentialHalf", gallery::differentialHalf, seesBefore},
  };
}

} // namespace

const std::vector<GalleryCase> &getGalleryCases() {
  static const std::vector<GalleryCase> cases = [] {
    std::vector<GalleryCase> result;
    for (auto *create : {createPositionCases, createDataCases, createScoreCases,
                         createOtherCases})
      for (GalleryCase &variant : create())
        result.push_back(std::move(variant));
    return result;
  }();
  return cases;
}

} // namespace attn::bench
