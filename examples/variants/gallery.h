//===- gallery.h - Published variants of attention --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function makes a variant of an attention that says the rest: heads,
// sizes and types. README.md says where they are from. Windows, blocks and
// distances are in tokens; where a paper or a model gives one, it is the
// default.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_VARIANTS_GALLERY_H
#define ATTN_EXAMPLES_VARIANTS_GALLERY_H

#include "attn/attention.h"
#include "attn/multi_token_attention.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attn::gallery {

//===----------------------------------------------------------------------===//
// Masks of positions
//===----------------------------------------------------------------------===//

inline Attention causalMask(Attention attention) {
  attention.mask = causal();
  return attention;
}

inline Attention window(Attention attention, std::int64_t size = 512) {
  attention.mask = causal() && slidingWindow(size - 1, 0);
  return attention;
}

/// A window of which only every `step`-th key counts.
inline Attention dilated(Attention attention, std::int64_t size = 512,
                         std::int64_t step = 4) {
  attention.mask = slidingWindow(size - 1, 0) &&
                   mask([=](Index b, Index h, Index q, Index k) {
                     return (q - k) % step == 0;
                   });
  return attention;
}

/// The last keys, and one column of summaries in every block.
inline Attention stridedSparse(Attention attention, std::int64_t stride = 128) {
  attention.mask = causal() && mask([=](Index b, Index h, Index q, Index k) {
                     return q - k < stride || k % stride == stride - 1;
                   });
  return attention;
}

/// `side` tokens before and after, and the first ones, which see and are seen
/// by all.
inline Attention globalAndLocal(Attention attention, std::int64_t side = 256,
                                std::int64_t global = 16) {
  attention.mask = slidingWindow(side, side) ||
                   mask([=](Index b, Index h, Index q, Index k) {
                     return k < global || q < global;
                   });
  return attention;
}

/// A window, and the first tokens, where softmax puts what nothing else gets.
inline Attention sinkAndWindow(Attention attention, std::int64_t size = 1020,
                               std::int64_t sinks = 4) {
  attention.mask = causal() && mask([=](Index b, Index h, Index q, Index k) {
                     return k < sinks || q - k < size;
                   });
  return attention;
}

/// Whether a distance is 0, 1, 2, 4 and so on up to `most`.
inline Bool isSparseDistance(const Index &distance, std::int64_t most) {
  Bool result = distance == 0;
  for (std::int64_t step = 1; step <= most; step *= 2)
    result = result || distance == step;
  return result;
}

/// Keys at distances that double.
inline Attention logSparse(Attention attention, std::int64_t most = 32768) {
  attention.mask = mask([=](Index b, Index h, Index q, Index k) {
    return isSparseDistance(q - k, most);
  });
  return attention;
}

/// A share of all earlier keys, chosen by a hash of both positions, and the
/// query's own.
inline Attention hashMask(Attention attention, std::int64_t share = 4) {
  attention.mask = causal() && mask([=](Index b, Index h, Index q, Index k) {
                     Index hash = (q * 40503 + k) * 2654435761;
                     hash = (hash ^ (hash >> 29)) * 668265261;
                     return (hash >> 17) % share == 0 || k == q;
                   });
  return attention;
}

inline Attention blockDiagonal(Attention attention, std::int64_t block = 512) {
  attention.mask = mask([=](Index b, Index h, Index q, Index k) {
    return q / block == k / block;
  });
  return attention;
}

/// Causal within chunks that do not see each other.
inline Attention chunked(Attention attention, std::int64_t chunk = 1024) {
  attention.mask = causal() && mask([=](Index b, Index h, Index q, Index k) {
                     return q / chunk == k / chunk;
                   });
  return attention;
}

/// Pixels of an image: those up to `side` rows and columns away. At a border,
/// the square is moved inside.
inline Attention neighborhood2D(Attention attention, std::int64_t height = 64,
                                std::int64_t width = 64,
                                std::int64_t side = 3) {
  attention.mask = mask([=](Index b, Index h, Index q, Index k) {
    Index row = min(max(q / width, side), height - 1 - side);
    Index column = min(max(q % width, side), width - 1 - side);
    return abs(k / width - row) <= side && abs(k % width - column) <= side;
  });
  return attention;
}

/// Pixels of an image: those at most `radius` away.
inline Attention disc(Attention attention, std::int64_t width = 64,
                      std::int64_t radius = 4) {
  attention.mask = mask([=](Index b, Index h, Index q, Index k) {
    Index x = q % width - k % width, y = q / width - k / width;
    return x * x + y * y <= radius * radius;
  });
  return attention;
}

//===----------------------------------------------------------------------===//
// Masks of data
//===----------------------------------------------------------------------===//

