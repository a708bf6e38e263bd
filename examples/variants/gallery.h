//===- gallery.h - Published variants of attention --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function makes a variant of an attention that says the rest: heads,
// sizes and types. README.md says where they are from.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_VARIANTS_GALLERY_H
#define ATTN_EXAMPLES_VARIANTS_GALLERY_H

#include "attn/attention.h"

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

inline Attention window(Attention attention) {
  attention.mask = causal() && slidingWindow(127, 0);
  return attention;
}

/// Windows of which only every fourth key counts.
inline Attention dilated(Attention attention) {
  attention.mask =
      slidingWindow(127, 0) &&
      mask([](Index b, Index h, Index q, Index k) { return (q - k) % 4 == 0; });
  return attention;
}

/// The last keys, and one column of summaries in every block.
inline Attention stridedSparse(Attention attention) {
  attention.mask = causal() && mask([](Index b, Index h, Index q, Index k) {
                     return q - k < 32 || k % 32 == 31;
                   });
  return attention;
}

/// A window, and tokens that see and are seen by all.
inline Attention globalAndLocal(Attention attention) {
  attention.mask =
      slidingWindow(32, 32) ||
      mask([](Index b, Index h, Index q, Index k) { return k < 4 || q < 4; });
  return attention;
}

/// A window, and the first tokens, where softmax puts what nothing else gets.
inline Attention sinkAndWindow(Attention attention) {
  attention.mask = causal() && mask([](Index b, Index h, Index q, Index k) {
                     return k < 4 || q - k < 64;
                   });
  return attention;
}

inline Attention blockDiagonal(Attention attention) {
  attention.mask =
      mask([](Index b, Index h, Index q, Index k) { return q / 64 == k / 64; });
  return attention;
}

/// Causal within chunks that do not see each other.
inline Attention chunked(Attention attention) {
  attention.mask = causal() && mask([](Index b, Index h, Index q, Index k) {
                     return q / 64 == k / 64;
                   });
  return attention;
}

/// Pixels of an image of 15 rows of 20: the 5 x 5 around each, moved inside at
/// the borders.
inline Attention neighborhood2D(Attention attention) {
  attention.mask = mask([](Index b, Index h, Index q, Index k) {
    Index row = min(max(q / 20, 2), 12), column = min(max(q % 20, 2), 17);
    return abs(k / 20 - row) <= 2 && abs(k % 20 - column) <= 2;
  });
  return attention;
}

//===----------------------------------------------------------------------===//
// Masks of data
//===----------------------------------------------------------------------===//

/// The prompt sees all of itself; what is generated, all before it.
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

/// A learned number for each head and distance, which far ones share.
inline Attention relativeBias(Attention attention) {
  Tensor<float, 2> table("table", dynamic, 65);
  attention.score = score([&](Real s, Index b, Index h, Index q, Index k) {
    return s + table(h, min(max(k - q, -32), 32) + 32);
  });
  return attention;
}

inline Attention cappedScores(Attention attention) {
  attention.score = softcap(30.0f);
  attention.mask = causal();
  return attention;
}

inline Attention distanceDecay(Attention attention) {
  attention.score = score([](Real s, Index b, Index h, Index q, Index k) {
    return s * exp(-abs(q - k) / 100.0f);
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
inline Attention learnedSink(Attention attention) {
  attention.sink = Tensor<float, 1>("sink_logits");
  attention.mask = causal() && slidingWindow(127, 0);
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

} // namespace attn::gallery

#endif // ATTN_EXAMPLES_VARIANTS_GALLERY_H
