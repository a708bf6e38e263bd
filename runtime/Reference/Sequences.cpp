//===- Sequences.cpp - Where the rows of sequences are
//-------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Sequences.h"

using namespace attn::reference;

std::vector<Sequence>
attn::reference::getSequences(const AttentionProblem &problem) {
  std::vector<Sequence> sequences;
  if (problem.cuQuery.empty())
    for (std::int64_t b = 0; b < problem.query.size(0); ++b)
      sequences.push_back({b, b, b, 0,
                           problem.counts.empty()
                               ? problem.query.size(2)
                               : problem.counts[std::size_t(b)],
                           0, problem.key.size(2), 0});
  else
    for (std::size_t n = 0; n + 1 < problem.cuQuery.size(); ++n) {
      Sequence sequence = {0,
                           std::int64_t(n),
                           std::int64_t(n),
                           problem.cuQuery[n],
                           problem.cuQuery[n + 1],
                           0,
                           problem.key.size(2),
                           0};
      if (!problem.cuKey.empty()) {
        sequence.keyBatch = 0;
        sequence.keyBegin = problem.cuKey[n];
        sequence.keyEnd = problem.cuKey[n + 1];
      }
      sequences.push_back(sequence);
    }

  for (std::size_t n = 0; n < sequences.size(); ++n) {
    Sequence &sequence = sequences[n];
    if (problem.bottomRight)
      sequence.offset = (sequence.keyEnd - sequence.keyBegin) -
                        (sequence.queryEnd - sequence.queryBegin);
    else if (!problem.offsets.empty())
      sequence.offset = problem.offsets[problem.offsets.size() > 1 ? n : 0];
  }
  return sequences;
}