/// The prompt sees all of itself; what is generated, all before it.
/// Pixels of an image: those of the same row, and of the same column.
inline Attention axial2D(Attention attention, std::int64_t width = 64) {
  attention.mask = mask([=](Index b, Index h, Index q, Index k) {
    return q / width == k / width || q % width == k % width;
  });
  return attention;
}

inline Attention prefix(Attention attention) {
  attention.mask = prefixLM(Tensor<std::int32_t, 1>("prefix_lengths"));
  return attention;
}

/// Several documents in one row, with the number of its document per token.
inline Attention documents(Attention attention) {
  Tensor<std::int32_t, 2> numbers("document_numbers");
  attention.mask = causal() && document(numbers, numbers);
  return attention;
}

/// A decoder's queries on an encoder's keys, of which some are padding.
inline Attention crossAttention(Attention attention) {
  attention.mask = keyPadding(Tensor<std::int32_t, 1>("key_lengths"));
  return attention;
}

inline Attention perHeadWindow(Attention attention) {
  Tensor<std::int32_t, 1> windows("windows");
  attention.mask = causal() && mask([&](Index b, Index h, Index q, Index k) {
                     return q - k < windows(h);
                   });
  return attention;
}

/// Every n-th key, with an n of the head's.
inline Attention perHeadStride(Attention attention) {
  Tensor<std::int32_t, 1> strides("strides");
  attention.mask = causal() && mask([&](Index b, Index h, Index q, Index k) {
                     return (q - k) % strides(h) == 0;
                   });
  return attention;
}

/// Three times as far as a number of the head's.
inline Attention scaledDistance(Attention attention) {
  Tensor<std::int32_t, 1> widths("widths");
  attention.mask = causal() && mask([&](Index b, Index h, Index q, Index k) {
                     return (q - k) / widths(h) < 3;
                   });
  return attention;
}

/// The blocks of keys that were chosen for a block of queries, of each head.
inline Attention selectedBlocks(Attention attention, std::int64_t block = 64) {
  Tensor<bool, 3> chosen("chosen");
  attention.mask = causal() && mask([&](Index b, Index h, Index q, Index k) {
                     return chosen(h, q / block, k / block);
                   });
  return attention;
}

/// Documents in one row, by the first token of each.
inline Attention keyRanges(Attention attention) {
  Tensor<std::int32_t, 1> numbers("document_numbers"), starts("starts");
  attention.mask = causal() && mask([&](Index b, Index h, Index q, Index k) {
                     return k >= starts(numbers(q));
                   });
  return attention;
}

/// Speculative decoding: the queries are the nodes of a tree of guesses, and
/// the last keys too, after those that are certain. A node sees these, its
/// ancestors and itself. `q` is the node's number, as there is no offset.
inline Attention tree(Attention attention) {
  Scalar<std::int64_t> certain("num_certain");
  Tensor<bool, 2> ancestor("ancestor");
  attention.mask = mask([&](Index b, Index h, Index q, Index k) {
    return k < certain || ancestor(q, max(k - certain, 0));
  });
  return attention;
}

/// One step of a ring: this machine's queries on another machine's keys, causal
/// in the whole sequence. The log-sum-exp merges the steps.
inline Attention ringStep(Attention attention) {
  Scalar<std::int64_t> firstQuery("first_query"), firstKey("first_key");
  attention.offset = firstQuery;
  attention.mask = mask(
      [&](Index b, Index h, Index q, Index k) { return k + firstKey <= q; });
  attention.logSumExp = true;
  return attention;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

inline Attention linearBias(Attention attention) {
  attention.score = alibi(Tensor<float, 1>("slopes"));
  attention.mask = causal();
  return attention;
}

/// Scores fall with the logarithm of the distance, by two numbers that each
/// head learns.
inline Attention logarithmicBias(Attention attention) {
  Tensor<float, 1> r1("r1"), r2("r2");
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s - r1(h) * log(1 + r2(h) * abs(q - k));
  });
  attention.mask = causal();
  return attention;
}

/// A learned number for each head and distance, which far ones share.
inline Attention relativeBias(Attention attention, std::int64_t far = 128) {
  Tensor<float, 2> table("table", dynamic, 2 * far + 1);
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s + table(h, min(max(k - q, -far), far) + far);
  });
  return attention;
}

/// One distance each in half of the buckets, then more and more, up to `far`,
/// which others share.
inline Index findBucket(const Index &distance, std::int64_t buckets,
                        std::int64_t far) {
  std::int64_t exact = buckets / 2;
  double growth =
      double(buckets - exact) / std::log(double(far) / double(exact));
  Real ratio = Real(max(distance, exact)) / exact;
  Index large = min(exact + toIndex(log(ratio) * growth), buckets - 1);
  return select(distance < exact, distance, large);
}

/// A learned number for each head and bucket of distances.
inline Attention logBuckets(Attention attention, std::int64_t buckets = 32,
                            std::int64_t far = 128) {
  Tensor<float, 2> table("table", buckets, attention.queryHeads);
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s + table(findBucket(max(q - k, 0), buckets, far), h);
  });
  attention.mask = causal();
  return attention;
}

/// A number for each head and pair of kinds of tokens.
inline Attention segmentBias(Attention attention, std::int64_t kinds = 4) {
  Tensor<std::int32_t, 1> segments("segments");
  Tensor<float, 3> table("table", attention.queryHeads, kinds, kinds);
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s + table(h, segments(q), segments(k));
  });
  return attention;
}

/// What each token lets be forgotten, as cumulative sums of logarithms.
inline Attention forgettingGate(Attention attention) {
  Tensor<float, 2> sums("log_forget_sums");
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s + sums(h, q) - sums(h, k);
  });
  attention.mask = causal();
  return attention;
}

/// Without the keys that have been forgotten down to e^least.
inline Attention prunedForgettingGate(Attention attention, float least = -16) {
  Tensor<float, 2> sums("log_forget_sums");
  attention = forgettingGate(std::move(attention));
  attention.mask = causal() && mask([&](Index b, Index h, Index q, Index k) {
                     return sums(h, q) - sums(h, k) >= least;
                   });
  return attention;
}

/// Scores grow with the logarithm of how many keys there are, so that softmax
/// does not fade.
inline Attention scalableSoftmax(Attention attention) {
  Tensor<float, 1> scales("scales");
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s * scales(h) * log(Real(q + 1));
  });
  attention.mask = causal();
  return attention;
}

/// A power of the head's decay.
inline Attention powerDecay(Attention attention) {
  Tensor<float, 1> decays("decays");
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s * pow(decays(h), abs(q - k));
  });
  attention.mask = causal();
  return attention;
}

inline Attention cappedScores(Attention attention, float cap = 50) {
  attention.score = softcap(cap);
  attention.mask = causal();
  return attention;
}

inline Attention distanceDecay(Attention attention, float length = 100) {
  attention.score = score([=](Real s, Index b, Index h, Index q, Index k) {
    return s * exp(-abs(q - k) / length);
  });
  attention.mask = causal();
  return attention;
}

/// A learned temperature for each head.
inline Attention headTemperature(Attention attention) {
  Tensor<float, 1> temperatures("temperatures");
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s / temperatures(h);
  });
  return attention;
}

//===----------------------------------------------------------------------===//
// Heads, batches and sinks
//===----------------------------------------------------------------------===//

/// Few queries, the last ones, on keys that all heads share.
inline Attention multiQueryDecode(Attention attention) {
  attention.keyValueHeads = 1;
  attention.offset = Offset::bottomRight();
  attention.mask = causal();
  return attention;
}

/// A learned logit for each head, which takes what no key gets.
inline Attention learnedSink(Attention attention, std::int64_t size = 128) {
  attention.sink = Tensor<float, 1>("sink_logits");
  attention.mask = causal() && slidingWindow(size - 1, 0);
  return attention;
}

/// Sequences of different lengths, one after the other and without padding.
inline Attention packed(Attention attention) {
  Tensor<std::int32_t, 1> starts("starts");
  attention.sequences = Sequences{starts, starts};
  attention.mask = causal();
  return attention;
}

/// The difference of two attentions, of which this is one: it is called for
/// both halves of queries and keys, and the outputs combined.
inline Attention differentialHalf(Attention attention) {
  attention.valueHeadSize = 2 * attention.headSize;
  attention.mask = causal();
  return attention;
}

/// `output - lambda * second`, in place.
inline void combineDifferential(std::span<float> output,
                                std::span<const float> second, float lambda) {
  for (std::size_t i = 0; i < output.size(); ++i)
    output[i] -= lambda * second[i];
}

//===----------------------------------------------------------------------===//
// Neighbouring tokens and heads
//===----------------------------------------------------------------------===//

/// Scores are convolved over queries and keys, and probabilities mixed over
/// groups of heads.
inline MultiTokenAttention multiToken(Attention attention,
                                      std::int64_t queries = 6,
                                      std::int64_t keys = 11,
                                      std::int64_t group = 2) {
  attention.mask = causal();
  return {.attention = attention,
          .before = {.kernel = {{.queries = queries, .keys = keys}}},
          .after = {.mixedHeads = group}};
}

/// All heads are mixed, before the softmax and after it.
inline MultiTokenAttention talkingHeads(Attention attention) {
  std::int64_t heads = attention.queryHeads;
  return {.attention = attention,
          .before = {.mixedHeads = heads},
          .after = {.mixedHeads = heads}};
}

} // namespace attn::gallery

#endif // ATTN_EXAMPLES_VARIANTS_GALLERY_H
